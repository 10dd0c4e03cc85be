package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/seccomp"
)

// runcRun writes a bundle of a command in the tiny image, runs it with plain runc and returns its
// output and exit code.
func runcRun(t *testing.T, dir string, flags []string, argv ...string) (out string, code int) {
	t.Helper()
	_, out, code = bundleRun(t, "runc", dir, flags, argv...)
	return out, code
}

// bundleRun writes a bundle of a command in the tiny image and runs it with a plain runtime. It
// returns what brig bundle said, and the output and exit code of the command.
func bundleRun(t *testing.T, runtime, dir string, flags []string, argv ...string) (notes, out string, code int) {
	t.Helper()
	b := filepath.Join(dir, fmt.Sprintf("b%d", time.Now().UnixNano()))
	args := append([]string{"bundle", "--runtime", runtime, "--data-dir", harness.DataDir(t), "--rootfs", "tiny"}, flags...)
	args = append(append(args, b, "--"), argv...)
	said, err := exec.Command(harness.Binary(t, "brig"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("brig bundle: %v\n%s", err, said)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, testenv.NeedTool(t, runtime, runtime),
		"--root", filepath.Join(dir, "state"), "run", "--bundle", b, "brig-"+filepath.Base(b))
	var stdout bytes.Buffer
	cmd.Stdin = strings.NewReader("") // a pipe: runc 1.1.5 gives stdin to the user of the container, also the host's /dev/null
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(said), stdout.String(), cmd.ProcessState.ExitCode()
}

// A bundle under runc has the same restrictions: a program that inspects itself gets the same
// answers as under brig.
func TestBundleUnderRuncHasTheSamePosture(t *testing.T) {
	a := harness.StartAgent(t)
	const ask = `id; pwd; env | sort; grep -E '^(Cap|NoNewPrivs|Seccomp:|Groups)' /proc/self/status
ls /; ls /proc | grep -v '^[0-9]'; ulimit -c; ulimit -n; ulimit -l; ls /proc/self/fd | wc -l
cat /proc/net/dev 2>&1 | grep -c :; touch /x 2>&1; echo 1 > /box/f && cat /box/f; hostname`
	want := string(a.MustRun(t, harness.Sh(ask)).Stdout)
	got, code := runcRun(t, a.Dir, nil, "/bin/sh", "-c", ask)
	if code != 0 || !strings.Contains(got, "uid=1000(sandboxuser)") || !strings.Contains(got, "Seccomp:\t2") {
		t.Errorf("exit code %d; want 0, the sandbox user and a filter", code)
	}
	if got != want {
		t.Errorf("under runc:\n%s\nunder brig:\n%s", got, want)
	}
}

func TestBundleUnderRuncKeepsItsLimits(t *testing.T) {
	a := harness.StartAgent(t)
	for _, c := range []struct {
		name   string
		flags  []string
		script string
		code   int
		out    string
	}{
		{"memory", []string{"--memory", "16M"}, "x=$(yes | head -c 100000000); echo survived", 137, ""},
		{"scratch", []string{"--scratch", "1M"}, "head -c 5000000 /dev/zero > /box/f 2>/dev/null; wc -c < /box/f", 0, "1048576"},
		{"denied", nil, "exec pivot_root /tmp /tmp", 159, ""},
		{"size of a file", []string{"--file-size", "1M"}, "head -c 5000000 /dev/zero > /box/f; wc -c < /box/f", 0, "1048576"},
		{"exit code", nil, "exit 7", 7, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, code := runcRun(t, a.Dir, c.flags, "/bin/sh", "-c", c.script)
			if code != c.code || strings.TrimSpace(out) != c.out {
				t.Errorf("exit code %d, output %q; want %d and %q", code, out, c.code, c.out)
			}
		})
	}
}

// A flag after OUT_DIR becomes the first word of the command. That is hardly ever intended, so brig
// warns. No image has such a program.
func TestBundleWarnsOfFlagsAfterTheDirectory(t *testing.T) {
	a := harness.StartAgent(t)
	b := filepath.Join(a.Dir, "foreign")
	out, err := exec.Command(harness.Binary(t, "brig"), "bundle", "--data-dir", harness.DataDir(t), "--rootfs", "tiny",
		b, "--memory", "64M", "--",
		"true").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "note: --memory went to the program") ||
		!strings.Contains(string(out), `no program "--memory"`) {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(b); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a bundle was written: %v", err)
	}
}

// A bundle of every tier starts under plain runc. Under the filter runc itself makes calls that
// strict refuses: brig bundle allows them and says so in one line.
func TestBundleRunsUnderEveryTier(t *testing.T) {
	a := harness.StartAgent(t)
	for _, tier := range seccomp.Tiers() {
		t.Run(tier, func(t *testing.T) {
			notes, out, code := bundleRun(t, "runc", a.Dir, []string{"--profile", tier}, "/bin/echo", "started")
			if code != 0 || out != "started\n" {
				t.Errorf("exit code %d, output %q; want 0 and started", code, out)
			}
			const note = "profile strict also allows fstatfs and getdents64, because runc itself makes these calls"
			if strings.Contains(notes, note) != (tier == "strict") {
				t.Errorf("brig bundle said %q", notes)
			}
		})
	}
}

func TestBundleRefusesAnUnknownRuntime(t *testing.T) {
	a := harness.StartAgent(t)
	b := filepath.Join(a.Dir, "none")
	out, err := exec.Command(harness.Binary(t, "brig"), "bundle", "--runtime", "runsc", "--data-dir", harness.DataDir(t),
		"--rootfs", "tiny", b,
		"true").CombinedOutput()
	if err == nil || !strings.Contains(string(out), `runtime "runsc": its calls under the filter are not known: use runc or crun`) {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(b); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a bundle was written: %v", err)
	}
}

// A command that is not in the image is no command of a bundle: no file of this host is placed.
func TestBundleRefusesAFileOfThisHost(t *testing.T) {
	a := harness.StartAgent(t)
	file := filepath.Join(a.Dir, "hello.py")
	if err := os.WriteFile(file, []byte("print(1)\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct{ word, want string }{
		{file, "a bundle takes no files of this host: give the text as an argument"},
		{"nosuch", "has no program \"nosuch\": name a command of the image"},
	} {
		b := filepath.Join(a.Dir, "none")
		out, err := exec.Command(harness.Binary(t, "brig"), "bundle", "--data-dir", harness.DataDir(t), "--rootfs", "tiny",
			b, tt.word).CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: %v\n%s\nwant %s", tt.word, err, out, tt.want)
		}
		if _, err := os.Stat(b); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a bundle was written: %v", tt.word, err)
		}
	}
}
