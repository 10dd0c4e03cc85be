package archtest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"
)

// nulInText is the one tracked file that has a NUL byte on purpose: a program that Python refuses.
const nulInText = "testdata/templates-python/96_nul.py"

// The files of the page are compressed. They are tracked so that building brig needs no npm, and
// TestTheFilesAreOfTheseSources holds them to their sources.
const builtPage = "service/page/dist/"

// Nothing that a compiler made is tracked: nobody can review it, and it stays when its source changes.
func TestNoBinaryIsTracked(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-files", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}

	read := 0
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := os.Lstat(path.Join("../..", name))
		if errors.Is(err, fs.ErrNotExist) { // removed, and not committed yet
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !info.Mode().IsRegular() {
			continue
		}

		text, err := os.ReadFile(path.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}

		read++
		if bytes.IndexByte(text, 0) >= 0 && name != nulInText && !strings.HasPrefix(name, builtPage) {
			t.Errorf("%s is no text: remove it from git, and let make build it", name)
		}
	}

	if read < 1000 {
		t.Errorf("only %d files were read: this test looks in the wrong place", read)
	}
}
