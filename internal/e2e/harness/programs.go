package harness

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// CompileC builds a static program from source and returns it as an input file.
func CompileC(t testing.TB, name, source string) api.File {
	t.Helper()
	return api.File{Name: name, Content: CompileBinary(t, source, "-static", "-O0", "-pthread", "-w"), Executable: true}
}

// CompileBinary is what gcc makes of source. It is kept next to the images for machines in software
// emulation, where each compilation takes seconds: those set $BRIG_TEST_PROGRAMS, and compile only
// what is not there.
func CompileBinary(t testing.TB, source string, flags ...string) []byte {
	t.Helper()
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(append(flags, source), "\x00"))))
	if dir := os.Getenv("BRIG_TEST_PROGRAMS"); dir != "" {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return content
		}
	}

	testenv.NeedTool(t, "gcc", "gcc")
	dir := t.TempDir()
	src, out := filepath.Join(dir, "program.c"), filepath.Join(dir, "program")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("gcc", append(flags, "-o", out, src)...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, said)
	}

	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("BRIG_TEST_PROGRAMS") == "" {
		saveProgram(t, name, content)
	}
	return content
}

// saveProgram writes a program whole or not at all.
func saveProgram(t testing.TB, name string, content []byte) {
	t.Helper()
	dir := filepath.Join(DataDir(t), "programs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, fmt.Sprintf("new-%d", os.Getpid()))
	if err := os.WriteFile(half, content, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(half, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// CopyFile copies a binary that make build has made.
func CopyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(testenv.NeedFile(t, from, "run make build first"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o755); err != nil {
		t.Fatal(err)
	}
}
