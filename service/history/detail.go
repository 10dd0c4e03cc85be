package history

import (
	"encoding/json"
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// detail returns a result without its streams and the content of its files, as JSON of at most
// maxDetail bytes. less says that something was left out to fit.
func detail(r api.Result) (text json.RawMessage, truncated bool) {
	r = withoutContent(r)
	if r.Summary != nil { // the letters are in the record's own summary
		summary := *r.Summary
		summary.Outcomes = ""
		r.Summary = &summary
	}
	if c := r.Compile; c != nil {
		short := *c
		short.Stdout, short.StdoutTruncated = cut(c.Stdout, 4<<10, c.StdoutTruncated)
		short.Stderr, short.StderrTruncated = cut(c.Stderr, 4<<10, c.StderrTruncated)
		r.Compile = &short
	}

	// Half of the space is for the output of tests, in equal parts.
	share := int(maxDetail) / 4 / max(len(r.Tests), 1)
	r.Tests = slices.Clone(r.Tests)

	for i, t := range r.Tests {
		was := t.Result
		t.Result = withoutContent(was)
		t.Result.Stdout, _ = cut(was.Stdout, share, false)
		t.Result.Stderr, _ = cut(was.Stderr, share, false)
		output := t.Output
		t.Output, _ = cut(output, share, false)
		if len(t.Result.Stdout) < len(was.Stdout) || len(t.Result.Stderr) < len(was.Stderr) || len(t.Output) < len(output) {
			t.Cut, truncated = true, true
		}
		r.Tests[i] = t
	}

	for _, shrink := range []func(*api.Result) bool{dropTestOutput, halveTests, dropLists} {
		for {
			if b, err := json.Marshal(r); err == nil && len(b) <= int(maxDetail) {
				return b, truncated
			}
			truncated = true
			if !shrink(&r) {
				break
			}
		}
	}

	return nil, true
}

// withoutContent removes what is stored elsewhere or not at all.
func withoutContent(r api.Result) api.Result {
	r.Stdout, r.Stderr = nil, nil
	r.Files = slices.Clone(r.Files)
	for i := range r.Files {
		r.Files[i].Content = nil
	}
	return r
}

// dropTestOutput removes the output of tests and reports whether there was any.
func dropTestOutput(r *api.Result) (some bool) {
	for i := range r.Tests {
		t := &r.Tests[i]
		if len(t.Result.Stdout)+len(t.Result.Stderr)+len(t.Output) > 0 {
			t.Result.Stdout, t.Result.Stderr, t.Output, t.Cut, some = nil, nil, nil, true, true
		}
	}
	return some
}

// halveTests removes the second half of the tests; the summary still covers all of them.
func halveTests(r *api.Result) bool {
	some := len(r.Tests) > 0
	r.Tests = r.Tests[:len(r.Tests)/2]
	return some
}

// dropLists removes the lists whose length the program controls.
func dropLists(r *api.Result) bool {
	some := len(r.Files)+len(r.Skipped)+len(r.Logged) > 0
	r.Files, r.Skipped, r.Logged = nil, nil, nil
	return some
}
