package history

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// What is kept of a request is bounded, whatever the request has.
func TestKeptRequestsAreBounded(t *testing.T) {
	long := func(n api.Size) api.Bytes { return api.Bytes(strings.Repeat("x", int(n))) }
	var files []api.File
	for i := range maxRequestFiles + 1 {
		files = append(files, api.File{Name: fmt.Sprint(i), Content: long(10)})
	}

	for _, tt := range []struct {
		name string
		run  api.Run
		want api.KeptRequest
	}{
		{"a small one", api.Run{Source: api.Bytes("print(1)"), SourceName: "a.py", Stdin: api.Bytes("in"), Argv: []string{"a"},
			Flags: []string{"-O2"}, Env: map[string]string{"TOKEN": "secret"}, Tests: make([]api.Test, 3)},
			api.KeptRequest{Source: api.Bytes("print(1)"), SourceName: "a.py", Stdin: api.Bytes("in"), Argv: []string{"a"},
				Flags: []string{"-O2"}, Tests: 3, Missing: []string{"env", "tests"}}},
		{"as large as can be", api.Run{Source: long(maxRequestSource), Stdin: long(maxRequestStdin)},
			api.KeptRequest{Source: long(maxRequestSource), Stdin: long(maxRequestStdin)}},
		{"a larger source", api.Run{Source: long(maxRequestSource + 1)},
			api.KeptRequest{Source: long(maxRequestSource), Cut: true, Missing: []string{"source"}}},
		{"a larger stdin", api.Run{Stdin: long(maxRequestStdin + 1)},
			api.KeptRequest{Stdin: long(maxRequestStdin), Cut: true, Missing: []string{"stdin"}}},
		{"long arguments", api.Run{Argv: []string{string(long(maxRequestWords))}}, api.KeptRequest{Cut: true, Missing: []string{"argv"}}},
		{"files without content", api.Run{Files: []api.File{{Name: "a", Content: long(7)}, {Name: "b", Blob: "d"}}},
			api.KeptRequest{Files: []api.KeptFile{{Name: "a", Size: 7}, {Name: "b", Blob: "d"}}, Missing: []string{"files"}}},
	} {
		text := keptRequest(tt.run)
		var got api.KeptRequest
		err := json.Unmarshal(text, &got)
		if got.Settings == nil {
			t.Errorf("%s: no settings", tt.name)
		}
		got.Settings = nil
		if err != nil || fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %.200s, %v", tt.name, text, err)
		}
		if strings.Contains(string(text), "secret") {
			t.Errorf("%s: a variable is kept", tt.name)
		}
	}

	var many api.KeptRequest
	if err := json.Unmarshal(keptRequest(api.Run{Files: files}), &many); err != nil || len(many.Files) != maxRequestFiles || !many.Cut {
		t.Errorf("%d of %d files, cut %v, %v", len(many.Files), len(files), many.Cut, err)
	}

	// Half of what is no text takes more as JSON.
	binary := keptRequest(api.Run{Source: api.Bytes(strings.Repeat("\xff\x00", int(maxRequestSource)))})
	if len(binary) > int(maxRequest) || !json.Valid(binary) {
		t.Errorf("%d bytes of JSON", len(binary))
	}
}

// A kept request is of its key, counts for the size of the history, and leaves with its record.
func TestKeptRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	s := open(t, path, RetentionLimits{Runs: 3})
	kept := func(source string) json.RawMessage { return keptRequest(api.Run{Source: api.Bytes(source)}) }
	large := strings.Repeat("y", 2*int(maxJournalRun))
	for i, source := range []string{"first", "small", large, ""} { // one is over the bound; one is in the journal first, one not
		add(t, s, record(fmt.Sprint(i), func(r *api.Record) {
			if r.Owner = "ann"; source != "" {
				r.Request = kept(source)
			}
		}))
	}

	ann := Scope{Owner: "ann"}
	check := func(when string) {
		t.Helper()
		for _, tt := range []struct {
			scope Scope
			id    string
			want  string // "-": not found; empty: nothing is kept
		}{
			{ann, "0", "-"}, {ann, "1", "small"}, {everyone, "1", "small"}, {ann, "2", large}, {ann, "3", ""},
			{Scope{Owner: "bob"}, "1", "-"}, {Scope{}, "1", "-"}, {ann, "none", "-"},
		} {
			got, err := s.Request(t.Context(), tt.scope, tt.id)
			switch {
			case tt.want == "-" && !api.HasCode(err, api.CodeNotFound), tt.want != "-" && err != nil,
				tt.want == "" && got != nil, tt.want != "-" && tt.want != "" && (got == nil || string(got.Source) != tt.want):
				t.Errorf("%s: %s for %+v: %.80v, %v", when, tt.id, tt.scope, got, err)
			}
		}
	}
	check("at once")

	with, without := record("a"), record("a")
	with.Request = kept(large)
	if weight(&with)-weight(&without) < int64(len(large)) {
		t.Error("a kept request does not count")
	}

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, RetentionLimits{Runs: 3})
	check("after a restart")
}

// What is kept of the requests of one key pushes out runs of this key alone, and all keys together stay within the bound.
func TestKeptRequestsOfOneKey(t *testing.T) {
	const most = 4 * api.MiB
	s := open(t, filepath.Join(t.TempDir(), "history.db"), RetentionLimits{Bytes: most})
	own := Scope{Owner: "bob"}
	for i := range 3 {
		add(t, s, record(fmt.Sprint("bob", i), func(r *api.Record) {
			r.Owner, r.Request = own.Owner, keptRequest(api.Run{Source: api.Bytes(fmt.Sprint("of bob ", i))})
		}))
	}
	large := keptRequest(api.Run{Source: api.Bytes(strings.Repeat("x", int(maxRequestSource))),
		Stdin: api.Bytes(strings.Repeat("y", int(maxRequestStdin)))})
	for i := range 40 { // 12 MiB
		add(t, s, record(fmt.Sprint("ann", i), func(r *api.Record) { r.Owner, r.Request = "ann", large }))
	}

	for i := range 3 {
		got, err := s.Request(t.Context(), own, fmt.Sprint("bob", i))
		if err != nil || got == nil || string(got.Source) != fmt.Sprint("of bob ", i) {
			t.Errorf("run %d of the other key: %v, %v", i, got, err)
		}
	}
	kept := 0
	for i := range 40 {
		switch _, err := s.Request(t.Context(), Scope{Owner: "ann"}, fmt.Sprint("ann", i)); {
		case err == nil:
			kept++
		case !api.HasCode(err, api.CodeNotFound):
			t.Error(err)
		}
	}
	if least, largest := 8, int(most)/len(large); kept < least || kept > largest {
		t.Errorf("%d large requests of one key are kept; want %d to %d", kept, least, largest)
	}
}

func keptRequest(r api.Run) json.RawMessage { return KeptRequest(api.RunRequest{Run: r}, len(r.Tests)) }
