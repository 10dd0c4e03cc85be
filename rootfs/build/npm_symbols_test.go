package build

import (
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A program whose symbols are cut off is smaller, ends with the last byte that is loaded, and runs.
func TestCutSymbols(t *testing.T) {
	if err := needTools("npm"); err != nil {
		if os.Getenv("BRIG_TEST_MUST") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}

	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-euc", cutSymbols+`cut_symbols "$1"`, "sh", program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	cut, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}

	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	var end uint64
	for _, p := range f.Progs {
		end = max(end, p.Off+p.Filesz)
		if got, err := io.ReadAll(p.Open()); err != nil || uint64(len(got)) != p.Filesz {
			t.Errorf("a segment of %d bytes has %d, %v", p.Filesz, len(got), err)
		}
	}

	if len(f.Sections) > 0 || uint64(len(cut)) != end || len(cut) >= len(text) {
		t.Errorf("%d of %d bytes with %d sections; want %d", len(cut), len(text), len(f.Sections), end)
	}
	if out, err := exec.Command(program, "-test.run", "^$").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
