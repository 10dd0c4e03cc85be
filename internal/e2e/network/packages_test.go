package network

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

const fastsum = `#include <Python.h>
static PyObject *sum(PyObject *self, PyObject *arg) {
	long n = PyLong_AsLong(arg), s = 0;
	for (long i = 1; i <= n; i++) s += i;
	return PyLong_FromLong(s);
}
static PyMethodDef methods[] = {{"sum", sum, METH_O, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fastsum", 0, -1, methods};
PyMODINIT_FUNC PyInit_fastsum(void) { return PyModule_Create(&module); }
`

// Programs compute with packages of three sorts: a wheel with extension modules, a source package that is
// compiled, and a chain of packages. They have no network, and cannot change the packages.
func TestProgramsComputeWithPackages(t *testing.T) {
	a, x := startInstaller(t), newIndex(t)
	x.numpyWheel(t, a)
	x.source(t, "fastsum", "1.0", map[string]string{
		"fastsum.c": fastsum, "backend.py": builtWheel("fastsum", "1.0", `
subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-I" + sysconfig.get_paths()["include"], "fastsum.c", "-o", "out/fastsum" + sysconfig.get_config_var("EXT_SUFFIX")], check=True)`),
	})
	x.wheel(t, "top", "1.0", "", map[string]string{"top.py": "from middle import f\n"}, "middle>=1")
	x.wheel(t, "middle", "1.2", "", map[string]string{"middle.py": "from bottom import f\n"}, "bottom==3.*")
	x.wheel(t, "bottom", "3.1", "", map[string]string{"bottom.py": "def f(x): return 7 * x\n"})
	r := pyWith(x, `
import numpy, fastsum, top, socket
print(numpy.linalg.solve(numpy.array([[2., 1.], [1., 3.]]), numpy.array([3., 5.])).round(6).tolist(), int(numpy.arange(1000).sum()))
print(fastsum.sum(100000), top.f(6))
for what in ["open('/packages/x', 'w')", "open(top.__file__, 'a')", "socket.create_connection(('127.0.0.1', 80))"]:
    try: exec(what); print("done:", what)
    except OSError: print("refused")
`, "numpy==2.*", "fastsum", "top")

	a.Refused(t, r, api.CodePackagesMissing)
	set := mustInstallPackages(t, a, x, r.Requirements...)
	want := "[0.8, 1.4] 499500\n5000050000 42\nrefused\nrefused\nrefused\n"
	for range 2 {
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		if string(res.Stdout) != want {
			t.Errorf("printed %q, %q; want %q", res.Stdout, res.Stderr, want)
		}
		if res.Packages == nil || res.Packages.Key != set.Key || !slices.Contains(res.Packages.Installed, "bottom==3.1") {
			t.Errorf("the result tells %+v; want %s", res.Packages, set.Key)
		}
	}

	r.Requirements = []string{"TOP", "fastsum", "numpy == 2.*"}
	harness.WantVerdict(t, a.MustRun(t, r), api.OK) // the same set
	r.Mode = api.Exclusive
	if res := a.MustRun(t, r); res.Verdict != api.OK || string(res.Stdout) != want {
		t.Errorf("with a copy of the image: %s, %q, %q", res.Verdict, res.Stdout, res.Stderr)
	}

	r.Mode, r.WritableRoot = "", true
	harness.WantVerdict(t, a.MustRun(t, r), api.OK)
	control := harness.Py("import top")
	if res := a.MustRun(t, control); res.Verdict != api.Nonzero || !strings.Contains(string(res.Stderr), "No module named 'top'") {
		t.Errorf("without requirements: %s, %q", res.Verdict, res.Stderr)
	}

	tests := pyWith(x, "import top\nprint(top.f(int(input())))", "top", "fastsum", "numpy==2.*")
	tests.Tests = []api.Test{{ID: "1", Stdin: []byte("2"), Expected: harness.Expected("14")}, {ID: "2",
		Stdin: []byte("3"), Expected: harness.Expected("22")}}
	if res := a.MustRun(t, tests); res.Summary.Accepted != 1 || res.Tests[1].Answer != api.WrongAnswer {
		t.Errorf("tests with packages: %+v", res.Summary)
	}
}

// However many ask for a set at once, it is installed once.
func TestPackagesAreInstalledOnce(t *testing.T) {
	a, x := startInstaller(t, "--slots", "2"), newIndex(t)
	x.wheel(t, "one", "1.0", "", map[string]string{"one.py": "x = 1\n"})
	var all sync.WaitGroup
	keys := make([]string, 8)
	for i := range keys {
		all.Go(func() {
			set, err := installPackages(a, t.Context(), x, "python", "one")
			if err != nil {
				t.Error(err)
			}
			keys[i] = set.Key
		})
	}

	all.Wait()
	if n := x.downloads("one-1.0-py3-none-any.whl"); n != 1 {
		t.Errorf("%d downloads; want one", n)
	}
	if slices.Sort(keys); keys[0] == "" || keys[0] != keys[len(keys)-1] {
		t.Errorf("keys %v", keys)
	}
	if set, err := installPackages(a, t.Context(), x, "python", "one"); err != nil || !set.Cached {
		t.Errorf("asked again: %+v, %v; want the stored set", set, err)
	}
	if err := a.RemovePackages(t.Context(), keys[0]); err != nil {
		t.Error(err)
	}
	if err := a.RemovePackages(t.Context(), keys[0]); !api.HasCode(err, api.CodeNotFound) {
		t.Errorf("removed twice: %v", err)
	}
}

