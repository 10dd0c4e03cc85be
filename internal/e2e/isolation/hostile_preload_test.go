package isolation

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// SEC-33: code that a caller has executed before the program, by the loader, the shell or the
// interpreter, runs under the whole filter, like the program. There is no earlier moment: the
// filter is loaded before execve.
func TestHostilePreloads(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	files := []api.File{
		preload(t),
		{Name: "env.sh", Content: []byte("while read -r k v; do case $k in Seccomp:|Seccomp_filters:) echo \"$PRE " +
			"env $k $v\";; esac; done </proc/$$/status\n")},
		{Name: "sitecustomize.py", Content: []byte(printSeccompStatus("sitecustomize"))},
		{Name: "startup.py", Content: []byte(printSeccompStatus("startup"))},
	}

	for _, tt := range []struct {
		name, image   string
		argv          []string
		env           map[string]string
		inside, among []string // what it prints in a run, and outside
	}{
		{"LD_PRELOAD", "python", []string{"python3", "-c", "print('main')"}, map[string]string{"LD_PRELOAD": "./preload.so"},
			[]string{"preload 97\n", "main\n"}, []string{"preload 0\n"}},
		{"sitecustomize", "python", []string{"python3", "-c", "print('main')"}, map[string]string{"PYTHONPATH": "."},
			[]string{"sitecustomize Seccomp: 2\n", "sitecustomize Seccomp_filters: 2\n", "main\n"}, []string{"sitecustomize Seccomp: 0\n"}},
		{"PYTHONSTARTUP", "python", []string{"python3", "-i"}, map[string]string{"PYTHONSTARTUP": "./startup.py"},
			[]string{"startup Seccomp: 2\n", "startup Seccomp_filters: 2\n"}, []string{"startup Seccomp: 0\n"}},
		{"ENV", "tiny", []string{"busybox", "sh", "-i", "-c", "echo main"}, map[string]string{"ENV": "./env.sh", "PRE": "the"},
			[]string{"the env Seccomp: 2\n", "the env Seccomp_filters: 2\n", "main\n"}, []string{"the env Seccomp: 0\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			outside := runUnconfined(t, files, tt.argv, tt.env)
			for _, want := range tt.among {
				if !bytes.Contains(outside, []byte(want)) {
					t.Errorf("outside, %q is missing: the test proves nothing\n%s", want, outside)
				}
			}

			harness.Both(t, func(t *testing.T, mode api.Mode) {
				res := a.MustRun(t, api.Run{Image: tt.image, Argv: tt.argv, Env: tt.env, Files: files, Mode: mode})
				harness.WantVerdict(t, res, api.OK)
				for _, want := range tt.inside {
					if !bytes.Contains(res.Stdout, []byte(want)) {
						t.Errorf("%q is missing:\n%s%s", want, res.Stdout, res.Stderr)
					}
				}
			})
		})
	}
}

// printSeccompStatus is Python code that prints the seccomp fields of its process.
func printSeccompStatus(who string) string {
	return "for line in open('/proc/self/status'):\n    if line.startswith('Seccomp'): print('" + who + "', *line.split(), flush=True)\n"
}

// preload is a library whose constructor prints the answer of socket(2).
func preload(t *testing.T) api.File {
	t.Helper()
	content := harness.CompileBinary(t,
		`static long call(long n, long a, long b, long c) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); return r; }
__attribute__((constructor)) static void first(void) { char line[] = "preload 00\n"; long r = call(41, 1, 1, 0), e = r < 0 ? -r : 0; int n = 8;
	if (e > 9) line[n++] = '0' + e / 10; line[n++] = '0' + e % 10; line[n++] = '\n'; call(1, 1, (long)line, n); }
`, "-shared", "-fPIC", "-nostdlib", "-O1", "-w")
	return api.File{Name: "preload.so", Content: content}
}

// runUnconfined runs argv bare, as nobody, with the given files.
func runUnconfined(t *testing.T, files []api.File, argv []string, env map[string]string) []byte {
	t.Helper()
	dir := harness.PublicDir(t, "hostile-preload-")
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Content, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	ctx, cancel := context.WithDeadline(t.Context(), harness.Patience())
	defer cancel()

	t.Setenv("PATH", "/usr/bin:/bin") // nobody may not enter the homes of others
	cmd := exec.CommandContext(ctx, testenv.NeedTool(t, argv[0], argv[0]), argv[1:]...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin"}
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}

	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Setsid: true}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("outside: %v\n%s", err, out)
	}
	return out
}
