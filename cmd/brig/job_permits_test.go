package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// BAT-01: a line of jobs has the rights that the command line gives it, also if root runs brig.
func TestJobsHaveTheRightsThatWereGiven(t *testing.T) {
	const index = "http://127.0.0.1:18305/simple"
	for name, tt := range map[string]struct {
		permits jobPermits
		run     api.Run
		want    bool
	}{
		"nothing":              {jobPermits{network: "none"}, api.Run{}, true},
		"loopback, by default": {jobPermits{network: "loopback"}, api.Run{Network: "loopback"}, true},
		"loopback":             {jobPermits{network: "none"}, api.Run{Network: "loopback"}, false},
		"allow":                {jobPermits{network: "loopback"}, api.Run{Network: "allow", Allow: []string{"127.0.0.1:18305"}}, false},
		"allow, permitted":     {jobPermits{network: "allow"}, api.Run{Network: "allow"}, true},
		"public":               {jobPermits{network: "allow"}, api.Run{Network: "public"}, false},
		"packages":             {jobPermits{network: "public"}, api.Run{Requirements: []string{"x"}}, false},
		"packages, permitted":  {jobPermits{packages: true}, api.Run{Requirements: []string{"x"}}, true},
		"an index":             {jobPermits{packages: true}, api.Run{Requirements: []string{"x"}, Index: index}, false},
		"an index, permitted": {jobPermits{packages: true, indexes: []string{index}},
			api.Run{Requirements: []string{"x"}, Index: index}, true},
		"an index without packages": {jobPermits{}, api.Run{Index: index}, false},
	} {
		if tt.permits.network == "" {
			tt.permits.network = api.NetworkLoopback
		}
		if err := tt.permits.refuse(tt.run); (err == nil) != tt.want || err != nil && !api.HasCode(err, api.CodeForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}

	for name, r := range map[string]api.Run{
		"profile_mode":      {ProfileMode: api.Log},
		"profile_rules":     {ProfileRules: json.RawMessage("{}")},
		"cpuset":            {Limits: api.Limits{Cpuset: "0"}},
		"cpuset of compile": {CompileLimits: api.Limits{Cpuset: "0"}},
	} {
		if err := refuseHost(r); !api.HasCode(err, api.CodeForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if err := refuseHost(api.Run{ProfileMode: api.Enforce, Profile: "strict", Limits: api.Limits{Memory: api.MiB}}); err != nil {
		t.Error(err)
	}
}

// A source that is a FIFO, a device or a directory is refused at once: the open of a FIFO would wait for a writer, and
// the batch with it.
func TestASourceIsARegularFile(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "fifo.py"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "dir.py"), 0o700); err != nil {
		t.Fatal(err)
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	b := &batchRun{root: root}
	for _, name := range []string{"fifo.py", "dir.py", "missing.py"} {
		refused := make(chan error, 1)
		go func() { refused <- b.readSource(&api.Job{SourceFile: name}) }()
		select {
		case err := <-refused:
			if !api.HasCode(err, api.CodeBadRequest) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it waits", name)
		}
	}
}
