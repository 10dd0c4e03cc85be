package api

import (
	"net/url"
	"strings"
)

// SessionFiles selects the files of a session: in /box or, with Volume, in its volume. The agent and
// the public service serve them at the same addresses.
type SessionFiles struct {
	Session string
	Volume  bool
}

// List returns the address of the listing of dir; an empty dir lists everything.
func (f SessionFiles) List(dir string) string {
	q := url.Values{}
	if dir != "" {
		q.Set("dir", dir)
	}
	return f.address("", q)
}

// File returns the address of one file. executable is for a PUT. It refuses the names that
// FileName refuses, since they could be the address of something else.
func (f SessionFiles) File(name string, executable bool) (string, error) {
	if err := FileName(name); err != nil {
		return "", err
	}
	var path strings.Builder
	for part := range strings.SplitSeq(name, "/") {
		path.WriteString("/" + url.PathEscape(part))
	}
	q := url.Values{}
	if executable {
		q.Set("executable", "true")
	}
	return f.address(path.String(), q), nil
}

func (f SessionFiles) address(part string, q url.Values) string {
	if f.Volume {
		q.Set("volume", "true")
	}
	path := "/v1/sessions/" + url.PathEscape(f.Session) + "/files" + part
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}
