package runtime

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// AGT-02: whatever the run directory contains, a start removes what certainly belongs to a dead
// agent, leaves the rest where it is, and reports why.
func TestSweepOfDamagedState(t *testing.T) {
	foreign := t.TempDir()
	if err := os.Mkdir(filepath.Join(foreign, "brig-0"), 0o755); err != nil {
		t.Fatal(err)
	}

	old := time.Now().Add(-time.Hour)
	for _, tt := range []struct {
		name  string
		files map[string]string // of the instance; a name that ends in / is a directory
		age   time.Time         // of it, when set
		gone  bool
		says  string // part of the error; empty: none
	}{
		{"whole", map[string]string{"lock": "", "groups": "/sys/fs/cgroup/none/brig-0\n", "mnt/": ""}, time.Time{}, true, ""},
		{"killed before its first group", map[string]string{"lock": ""}, time.Time{}, true, ""},
		{"the last line torn", map[string]string{"lock": "", "groups": "/sys/fs/cgroup/none/brig-0\n/sys/fs/cg"}, time.Time{}, true, ""},
		{"a record of nothing but zeros", map[string]string{"lock": "", "groups": strings.Repeat("\x00", 4096)}, time.Time{}, true, ""},
		{"a line of zeros", map[string]string{"lock": "", "groups": strings.Repeat("\x00", 4096) + "\n"}, time.Time{}, false, "\\x00"},
		{"somebody else's path", map[string]string{"lock": "", "groups": "/etc\n"}, time.Time{}, false, "/etc"},
		{"a path that climbs", map[string]string{"lock": "", "groups": "/sys/fs/cgroup/brig-0/../../brig-0\n"}, time.Time{}, false, ".."},
		{"a directory that is no group", map[string]string{"lock": "", "groups": filepath.Join(foreign, "brig-0") + "\n"},
			time.Time{}, false, foreign},
		{"something in the way", map[string]string{"lock": "", "groups/x": ""}, time.Time{}, false, "groups"},
		{"made after its removal", map[string]string{"mnt/cells/": "", "mnt/state/x": "x"}, old, true, ""},
		{"unknown files", map[string]string{"lock": "", "mine": "x"}, time.Time{}, false, "not empty"},
		{"being made", map[string]string{}, time.Time{}, false, ""},
		{"killed before it was locked", map[string]string{}, old, true, ""},
		{"killed while it was swept", map[string]string{"mnt/": ""}, old, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := t.TempDir()
			dir := filepath.Join(run, "01234567")
			bystander := filepath.Join(run, "notes")
			for _, d := range []string{dir, bystander} {
				if err := os.Mkdir(d, 0o711); err != nil {
					t.Fatal(err)
				}
			}

			for name, text := range tt.files {
				at := filepath.Join(dir, name)
				err := os.MkdirAll(filepath.Dir(at), 0o711)
				if strings.HasSuffix(name, "/") {
					err = os.MkdirAll(at, 0o711)
				} else if err == nil {
					err = os.WriteFile(at, []byte(text), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}

			if !tt.age.IsZero() {
				if err := os.Chtimes(dir, tt.age, tt.age); err != nil {
					t.Fatal(err)
				}
			}

			_, err := SweepDead(run, slog.New(slog.DiscardHandler))
			if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("SweepDead: %v; want it to say %q", err, tt.says)
			}
			if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) != tt.gone {
				t.Errorf("the directory is there: %v; want it gone: %v", err, tt.gone)
			}

			for _, kept := range []string{bystander, filepath.Join(foreign, "brig-0"), "/etc/passwd"} {
				if _, err := os.Lstat(kept); err != nil {
					t.Errorf("what is not an agent's: %v", err)
				}
			}
		})
	}
}

// FuzzSweepOfDamagedRecord: whatever bytes a crash leaves in the record of groups, the next start
// neither panics nor touches anything that is not a group of brig's (AGT-02).
func FuzzSweepOfDamagedRecord(f *testing.F) {
	for _, text := range []string{"", "\n", "/sys/fs/cgroup/none/brig-0\n", "/etc\n/", "brig-0\n", "/sys/fs/cgroup/brig-0/..\n\x00\xff\n"} {
		f.Add([]byte(text))
	}

	f.Fuzz(func(t *testing.T, record []byte) {
		if bytes.Contains(record, []byte("/sys/fs/cgroup")) && bytes.Contains(record, []byte("brig-")) &&
			!bytes.Contains(record, []byte("none/")) {
			t.Skip("it may name a living agent's group")
		}

		run := t.TempDir()
		dir, victim := filepath.Join(run, "01234567"), filepath.Join(run, "brig-0")
		for _, d := range []string{dir, victim} {
			if err := os.Mkdir(d, 0o711); err != nil {
				t.Fatal(err)
			}
		}

		for name, text := range map[string][]byte{"lock": nil, "groups": slices.Concat(record, []byte("\n"+victim+"\n"))} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}

		if _, err := SweepDead(run, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%q, with a directory of another's behind it, is swept without a word", record)
		}
		if _, err := os.Lstat(victim); err != nil {
			t.Error(err)
		}
	})
}
