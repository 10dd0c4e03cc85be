package isolation

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// PRC-01, PRC-02, PRC-03, PRC-05: where a language requests all of /proc, its content is read-only,
// reveals no secret and shows no other process; and after all attempts the host's settings are
// unchanged.
func TestHostileFullProc(t *testing.T) {
	dir := t.TempDir()
	manifest := "name: full\nimage: tiny\nsource_file: main.sh\nrun: [/bin/sh, '{source}']\nproc: full\n"
	if err := os.WriteFile(filepath.Join(dir, "full.yaml"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}

	c := harness.NewCanaries(t)
	a := harness.StartAgent(t, "--slots", "1", "--languages", dir)
	before := hostSettings(t)

	for _, tt := range []struct {
		id      string
		allowed map[string][]string
		stdout  []string
		only    map[string][]string
	}{
		{id: "PRC-01", allowed: map[string][]string{"list": {"0"}, "write *": {"EROFS", "EACCES"}},
			stdout: []string{`"write /proc/sys/kernel/core_pattern"`}},
		{id: "PRC-02", allowed: map[string][]string{"write fs/jbd2": {"EISDIR", "ENOENT"}, "write *": {"EROFS", "EACCES", "ENOENT"}},
			stdout: []string{`"write sys/vm/drop_caches","errno":"E(ROFS|ACCES)"`}},
		// Keyrings are listed for their own user namespace: the run's, sealed and empty.
		{id: "PRC-03", allowed: map[string][]string{"read keys": {"0", "ENODATA", "ENOENT"}, "read key-users": {"0", "ENODATA", "ENOENT"},
			"read *": {"ENODATA", "EACCES", "EPERM", "ENOENT"}},
			stdout: []string{`"read kallsyms"`}, only: map[string][]string{`^(?:key-users tells:)? *(\d+): +\d+ \d+/`: {"0", "1000"}}},
		{id: "PRC-05", allowed: map[string][]string{"* of 1": {"ENOENT"}}, stdout: []string{"others 0\n"}},
	} {
		t.Run(tt.id, func(t *testing.T) {
			probe := harness.BuildProbe(t, tt.id)
			harness.Both(t, func(t *testing.T, mode api.Mode) {
				r := api.Run{Language: "full", Source: api.Bytes("exec ./" + probe.Name), Files: []api.File{probe}, Mode: mode,
					Limits: harness.HostileLimits()}
				e := harness.Expectation{Case: corpus.Case{Verdicts: []api.Verdict{api.OK}, Errno: tt.allowed, Stdout: tt.stdout, Only: tt.only}}
				e.CheckResult(t, c, a.MustRun(t, r))
				c.Untouched(t)
			})
		})
	}

	after := hostSettings(t)
	for name, value := range before {
		if got, ok := after[name]; ok && got != value {
			t.Errorf("%s was %q and is %q", name, value, got)
		}
	}
}

// hostSettings reads the host's writable settings except those that change by themselves: the known
// ones, and those that differ between two immediate reads.
func hostSettings(t *testing.T) map[string]string {
	t.Helper()
	volatile := []string{"ns_last_pid"}
	read := func() map[string]string {
		all := map[string]string{}
		err := filepath.WalkDir("/proc/sys", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || slices.Contains(volatile, filepath.Base(p)) {
				return nil // an entry that has disappeared does not count
			}
			if info, err := d.Info(); err != nil || info.Mode()&0o200 == 0 || info.Mode()&0o444 == 0 {
				return nil
			}
			if text, err := os.ReadFile(p); err == nil {
				all[p] = string(text)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}

	first, second := read(), read()
	for name, value := range first {
		if second[name] != value {
			delete(first, name)
		}
	}

	if _, ok := first["/proc/sys/kernel/core_pattern"]; !ok || len(first) < 100 {
		t.Fatalf("%d settings were read", len(first))
	}
	return first
}
