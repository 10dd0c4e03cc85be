// Package deploy holds recipes for running batches.
package deploy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// flags are the flags of brig worker.
func flags(t *testing.T) map[string]bool {
	t.Helper()
	brig := testenv.NeedFile(t, "../bin/brig", "run make build first")
	out, err := exec.Command(brig, "worker", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}

	all := map[string]bool{}
	for _, f := range regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`).FindAllSubmatch(out, -1) {
		all[string(f[1])] = true
	}

	if !all["--key"] || !all["--drain"] {
		t.Fatalf("the flags of brig worker were not found: %s", out)
	}
	return all
}

// commands returns the lists of words in a document that begin with worker.
func commands(n any) [][]string {
	var all [][]string
	switch n := n.(type) {
	case map[string]any:
		for _, v := range n {
			all = append(all, commands(v)...)
		}
	case []any:
		var words []string
		for _, v := range n {
			if s, ok := v.(string); ok {
				words = append(words, s)
			}
			all = append(all, commands(v)...)
		}
		if len(words) > 0 && words[0] == "worker" {
			all = append(all, words)
		}
	}

	return all
}

// The documents are YAML, and the workers in them have flags that exist.
func TestManifests(t *testing.T) {
	known := flags(t)
	for name, want := range map[string]string{"compose/compose.yaml": "", "kubernetes/worker-daemonset.yaml": "DaemonSet",
		"kubernetes/worker-deployment.yaml": "ScaledObject"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		kinds, workers := "", 0
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var doc map[string]any
			err := d.Decode(&doc)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if kind, ok := doc["kind"].(string); ok {
				kinds += " " + kind
				if doc["apiVersion"] == nil || doc["metadata"] == nil {
					t.Errorf("%s: %s has no apiVersion or no metadata", name, kind)
				}
			}

			for _, c := range commands(doc) {
				workers++
				for _, word := range c {
					if strings.HasPrefix(word, "--") && !known[word] {
						t.Errorf("%s: brig worker has no flag %s", name, word)
					}
				}
			}
		}

		if workers != 1 || !strings.Contains(kinds, want) {
			t.Errorf("%s has %d workers and the kinds%s", name, workers, kinds)
		}
	}
}

func TestUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		testenv.NeedFile(t, "/usr/bin/systemd-analyze", "install systemd")
	}

	text, err := os.ReadFile("systemd/brig-worker.service")
	if err != nil {
		t.Fatal(err)
	}

	brig, err := filepath.Abs(testenv.NeedFile(t, "../bin/brig", "run make build first"))
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()

	// The programs and units that it names are not installed here.
	text = bytes.ReplaceAll(text, []byte("/usr/bin/brig"), []byte(brig))
	text = bytes.ReplaceAll(text, []byte("Wants=brigd.service network-online.target\nAfter=brigd.service network-online.target\n"), nil)
	unit := filepath.Join(dir, "brig-worker.service")
	if err := os.WriteFile(unit, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil ||
		bytes.Contains(out, []byte("brig-worker.service")) {
		t.Errorf("%v: %s", err, out)
	}
}