// PKG-04. What cannot be installed is an error with the installer's own words, never a verdict.
func TestPackagesFailInTheInstallersWords(t *testing.T) {
	a, x := startInstaller(t), newIndex(t)
	x.wheel(t, "one", "1.0", "", nil)
	x.wheel(t, "two", "1.0", "", nil, "one==2")
	x.source(t, "broken", "1.0", map[string]string{"backend.py": builtWheel("broken", "1.0", `raise RuntimeError("it does not build")`)})

	for name, tt := range map[string]struct {
		requirements []string
		says         string
	}{
		"no such package": {[]string{"absent"}, "No matching distribution found for absent"},
		"no such version": {[]string{"one==9"}, "from versions: 1.0"},
		"conflict":        {[]string{"one", "two"}, "one==2"},
		"does not build":  {[]string{"broken"}, "it does not build"},
	} {
		_, err := installPackages(a, t.Context(), x, "python", tt.requirements...)
		if !api.HasCode(err, api.CodePackagesFailed) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v; want %q", name, err, tt.says)
		}
	}

	if sets, err := a.PackageSets(t.Context()); err != nil || len(sets) != 0 {
		t.Errorf("stored: %+v, %v", sets, err)
	}
}

// brig run --requirement as documented, brig packages, and a session.
func TestCommandsWithPackages(t *testing.T) {
	a, x := startInstaller(t), newIndex(t)
	x.wheel(t, "series", "2.1", "", map[string]string{"series.py": "def total(n): return n * (n - 1) // 2\n"})
	x.wheel(t, "one", "1.0", "", map[string]string{"one.py": "x = 41\n"})
	dir := t.TempDir()
	for name, text := range map[string]string{
		"stats.py": "import series\nprint(series.total(10))\n", "needed.txt": "# for the test\none==1.0\n",
		"add.py": "import one\nprint(one.x + 1)\n", "absent.py": "pass",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	brig := func(words ...string) (string, string, int) {
		t.Helper()
		cmd := exec.Command(harness.Binary(t, "brig"), words...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "BRIG_SOCKET="+a.Socket, "SANDBOX_PYTHON_INDEX="+x.url)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}

	for i, says := range []string{"brig: installing series==2.*: this happens once\n", ""} {
		if out, errs, code := brig("run", "--requirement", "series==2.*", "stats.py"); out != "45\n" || code != 0 ||
			!strings.HasPrefix(errs, says) || says == "" && errs != "" { // progress follows on a busy machine
			t.Fatalf("run %d: %q, %q, %d", i, out, errs, code)
		}
	}

	if out, errs, code := brig("run", "--requirements", "needed.txt", "add.py"); out != "42\n" || code != 0 {
		t.Errorf("a file of requirements: %q, %q, %d", out, errs, code)
	}
	if out, errs, code := brig("run", "--requirement", "absent", "absent.py"); out != "" || code != 125 ||
		!strings.Contains(errs, "No matching distribution found for absent") {
		t.Errorf("an absent package: %q, %q, %d", out, errs, code)
	}
	if _, errs, code := brig("run", "--requirement", "--pre", "absent.py"); code != 125 || !strings.Contains(errs, "no name of a package") {
		t.Errorf("an option: %q, %d", errs, code)
	}
	if out, errs, code := brig("packages", "warm", "-l", "python", "one==1.0"); code != 0 || !strings.Contains(out, "one==1.0") {
		t.Errorf("warm: %q, %q, %d", out, errs, code)
	}

	out, _, _ := brig("packages", "ls")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "KEY") || !strings.Contains(out, "series==2.*") {
		t.Fatalf("ls: %q", out)
	}

	id, errs, code := brig("session", "create", "--language", "python", "--requirement", "one")
	if code != 0 {
		t.Fatalf("session create: %q, %d", errs, code)
	}

	id = strings.TrimSpace(id)
	if out, errs, code := brig("session", "exec", id, "--", "python3", "-c", "import one; print(one.x)"); out != "41\n" || code != 0 {
		t.Errorf("session exec: %q, %q, %d", out, errs, code)
	}

	sets, err := a.PackageSets(t.Context())
	if err != nil || len(sets) != 3 {
		t.Fatalf("%d sets, %v", len(sets), err)
	}

	for _, s := range sets {
		if _, errs, code := brig("packages", "rm", s.Key[:10]); code != 0 {
			t.Errorf("rm: %q, %d", errs, code)
		}
	}

	// PKG-10. The session keeps its packages, and a new run has none.
	if out, errs, code := brig("session", "exec", id, "--", "python3", "-c", "import one; print(one.__file__)"); !strings.HasPrefix(out,
		"/packages/") || code != 0 {
		t.Errorf("session exec after rm: %q, %q, %d", out, errs, code)
	}

	a.Refused(t, pyWith(x, "import one", "one"), api.CodePackagesMissing)
	if _, errs, code := brig("session", "rm", id); code != 0 {
		t.Error(errs)
	}
	if out, _, _ := brig("packages", "ls"); strings.Count(out, "\n") != 1 {
		t.Errorf("ls after rm: %q", out)
	}
	if out, errs, code := brig("run", "--index", strings.Replace(x.url, "127.0.0.1", "localhost", 1), "--requirement", "one",
		"add.py"); out != "42\n" || code != 0 {
		t.Errorf("an index by name: %q, %q, %d", out, errs, code)
	}
	if _, errs, code := brig("packages", "rm", "abc"); code == 0 || !strings.Contains(errs, "there is no set of packages") {
		t.Errorf("rm of nothing: %q, %d", errs, code)
	}
}
