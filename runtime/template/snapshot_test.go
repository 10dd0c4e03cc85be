package template

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// libraries is how many libraries the program of these tests has: its memory is in more pieces than Linux
// 6.1 takes program headers.
const libraries = 30

// One library changes the control word of the floating-point units when it is loaded, as those that are
// compiled with -ffast-math do, and makes as many mappings as the variable PIECES says.
const firstLibrary = `#include <stdlib.h>
#include <sys/mman.h>
__attribute__((constructor)) static void begin(void) {
	unsigned word; __asm__("stmxcsr %0" : "=m"(word)); word |= 0x8040; __asm__ volatile("ldmxcsr %0" : : "m"(word));
	long n = getenv("PIECES") ? atol(getenv("PIECES")) : 0;
	char *p = mmap(0, (n + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (long i = 0; i < n; i++) { p[i * 4096] = 1; if (i % 2) mprotect(p + i * 4096, 4096, PROT_READ); }
}
`

// linkedProgram compiles a program that is linked to these libraries. It prints what they return, whether the
// C library finds each by its address, and the control word.
func linkedProgram(t *testing.T) string {
	t.Helper()
	testenv.NeedTool(t, "gcc", "gcc")
	dir := t.TempDir()
	compile := func(name, source string, args ...string) {
		t.Helper()
		path := filepath.Join(dir, name+".c")
		if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("gcc",
			append([]string{"-O1", "-o", filepath.Join(dir, name), path}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
	}

	declared, called, link := "", "", []string{"-L" + dir, "-Wl,-rpath," + dir, "-Wl,--no-as-needed"}
	for i := range libraries {
		source := fmt.Sprintf("int v%d = %d; int f%d(void) { return v%d++; }\n", i, i, i, i)
		if i == 0 {
			source += firstLibrary
		}
		compile(fmt.Sprintf("lib%d.so", i), source, "-shared", "-fPIC")
		declared += fmt.Sprintf("int f%d(void);\n", i)
		called += fmt.Sprintf("	printf(\"%%d %%d\\n\", f%d(), _dl_find_object((void *)f%d, object));\n", i, i)
		link = append(link, fmt.Sprintf("-l:lib%d.so", i))
	}

	compile("program", `#include <stdio.h>
int _dl_find_object(void *address, void *object);
`+declared+`int main(int argc, char **argv) {
	void *object[16]; unsigned word; __asm__("stmxcsr %0" : "=m"(word));
`+called+`	printf("%x %d %s\n", word, argc, argv[argc - 1]);
	return 3;
}
`, link...)

	return filepath.Join(dir, "program")
}

// snapshotOf has the driver write a snapshot of a program, and returns its path and what the driver prints.
func snapshotOf(t *testing.T, program string, env ...string) (path, said string) {
	t.Helper()
	dir := t.TempDir()
	driver := filepath.Join(dir, "loader.so")
	if err := os.WriteFile(driver, loader, 0o755); err != nil {
		t.Fatal(err)
	}

	path = filepath.Join(dir, "snapshot")

	// A process with open files makes no snapshot, and this one may have inherited some.
	if err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(program)
	cmd.Env = append(env, "BRIG_TEMPLATE="+path, "LD_PRELOAD="+driver)
	out, err := cmd.CombinedOutput()
	if err == nil {
		err = os.Chmod(path, 0o755)
	}
	if err != nil {
		return "", string(out)
	}
	return path, ""
}

// beginFrom returns a command that begins from a snapshot, which is its descriptor 3.
func beginFrom(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	cmd := exec.Command(path)
	cmd.ExtraFiles = []*os.File{f}
	return cmd
}

// A program goes on from a snapshot as it begins without one: in more pieces than one table of program
// headers has, with each library where the C library looks for it, and with its control words.
func TestSnapshotOfLinkedProgram(t *testing.T) {
	program := linkedProgram(t)
	run := func(cmd *exec.Cmd) string {
		cmd.Args = append(cmd.Args, "x", "y z")
		out, err := cmd.CombinedOutput()
		return fmt.Sprint(string(out), err)
	}

	want := run(exec.Command(program))
	if !strings.Contains(want, "29 0\n") || !strings.Contains(want, "9fc0 3 y z\nexit status 3") {
		t.Fatalf("without a snapshot: %s", want)
	}

	path, said := snapshotOf(t, program)
	if said != "" {
		t.Fatal(said)
	}

	for range 10 {
		if got := run(beginFrom(t, path)); got != want {
			t.Errorf("from a snapshot: %s; want %s", got, want)
		}
	}
}

// Memory in very many pieces makes no snapshot, or one that works, and never one that crashes.
func TestSnapshotOfManyPieces(t *testing.T) {
	program := linkedProgram(t)
	made := map[bool]int{}
	for pieces := 700; pieces <= 1100; pieces += 6 { // without the bound seven numbers crash
		path, said := snapshotOf(t, program, fmt.Sprintf("PIECES=%d", pieces))
		made[said == ""]++
		if said != "" {
			if !strings.Contains(said, "the memory is in too many pieces") {
				t.Errorf("%d: %s", pieces, said)
			}
			continue
		}

		cmd := beginFrom(t, path)
		cmd.Args = append(cmd.Args, "x")
		if out, _ := cmd.CombinedOutput(); !strings.HasSuffix(string(out), "9fc0 2 x\n") {
			t.Errorf("%d: %s, %s", pieces, out, cmd.ProcessState)
		}
	}

	if made[true] == 0 || made[false] == 0 {
		t.Errorf("snapshots were made and refused: %v; want both", made)
	}
}
