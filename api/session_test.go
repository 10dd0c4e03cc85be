package api_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

func wantCode(t *testing.T, name string, err error, want api.Code) {
	t.Helper()
	var e *api.Error
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: refused: %v", name, err)
	case want != "" && (!errors.As(err, &e) || e.Code != want):
		t.Errorf("%s: %v; want code %s", name, err, want)
	}
}

func TestValidateSession(t *testing.T) {
	ok := func(change func(s *api.SessionRequest)) api.SessionRequest {
		s := api.SessionRequest{Image: "tiny"}
		change(&s)
		return s
	}

	for _, tt := range []struct {
		name string
		ask  api.SessionRequest
		want api.Code
	}{
		{"an image", ok(func(s *api.SessionRequest) {}), ""},
		{"a language", api.SessionRequest{Language: "python"}, ""},
		{"neither", api.SessionRequest{}, api.CodeBadRequest},
		{"both", ok(func(s *api.SessionRequest) { s.Language = "python" }), ""},
		{"limits of everything", ok(func(s *api.SessionRequest) {
			s.Limits = api.Limits{Memory: api.MiB * 64, Swap: 4096, CPUs: 1, Weight: 3, Cpuset: "0", Pids: 1, Scratch: 4096, Inodes: 16}
		}), ""},
		{"limits of execs", ok(func(s *api.SessionRequest) {
			s.ExecLimits = api.Limits{Wall: 1e9, CPU: 1e9, Memory: api.MiB * 64, CPUs: 1, Pids: 1, Output: 1, OpenFiles: 3, Stack: api.MiB,
				AddressSpace: api.GiB, Data: api.GiB, FileSize: api.MiB}
		}), ""},
		{"an exec's limit on the whole", ok(func(s *api.SessionRequest) { s.Limits.Wall = 1e9 }), api.CodeBadLimits},
		{"another", ok(func(s *api.SessionRequest) { s.Limits.OpenFiles = 9 }), api.CodeBadLimits},
		{"a limit on what a process maps, on the whole", ok(func(s *api.SessionRequest) { s.Limits.AddressSpace = api.GiB }), api.CodeBadLimits},
		{"the whole's limit on an exec", ok(func(s *api.SessionRequest) { s.ExecLimits.Scratch = api.MiB }), api.CodeBadLimits},
		{"processors for an exec", ok(func(s *api.SessionRequest) { s.ExecLimits.Cpuset = "1" }), api.CodeBadLimits},
		{"a limit that makes no sense", ok(func(s *api.SessionRequest) { s.Limits.Memory = 1 }), api.CodeBadLimits},
		{"a preset", ok(func(s *api.SessionRequest) { s.Preset = "light" }), ""},
		{"no such preset", ok(func(s *api.SessionRequest) { s.Preset = "heavy" }), api.CodeBadLimits},
		{"life-times", ok(func(s *api.SessionRequest) { s.Idle, s.Life = 1e9, 2e9 }), ""},
		{"metadata", ok(func(s *api.SessionRequest) { s.Metadata = map[string]string{"A:b": "c", "": ""} }), ""},
		{"metadata without end", ok(func(s *api.SessionRequest) {
			s.Metadata = map[string]string{"a": strings.Repeat("x", api.MetadataBytes)}
		}), api.CodeBadRequest},
		{"metadata that is no text", ok(func(s *api.SessionRequest) { s.Metadata = map[string]string{"a": "\xff"} }), api.CodeBadRequest},
		{"a life too short", ok(func(s *api.SessionRequest) { s.Life = api.Duration(time.Millisecond) }), api.CodeBadLimits},
		{"an idle time too short", ok(func(s *api.SessionRequest) { s.Idle = 1 }), api.CodeBadLimits},
		{"a negative life", ok(func(s *api.SessionRequest) { s.Life = -1 }), api.CodeBadLimits},
		{"a network", ok(func(s *api.SessionRequest) { s.Network = "host" }), api.CodeUnsupported},
		{"a variable with NUL", ok(func(s *api.SessionRequest) { s.Env = map[string]string{"A": "\x00"} }), api.CodeBadRequest},
		{"a long image", ok(func(s *api.SessionRequest) { s.Image = strings.Repeat("x", 257) }), api.CodeBadRequest},
		{"a long label", ok(func(s *api.SessionRequest) { s.Labels.Project = strings.Repeat("x", 257) }), api.CodeBadRequest},
		{"a volume", ok(func(s *api.SessionRequest) { s.Volume = &api.VolumeRequest{Name: "a/b ü", Size: api.VolumeSizeMin} }), ""},
		{"a volume of the project", ok(func(s *api.SessionRequest) { s.Labels.Project, s.Volume = "p", &api.VolumeRequest{} }), ""},
		{"a volume without a name", ok(func(s *api.SessionRequest) { s.Volume = &api.VolumeRequest{} }), api.CodeBadRequest},
		{"a volume too small", ok(func(s *api.SessionRequest) { s.Volume = &api.VolumeRequest{Name: "a", Size: api.MiB} }), api.CodeBadLimits},
		{"shared to read", ok(func(s *api.SessionRequest) { s.Volume = &api.VolumeRequest{Name: "a", Shared: true, ReadOnly: true} }),
			api.CodeBadRequest},
		{"a directory's name", ok(func(s *api.SessionRequest) { s.Volume = &api.VolumeRequest{Name: ".."} }), api.CodeBadRequest},
		{"the name of the root", ok(func(s *api.SessionRequest) { s.Volume = &api.VolumeRequest{Name: "/"} }), api.CodeBadRequest},
		{"a name with NUL", ok(func(s *api.SessionRequest) { s.Volume = &api.VolumeRequest{Name: "a\x00b"} }), api.CodeBadRequest},
		{"a name that is no text", ok(func(s *api.SessionRequest) { s.Volume = &api.VolumeRequest{Name: "a\xff"} }), api.CodeBadRequest},
		{"a very long name", ok(func(s *api.SessionRequest) { s.Volume = &api.VolumeRequest{Name: strings.Repeat("x", 201)} }),
			api.CodeBadRequest},
		{"two profiles", ok(func(s *api.SessionRequest) { s.Profile, s.ProfileRules = "a", []byte("{}") }), api.CodeBadRequest},
	} {
		wantCode(t, tt.name, tt.ask.Validate(), tt.want)
	}
}

