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
