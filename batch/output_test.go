package batch_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

const twoResults = `{"id":"a","index":0,"status":"done","digest":"sha256:00"}` + "\n" +
	`{"id":"b","index":1,"status":"error","digest":"sha256:01"}` + "\n"

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

func TestWhatCanBeNoFileOfResults(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "other"), link); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"/dev/full": "use -o -", dir: "name a file in it", link: "name the file itself"} {
		for _, resume := range []bool{false, true} {
			if _, _, err := batch.OpenOutput(name, resume, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, resume %v: %v; want %q", name, resume, err, want)
			}
		}
	}
}

// A batch that was resumed says what came of all its jobs.
func TestAnswersOfAnEarlierRunCount(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	j := api.Job{ID: "a", Run: api.Run{Language: "python", Source: api.Bytes("1")}}
	line := `{"id":"a","index":0,"status":"done","answer":"accepted","score":1,"digest":"` + batch.Digest(j, "") + `"}` + "\n"
	if err := os.WriteFile(name, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}

	out, done, err := batch.OpenOutput(name, true, nil)
	if err != nil {
		t.Fatal(err)
	}

	p, err := coordinator(newFakeQueue(1), strings.NewReader(`{"id":"a","language":"python","source":"1"}`), out, done).Run(t.Context())
	if err := errors.Join(err, out.Close()); err != nil || p.Answers[api.Accepted] != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// A file of results that was removed, renamed or replaced while the batch runs ends the batch: its results would be lost
// at the end.
func TestResultsThatAreRemovedAreAnError(t *testing.T) {
	for what, do := range map[string]func(name string) error{
		"removed": os.Remove,
		"renamed": func(name string) error { return os.Rename(name, name+".old") },
		"replaced": func(name string) error {
			return errors.Join(os.WriteFile(name+".new", nil, 0o600), os.Rename(name+".new", name))
		},
	} {
		name := filepath.Join(t.TempDir(), "out")
		out, done, err := batch.OpenOutput(name, false, nil)
		if err != nil {
			t.Fatal(err)
		}

		p, err := coordinator(newFakeQueue(1), strings.NewReader(jobLines(20)), out, done).Run(t.Context())
		if err != nil || p.Recorded != 20 {
			t.Fatalf("%s: %+v, %v", what, p, err)
		}
		if err := do(name); err != nil {
			t.Fatal(err)
		}
		if _, err := coordinator(newFakeQueue(1), strings.NewReader(jobLines(40)), out, done).Run(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "removed or replaced") {
			t.Errorf("%s: the batch ends with %v", what, err)
		}
		if err := out.Close(); err == nil || !strings.Contains(err.Error(), "removed or replaced") {
			t.Errorf("%s: close: %v", what, err)
		}
	}
}