func TestValidateExec(t *testing.T) {
	for _, tt := range []struct {
		name string
		exec api.Exec
		want api.Code
	}{
		{"a command", api.Exec{Argv: []string{"true"}}, ""},
		{"source", api.Exec{Source: []byte("1"), SourceName: "a/b.py", Argv: []string{""}}, ""},
		{"nothing", api.Exec{}, api.CodeBadRequest},
		{"an empty program", api.Exec{Argv: []string{""}}, api.CodeBadRequest},
		{"a name without source", api.Exec{Argv: []string{"true"}, SourceName: "a"}, api.CodeBadRequest},
		{"a name that leads out", api.Exec{Source: []byte("1"), SourceName: "../a"}, api.CodeBadFile},
		{"limits", api.Exec{Argv: []string{"true"}, Limits: api.Limits{Wall: 1e9, Memory: 8 * api.MiB, Pids: 1}}, ""},
		{"a terminal", api.Exec{Argv: []string{"true"}, TTY: &api.TTY{}}, ""},
		{"files of a terminal", api.Exec{Argv: []string{"true"}, TTY: &api.TTY{}, Collect: api.Collect{Globs: []string{"*"}}},
			api.CodeBadRequest},
		{"files of a resident", api.Exec{Argv: []string{"true"}, Resident: true, Collect: api.Collect{Globs: []string{"*"}}},
			api.CodeBadRequest},
		{"the session's limit", api.Exec{Argv: []string{"true"}, Limits: api.Limits{Swap: 4096}}, api.CodeBadLimits},
		{"collect", api.Exec{Argv: []string{"true"}, Collect: api.Collect{Globs: []string{"*"}}}, ""},
		{"a glob that leads out", api.Exec{Argv: []string{"true"}, Collect: api.Collect{Globs: []string{"/etc/*"}}}, api.CodeBadFile},
		{"a word with NUL", api.Exec{Argv: []string{"a\x00b"}}, api.CodeBadRequest},
	} {
		wantCode(t, tt.name, tt.exec.Validate(), tt.want)
	}
}

// Requests for sessions are decoded as strictly as runs, and the golden ones are accepted.
func TestParseSessionAndExec(t *testing.T) {
	golden := func(name string) []byte {
		raw, err := os.ReadFile(filepath.Join("testdata", "golden", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}

	for _, name := range []string{"session-request", "session-request-least"} {
		s, err := decode.Value[api.SessionRequest](golden(name), "session")
		if err == nil {
			err = s.Validate()
		}
		wantCode(t, name, err, "")
	}

	for _, name := range []string{"exec", "exec-least"} {
		e, err := decode.Value[api.Exec](golden(name), "exec")
		if err == nil {
			err = e.Validate()
		}
		wantCode(t, name, err, "")
	}

	for _, raw := range []string{"", "[]", `{"image":"a","image":"b"}`, `{"Image":"a"}`, `{"image":"a"}x`, `{"image":"a","files":[]}`,
		`{"image":"a","limits":{"memory":"x"}}`, "{\"image\":\"\xff\"}"} {
		_, err := decode.Value[api.SessionRequest]([]byte(raw), "session")
		wantCode(t, raw, err, api.CodeBadRequest)
	}

	for _, raw := range []string{"", `{"argv":["a"],"language":"python"}`, `{"argv":"a"}`, `{"argv":["a"],"env":{"A":1}}`} {
		_, err := decode.Value[api.Exec]([]byte(raw), "exec")
		wantCode(t, raw, err, api.CodeBadRequest)
	}
}
