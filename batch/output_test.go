package batch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

const twoResults = `{"id":"a","index":0,"status":"done","digest":"sha256:00"}` + "\n" + `{"id":"b","index":1,"status":"error","digest":"sha256:01"}` + "\n"

// The file without the results that are made again replaces the other one: a stranger who can write to its
// directory must not choose what is written, and the results of a class must not become readable.
func TestTheNewFileIsNoLinkAndHasTheSameMode(t *testing.T) {
	dir := t.TempDir()
	name, other := filepath.Join(dir, "out"), filepath.Join(dir, "other")
	for n, text := range map[string]string{name: twoResults, other: "keep this"} {
		if err := os.WriteFile(n, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other, name+".new"); err != nil {
		t.Fatal(err)
	}
	out, done, err := batch.OpenOutput(name, true, []api.JobStatus{api.JobError})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "keep this" {
		t.Errorf("the file that the link leads to has %q, %v", text, err)
	}
	if info, err := os.Lstat(name); err != nil || info.Mode() != 0o600 || done.Len() != 1 {
		t.Errorf("the results have the mode %v, and %d lines, %v", info.Mode(), done.Len(), err)
	}
}

// A file that was named by mistake stays as it is, even if its last line has no end.
func TestAnotherFileIsNotCut(t *testing.T) {
	for _, text := range []string{"notes without a line end", `{"name": "a manifest"}`, twoResults + "x"} {
		name := filepath.Join(t.TempDir(), "notes")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, _, err := batch.OpenOutput(name, true, nil); err == nil {
			t.Errorf("%q was opened: %v", text, out.Close())
		}
		if after, err := os.ReadFile(name); err != nil || string(after) != text {
			t.Errorf("%q became %q, %v", text, after, err)
		}
	}
}
