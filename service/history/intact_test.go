package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A file that is not in its place any more takes no run: what SQLite wrote into it would be lost. A
// write that failed is remembered for the health, until one succeeds.
func TestALostFileTakesNoRun(t *testing.T) {
	for name, tt := range map[string]struct {
		lose func(path string) error
		want string // empty: it is intact
	}{
		"untouched": {func(string) error { return nil }, ""},
		"removed":   {os.Remove, "was removed"},
		"moved":     {func(path string) error { return os.Rename(path, path+".old") }, "was removed"},
		"replaced": {func(path string) error {
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path+".new", text, 0o600)
			}
			if err == nil {
				err = os.Rename(path+".new", path)
			}
			return err
		}, "was replaced"},
		"truncated":   {func(path string) error { return os.Truncate(path, 0) }, "was overwritten"},
		"overwritten": {func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("x", 9000)), 0o600) }, "was overwritten"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history.db")
			s, err := Open(t.Context(), path, RetentionLimits{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }() // of a lost file it fails

			if err := s.Add(t.Context(), record("before")); err != nil || s.Health() != nil {
				t.Fatalf("%v, %v", err, s.Health())
			}
			if err := tt.lose(path); err != nil {
				t.Fatal(err)
			}

			for what, err := range map[string]error{"add": s.Add(t.Context(), record("after")), "health": s.Health()} {
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("%s: %v; want %q", what, err, tt.want)
				}
			}
		})
	}
}

func TestAFailedWriteIsRemembered(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "history.db"), RetentionLimits{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	full := api.Fail(api.CodeHostExhausted, "no space")
	if s.note(full); s.Health() != full { //nolint:errorlint // the same value
		t.Errorf("after a failed write: %v", s.Health())
	}
	if err := s.Add(t.Context(), record("next")); err != nil || s.Health() != nil {
		t.Errorf("after a write: %v, %v", err, s.Health())
	}
	if s.note(full); s.failed.Load() != nil {
		s.failed.Load().at = s.failed.Load().at.Add(-failureLife)
	}
	if err := s.Health(); err != nil {
		t.Errorf("long after a failed write: %v", err)
	}
}
