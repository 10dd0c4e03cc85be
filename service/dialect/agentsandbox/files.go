package agentsandbox

import (
	"fmt"
	"net/url"
	"path"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// message is an answer of the Python runtime.
type message struct {
	Message string `json:"message"`
}

// planUpload writes the file of a form, whose name is its path.
func planUpload(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return of(r, func() dialect.Plan {
		name := ""
		return dialect.Plan{Upload: &dialect.Upload{
			Refused: refusedBy,
			Each: func(field, file string) (*dialect.Call, *dialect.Response) {
				if field != "file" {
					return nil, nil
				}
				to, ok := absolute(file)
				switch {
				case !ok:
					told := refusal(403, denied, "Access denied")
					return nil, &told
				case to == root:
					told := refusal(400, invalid, "the file of the form has no name, which is its path")
					return nil, &told
				}
				name = file
				return put(r, to, ""), nil
			},
			Done: func(calls []dialect.Call) dialect.Response {
				if len(calls) == 0 {
					return refusal(422, invalid, "the form has no file with the name of a field: file")
				}
				return dialect.JSON(200, "application/json", message{fmt.Sprintf("File '%s' uploaded successfully.", text(name))})
			},
		}}
	})
}

// put is the call that writes a file; an empty mode is that which it has, or 0644.
func put(r dialect.Request, name, mode string) *dialect.Call {
	q := url.Values{"path": {name}}
	if mode != "" {
		q.Set("mode", mode)
	}
	return &dialect.Call{Method: "PUT", Path: below(r, "/fs/content", q), Type: "application/octet-stream"}
}

// planDownload reads a file. What is no file is not found.
func planDownload(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onPath(r, func(name string) dialect.Plan {
		none := refuse(404, notFound, "File not found")
		return onReply(status(r, name), missing(none), func(s api.PathStatus) dialect.Plan {
			if s.Kind != api.RegularFile {
				return none
			}
			return content(r, name)
		})
	})
}

// status is the call that describes what has a path, or what a link there leads to.
func status(r dialect.Request, name string) dialect.Call {
	return dialect.Call{Method: "GET", Path: below(r, "/fs", url.Values{"path": {name}, "follow": {"true"}})}
}

// content passes the content of a file on. A browser shows nothing of it.
func content(r dialect.Request, name string) dialect.Plan {
	head := dialect.Download(dialect.Kept{Name: text(path.Base(name))}, nil)
	return dialect.Plan{
		Call:   &dialect.Call{Method: "GET", Path: below(r, "/fs/content", url.Values{"path": {name}})},
		Stream: &dialect.Stream{Head: head, Refused: refusedBy},
	}
}

// oldEntry is a name in a directory, for clients of the Python runtime.
type oldEntry struct {
	Name    string  `json:"name"`
	Size    int64   `json:"size"`
	Type    string  `json:"type"`
	ModTime float64 `json:"mod_time"` // seconds since 1970
}

func planList(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onPath(r, func(name string) dialect.Plan {
		none := refuse(404, notFound, "Path is not a directory")
		return onReply(status(r, name), missing(none), func(s api.PathStatus) dialect.Plan {
			if s.Kind != api.Directory {
				return none
			}
			return list(r, name, func(all []api.PathStatus) dialect.Plan {
				entries := []oldEntry{}
				for _, s := range all {
					entries = append(entries, oldEntry{nameOf(s), s.Size, typeOf(s), float64(modified(s).UnixMicro()) / 1e6})
				}
				return answer(entries)
			})
		})
	})
}

func nameOf(s api.PathStatus) string { return text(path.Base(s.Path)) }

// typeOf is what clients know: everything that is no directory is a file.
func typeOf(s api.PathStatus) string {
	if s.Kind == api.Directory {
		return "directory"
	}
	return "file"
}

func modified(s api.PathStatus) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s.Modified)
	if err != nil {
		return time.Unix(0, 0)
	}
	return t
}

// list lists a directory. What is neither a file nor a directory is left out, since clients know nothing else. So are links:
// what each leads to would be a call of its own.
func list(r dialect.Request, name string, then func([]api.PathStatus) dialect.Plan) dialect.Plan {
	call := dialect.Call{Method: "GET", Path: below(r, "/fs/list", url.Values{"path": {name}, "limit": {fmt.Sprint(api.PathListMax)}})}
	return onReply(call, noOther, func(l api.PathList) dialect.Plan {
		if l.Next != "" {
			return refuse(400, invalid, fmt.Sprintf("the directory has more than %d names: list directories in it", api.PathListMax))
		}
		var all []api.PathStatus
		for _, s := range l.Entries {
			if s.Kind == api.RegularFile || s.Kind == api.Directory {
				all = append(all, s)
			}
		}
		return then(all)
	})
}

func planExists(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onPath(r, func(name string) dialect.Plan {
		tell := func(is bool) dialect.Plan {
			return answer(struct {
				Path   string `json:"path"`
				Exists bool   `json:"exists"`
			}{text(r.Path["path"]), is})
		}
		return onReply(status(r, name), missing(tell(false)), func(api.PathStatus) dialect.Plan { return tell(true) })
	})
}
