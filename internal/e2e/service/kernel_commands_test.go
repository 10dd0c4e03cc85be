package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of kernels: cells of a line, a file and standard input, with their output, pictures and exit codes.
func TestKernelCommands(t *testing.T) {
	s, keys, id := pythonSession(t)
	brig := commands(t, s.Url, keys["ann"])
	want := func(stdin, out, errs string, code int, args ...string) {
		t.Helper()
		gotOut, gotErrs, gotCode := brig(stdin, append([]string{"session", "kernel"}, args...)...)
		if gotOut != out || !strings.Contains(gotErrs, errs) || (errs == "") != (gotErrs == "") || gotCode != code {
			t.Errorf("%q: %q, %q, exit code %d, want %q, %q, %d", args, gotOut, gotErrs, gotCode, out, errs, code)
		}
	}

	made, errs, code := brig("", "session", "kernel", "start", "--cwd", "/tmp", "-e", "WHO=ann", id)
	k := strings.TrimSuffix(made, "\n")
	if code != 0 || k == "" || errs != "" {
		t.Fatalf("start: %q, %q, exit code %d", made, errs, code)
	}
	want("", "", "", 0, "exec", "-c", "x = 20", id, k)
	want("", "hi\n21\n", "", 0, "exec", "-c", "print('hi')\nx + 1", id, k)
	want("import os\nprint(os.getcwd(), os.environ['WHO'])", "/tmp ann\n", "", 0, "exec", id, k, "-")
	want("", "", "NameError: name 'y' is not defined", 1, "exec", "-c", "y", id, k)
	want("", "", "the cell ended: timeout", 124, "exec", "--timeout", "200ms", "-c", "while True: pass", id, k)
	want("", "", "answers no calls", 1, "exec", "-c", "ask('add', 1)", id, k)
	want("", `{"type":"start","count":7}`+"\n"+`{"type":"result","data":{"text/plain":"20"}}`+"\n"+
		`{"type":"end","status":"ok"}`+"\n", "", 0, "exec", "--json", "-c", "x", id, k)

	dir := t.TempDir()
	code1 := "class P:\n  def _repr_png_(self): return b'\\x89PNG'\nP()"
	if err := os.WriteFile(filepath.Join(dir, "plot.py"), []byte(code1), 0o600); err != nil {
		t.Fatal(err)
	}
	want("", "", "wrote", 0, "exec", "--out", filepath.Join(dir, "out"), id, k, filepath.Join(dir, "plot.py"))
	if b, err := os.ReadFile(filepath.Join(dir, "out", "8-1.png")); err != nil || string(b) != "\x89PNG" {
		t.Errorf("the picture: %q, %v", b, err)
	}

	if list, _, _ := brig("", "session", "kernel", "ls", id); !strings.Contains(list, k+"  idle   python    8") {
		t.Errorf("ls: %q", list)
	}
	want("", "", "", 0, "interrupt", id, k)
	want("", "", "", 0, "restart", id, k)
	want("", "False\n", "the interpreter is a fresh one", 0, "exec", "-c", "'x' in globals()", id, k)
	want("", "", "died: the interpreter has ended with exit status 3", 1, "exec", "-c", "import os; os._exit(3)", id, k)
	want("", "", "", 0, "rm", id, k)

	for _, args := range [][]string{
		{"exec", "-c", "1", id, k}, {"exec", id, k}, {"start", "--language", "cobol", id}, {"start", "-e", "A", id}, {"rm", id},
	} {
		if out, errs, code := brig("", append([]string{"session", "kernel"}, args...)...); code == 0 || out != "" || errs == "" {
			t.Errorf("%q: %q, %q, exit code %d", args, out, errs, code)
		}
	}
}
