package service

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/history"
)

// documented returns the commands of the page on backup that have a word, for a host whose files are
// below root and whose backup is in the file to.
func documented(t *testing.T, word, root, to string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/operate/upgrade.md")
	if err != nil {
		t.Fatal(err)
	}

	_, section, _ := strings.Cut(string(page), "## Backup and upgrade")
	blocks := strings.Split(section, "```")
	for i := 1; i < len(blocks); i += 2 {
		if !strings.Contains(blocks[i], word) {
			continue
		}
		var commands strings.Builder
		for line := range strings.Lines(blocks[i]) {
			line = strings.TrimPrefix(line, "sudo ")
			if strings.HasPrefix(line, "systemctl ") {
				continue
			}
			commands.WriteString(strings.NewReplacer("/root/brig.tar.gz", to, "-C /", "-C "+root, " /var/", " "+root+"/var/").Replace(line))
		}
		return commands.String()
	}

	t.Fatalf("the page on backup has no commands with %q", word)
	return ""
}

// The commands of the page on backup restore what cannot be made again: a run of the history, a stored
// problem, a batch whose jobs have not all ended, a volume, and the settings.
func TestTheBackupIsRestored(t *testing.T) {
	root, backup := t.TempDir(), filepath.Join(t.TempDir(), "brig.tar.gz")
	kept := map[string]string{"etc/brig/keys.yaml": "keys:\n", "etc/brig/languages/own.yaml": "name: own\n",
		"var/lib/brig/volumes/ann": "a volume"}
	for name, text := range kept {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}

	data := filepath.Join(root, "var/lib/brig-gateway")
	if err := os.MkdirAll(filepath.Join(data, "batches"), 0o700); err != nil {
		t.Fatal(err)
	}

	serve := func(agent *judging) (web *httptest.Server, stop func()) {
		store, err := history.Open(t.Context(), filepath.Join(data, "history.db"), history.RetentionLimits{})
		if err != nil {
			t.Fatal(err)
		}

		web, end := serveBatches(t, agent.mux(), filepath.Join(data, "batches"), func(c *Config) {
			c.History, c.Problems, c.ReadProblem = store, filepath.Join(data, "problems"), readHere
		})
		return web, func() {
			end()
			web.Close()
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}
	}

	sh := func(commands string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "sh", "-euc", commands).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", commands, err, out)
		}
	}

	web, stop := serve(newJudging())
	var run api.Result
	if s := send(t, web, "POST", "/v1/runs", `{"image": "tiny", "argv": ["before"]}`, &run); s != 200 {
		t.Fatal(s)
	}

	var stored api.StoredProblem
	if s := send(t, web, "PUT", "/v1/problems/sum", zipped(t, "1.in", "1 2", "1.out", "3"), &stored); s != 200 {
		t.Fatal(s)
	}

	path := openBatch(t, web, "{}")
	addJobs(t, web, path, jobs("good", 0, 3)+jobs("hold", 0, 2))
	if s := send(t, web, "POST", path+"/close", "", nil); s != 200 {
		t.Fatal(s)
	}

	eventually(t, "three jobs have a result", func() bool {
		var b api.Batch
		send(t, web, "GET", path, "", &b)
		return b.Results == 3
	})

	stop()
	sh(documented(t, "-czf", root, backup))

	// The host is lost, or has gone on: what it has of later is no part of the backup.
	if err := os.RemoveAll(filepath.Join(root, "etc")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, "var/lib/brig")); err != nil {
		t.Fatal(err)
	}

	web, stop = serve(newJudging())
	var later api.Result
	if s := send(t, web, "POST", "/v1/runs", `{"image": "tiny", "argv": ["after"]}`, &later); s != 200 {
		t.Fatal(s)
	}

	laterBatch := openBatch(t, web, "{}")
	stop()
	sh(documented(t, "-xzpf", root, backup))

	agent := newJudging()
	close(agent.hold)
	web, stop = serve(agent)
	defer stop()

	var status api.Status
	if s := send(t, web, "GET", "/v1/runs/"+run.Run, "", &status); s != 200 || status.Result == nil {
		t.Errorf("the run: %d, %+v", s, status)
	}

	for _, gone := range []string{"/v1/runs/" + later.Run, laterBatch} {
		if s := send(t, web, "GET", gone, "", nil); s != 404 {
			t.Errorf("%s of after the backup: %d", gone, s)
		}
	}

	var again api.StoredProblem
	if s := send(t, web, "GET", "/v1/problems/sum", "", &again); s != 200 || again.Digest != stored.Digest {
		t.Errorf("the problem: %d, %+v; want %s", s, again, stored.Digest)
	}

	all, end := follow(t, web, path, "follow=true")
	if end == nil || end.Statuses[api.JobDone] != 5 || len(all) != 5 || agent.times("hold") != 2 || agent.times("good") != 0 {
		t.Errorf("the batch: %+v, and %d results", end, len(all))
	}

	for name, want := range kept {
		if text, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(text) != want {
			t.Errorf("%s has %q, %v", name, text, err)
		}
	}
}
