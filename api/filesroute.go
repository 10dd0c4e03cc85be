package api

import (
	"net/url"
	"strings"
)

// FilesOf says whose files are meant: a session's in /box or, with Volume, in its
// volume. The agent and the public service have them at the same addresses.
type FilesOf struct {
	Session string
	Volume  bool
}

// List is the address of what lies below dir; an empty one is all.
func (f FilesOf) List(dir string) string {
	q := url.Values{}
	if dir != "" {
		q.Set("dir", dir)
	}
	return f.address("", q)
}

// File is the address of one file. executable is for one that is put. It refuses what
// FileName does, which could be the address of something else.
func (f FilesOf) File(name string, executable bool) (string, error) {
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

func (f FilesOf) address(part string, q url.Values) string {
	if f.Volume {
		q.Set("volume", "true")
	}
	path := "/v1/sessions/" + url.PathEscape(f.Session) + "/files" + part
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}
