package grade

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// A zip archive that contains itself (archive/zip, reader_test.go, by Russ Cox) opened itself until the stack was full,
// and nobody of the class was judged.
func TestAnArchiveOfItselfIsOneRow(t *testing.T) {
	text, err := os.ReadFile("testdata/itself.zip.hex")
	if err != nil {
		t.Fatal(err)
	}

	again, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}

	if s := finder.File("mallory.zip", again); s.Err == nil || !strings.Contains(s.Err.Error(), "hand in the files themselves") {
		t.Errorf("%v", s.Err)
	}

	inner := zipped(t, map[string]string{"main.py": "print(1)"})
	for archives := 1; archives <= 4; archives++ {
		s := finder.File("ann.zip", []byte(inner))
		if taken := s.Err == nil && s.Main == "main.py"; taken != (archives <= maxNested) {
			t.Errorf("in %d archives: %+v", archives, s)
		}
		inner = zipped(t, map[string]string{"ann.zip": inner})
	}
}

// The names of the project were sorted for each line: a file of 400 KB took a minute.
func TestManyIncludesTakeLittleTime(t *testing.T) {
	files := map[string]string{"main.c": strings.Repeat("#include \"x\"\n", 1<<20), "include/y.h": ""}
	for i := range 4000 {
		files[fmt.Sprintf("d/f%d.txt", i)] = ""
	}

	used := processorTime(t)
	if s := finder.File("mallory.zip", []byte(zipped(t, files))); s.Err != nil {
		t.Error(s.Err)
	}
	if took := processorTime(t) - used; took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// The lines of each source were searched again for each other source: nothing was judged for minutes, or hours.
func TestSubmissionsAreReadInLittleTime(t *testing.T) {
	for _, text := range []string{"import x\n", "importx\n", "import a \"../b\n"} {
		for _, sources := range []int{20, 2000} {
			files := map[string]string{}
			for i := range sources {
				files[fmt.Sprintf("d%d/f%d.py", i%7, i)] = strings.Repeat(text, (6<<20)/sources/len(text))
			}

			archive := []byte(zipped(t, files))
			used := processorTime(t)
			finder.File("mallory.zip", archive)
			if took := processorTime(t) - used; took > 10*time.Second {
				t.Errorf("%d sources of %q: it took %v", sources, text, took)
			}
		}
	}
}

// A person's files may have names that look the same when they are written as text.
func TestNamesGetNumbersInLittleTime(t *testing.T) {
	all := make([]Submission, MaxSubmissions)
	for i := range all {
		all[i] = newSubmission(fmt.Sprintf("d%d/main.py", i))
	}

	used := processorTime(t)
	SetNames(all)
	if took := processorTime(t) - used; took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if all[0].Name != "main.py" || all[1].Name != "main.py (2)" || all[len(all)-1].Name != "main.py (10000)" {
		t.Errorf("%q, %q, %q", all[0].Name, all[1].Name, all[len(all)-1].Name)
	}
}
