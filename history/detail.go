package history

import (
	"encoding/json"
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// detail is a result without its streams and the content of its files, as JSON of at
// most maxDetail bytes, and whether something of it had to go for that.
func detail(r api.Result) (text json.RawMessage, less bool) {
	r = bare(r)
	if c := r.Compile; c != nil {
		short := *c
		short.Stdout, short.StdoutTruncated = cut(c.Stdout, 4<<10, c.StdoutTruncated)
		short.Stderr, short.StderrTruncated = cut(c.Stderr, 4<<10, c.StderrTruncated)
		r.Compile = &short
	}
	// Half of the room is for what tests printed, in equal parts.
	share := int(maxDetail) / 4 / max(len(r.Tests), 1)
	r.Tests = slices.Clone(r.Tests)
	for i, t := range r.Tests {
		was := t.Result
		t.Result = bare(was)
		t.Result.Stdout, _ = cut(was.Stdout, share, false)
		t.Result.Stderr, _ = cut(was.Stderr, share, false)
		if len(t.Result.Stdout) < len(was.Stdout) || len(t.Result.Stderr) < len(was.Stderr) {
			t.Cut, less = true, true
		}
		r.Tests[i] = t
	}
	for _, smaller := range []func(*api.Result) bool{silent, fewer, listless} {
		for {
			if b, err := json.Marshal(r); err == nil && len(b) <= int(maxDetail) {
				return b, less
			}
			less = true
			if !smaller(&r) {
				break
			}
		}
	}
	return nil, true
}

// bare takes away what is kept elsewhere or not at all.
func bare(r api.Result) api.Result {
	r.Stdout, r.Stderr = nil, nil
	r.Files = slices.Clone(r.Files)
	for i := range r.Files {
		r.Files[i].Content = nil
	}
	return r
}

// silent takes what tests printed, and whether there was any.
func silent(r *api.Result) (some bool) {
	for i := range r.Tests {
		t := &r.Tests[i]
		if len(t.Result.Stdout)+len(t.Result.Stderr) > 0 {
			t.Result.Stdout, t.Result.Stderr, t.Cut, some = nil, nil, true, true
		}
	}
	return some
}

// fewer halves the tests; the summary is of all.
func fewer(r *api.Result) bool {
	some := len(r.Tests) > 0
	r.Tests = r.Tests[:len(r.Tests)/2]
	return some
}

// listless takes the lists whose length the program decides.
func listless(r *api.Result) bool {
	some := len(r.Files)+len(r.Skipped)+len(r.Logged) > 0
	r.Files, r.Skipped, r.Logged = nil, nil, nil
	return some
}
