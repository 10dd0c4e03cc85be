package e2b

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// planHealth tells whether a sandbox runs.
func planHealth(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return dialect.Plan{
		Call: &dialect.Call{Method: "GET", Path: below(sandboxOf(r), "", nil)},
		Then: func(reply dialect.Reply) dialect.Plan {
			switch p := reply.Problem; {
			case p == nil:
				return dialect.Refuse(dialect.Response{Status: 204})
			case gone(p) || p.Code == api.CodeNotFound:
				return refuse(statusGone, p.Detail)
			}
			return dialect.Refuse(refusedBy(failContent)(reply.Problem))
		},
	}
}

func planRead(r dialect.Request, _ dialect.Agent) dialect.Plan {
	q := url.Values(r.Query)
	if name := q.Get("username"); !isUser(name) {
		return refuse(401, fmt.Sprintf("there is no user %.80q: use user, or root, who is the same", name))
	}
	if q.Get("path") == "" {
		return refuse(400, "path is missing: say which file to read")
	}
	return dialect.Plan{
		Call: &dialect.Call{Method: "GET", Path: below(sandboxOf(r), "/fs/content", url.Values{"path": {absolute(q.Get("path"))}})},
		Stream: &dialect.Stream{
			Head:    dialect.Response{Status: 200, Header: map[string]string{"Content-Type": "application/octet-stream"}},
			Refused: refusedBy(failContent),
		},
	}
}

// uploaded describes a file that was written.
type uploaded struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Path string `json:"path"`
}

// planWrite writes files: one, which is the body, or those of a form, whose names are paths.
func planWrite(r dialect.Request, _ dialect.Agent) dialect.Plan {
	q := url.Values(r.Query)
	if name := q.Get("username"); !isUser(name) {
		return refuse(401, fmt.Sprintf("there is no user %.80q: use user, or root, who is the same", name))
	}
	put := func(name string) *dialect.Call {
		return &dialect.Call{Method: "PUT", Path: below(sandboxOf(r), "/fs/content", url.Values{"path": {absolute(name)}}),
			Type: "application/octet-stream"}
	}
	u := &dialect.Upload{Refused: refusedBy(failContent), Done: tellUploaded}

	switch encoding := r.Header[headerEncoding]; encoding {
	case "", "identity":
	case "gzip":
		u.Gzip = true
	default:
		return refuse(400, fmt.Sprintf("Content-Encoding %.40q: use gzip, or none", encoding))
	}
	if strings.HasPrefix(r.Type, "application/octet-stream") {
		if q.Get("path") == "" {
			return refuse(400, "path is missing: say which file to write")
		}
		u.One = put(q.Get("path"))
		return dialect.Plan{Upload: u}
	}

	u.Each = func(field, file string) (*dialect.Call, *dialect.Response) {
		if field != "file" {
			return nil, nil
		}
		if p := q.Get("path"); p != "" {
			file = p
		}
		if file == "" {
			told := refusal(400, "a file of the form has no name, which is its path")
			return nil, &told
		}
		return put(file), nil
	}
	return dialect.Plan{Upload: u}
}

func tellUploaded(calls []dialect.Call) dialect.Response {
	all := []uploaded{}
	for _, c := range calls {
		_, query, _ := strings.Cut(c.Path, "?")
		q, _ := url.ParseQuery(query) // it was written here
		all = append(all, uploaded{text(path.Base(q.Get("path"))), "file", text(q.Get("path"))})
	}
	return dialect.JSON(200, "application/json", all)
}
