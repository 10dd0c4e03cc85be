package agentsandbox

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// entry is a name in a directory.
type entry struct {
	Name       string `json:"name"`
	Size       int64  `json:"size"`
	Type       string `json:"type"`
	ModifiedAt string `json:"modified_at"`
	Mode       string `json:"mode"`
}

// planGet reads a file or lists a directory. A client that sends HEAD asks whether there is something.
func planGet(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onPath(r, func(name string) dialect.Plan {
		return onReply(status(r, name), missing(refuse(404, notFound, "path does not exist within the sandbox")),
			func(s api.PathStatus) dialect.Plan {
				switch {
				case r.Method == "HEAD":
					return dialect.Refuse(dialect.Response{Status: 200})
				case s.Kind != api.Directory:
					return content(r, name)
				}
				return list(r, name, func(all []api.PathStatus) dialect.Plan { return tellList(r.Path["path"], all) })
			})
	})
}

func tellList(name string, all []api.PathStatus) dialect.Plan {
	told := struct {
		Path    string  `json:"path"`
		Entries []entry `json:"entries"`
	}{"/" + strings.TrimLeft(text(name), "/"), []entry{}}
	for _, s := range all {
		told.Entries = append(told.Entries, entry{nameOf(s), s.Size, typeOf(s), modified(s).UTC().Format(time.RFC3339),
			fmt.Sprintf("%04o", s.Mode&0o777)})
	}
	return answer(told)
}

var mode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^0[0-7]{3}$`) })

// planPut writes a file: the body, or the part file of a form.
func planPut(r dialect.Request, _ dialect.Agent) dialect.Plan {
	as := "0644"
	if sent := url.Values(r.Query).Get("mode"); sent != "" {
		if as = sent; !mode().MatchString(as) {
			return refuse(400, invalid, fmt.Sprintf("mode %.20q: write 0 and three octal digits, such as 0644", as))
		}
	}
	return onPath(r, func(name string) dialect.Plan {
		if name == root {
			return refuse(400, invalid, "target path is a directory")
		}
		u := &dialect.Upload{
			Refused: func(p *api.Problem) dialect.Response {
				if p.Code == api.CodeFileConflict { // most likely a directory
					return refusal(400, invalid, p.Detail)
				}
				return refusedBy(p)
			},
			Done: func(calls []dialect.Call) dialect.Response {
				if len(calls) == 0 {
					return refusal(400, invalid, `the form has no part "file"`)
				}
				return dialect.Response{Status: 204}
			},
		}
		if !strings.HasPrefix(r.Type, "multipart/form-data") {
			u.One = put(r, name, as)
			return dialect.Plan{Upload: u}
		}
		u.Each = func(field, _ string) (*dialect.Call, *dialect.Response) {
			if field != "file" {
				return nil, nil
			}
			return put(r, name, as), nil
		}
		return dialect.Plan{Upload: u}
	})
}

func planDelete(r dialect.Request, _ dialect.Agent) dialect.Plan {
	q := url.Values{}
	if sent := url.Values(r.Query).Get("recursive"); sent != "" {
		all, err := strconv.ParseBool(sent)
		if err != nil {
			return refuse(400, invalid, fmt.Sprintf("recursive %.20q: write true or false", sent))
		}
		q.Set("recursive", strconv.FormatBool(all))
	}
	return onPath(r, func(name string) dialect.Plan {
		if name == root {
			return refuse(409, conflict, "the directory of the sandbox stays: remove what is in it")
		}
		q.Set("path", name)
		remove := dialect.Call{Method: "DELETE", Path: below(r, "/fs", q)}
		return onReply(remove, missing(refuse(404, notFound, "path does not exist within the sandbox")),
			func(struct{}) dialect.Plan { return dialect.Refuse(dialect.Response{Status: 204}) })
	})
}

// planHealth tells since when a sandbox runs.
func planHealth(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onSession(r, func(s api.Session) dialect.Plan {
		created, err := time.Parse(time.RFC3339Nano, s.Created)
		if err != nil {
			created = r.Now
		}
		return answer(struct {
			Status string `json:"status"`
			Uptime int64  `json:"uptime_seconds"`
		}{"ok", max(0, int64(r.Now.Sub(created).Seconds()))})
	})
}

// onSession calls then with the session of a request.
func onSession(r dialect.Request, then func(api.Session) dialect.Plan) dialect.Plan {
	return of(r, func() dialect.Plan {
		gone := refuse(503, unavailable, "the sandbox has ended, or there is none of this id")
		return onReply(dialect.Call{Method: "GET", Path: below(r, "", nil)}, func(p *api.Problem) *dialect.Plan {
			if p.Code == api.CodeSessionEnded || p.Code == api.CodeNotFound {
				return &gone
			}
			return nil
		}, then)
	})
}

// planMetadata tells variables of a sandbox that are no secret.
func planMetadata(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onSession(r, func(s api.Session) dialect.Plan {
		return answer(struct {
			Env map[string]string `json:"env"`
		}{map[string]string{"SANDBOX_ID": s.ID, "SANDBOX_BASE_DIR": root}})
	})
}
