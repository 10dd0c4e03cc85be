package languages

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// differsBare are programs that say what they see of the machine.
var differsBare = []string{"machine", "processes", "processors", "memory", "loop", "sleep"}

// A program of .NET in a sandbox prints what it prints without one, byte for byte, and ends with the same exit code. The
// runtime asks the kernel for much, and takes another way without a word where it is refused.
func TestDotnetIsAsBare(t *testing.T) {
	testenv.NeedRoot(t)
	a := harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m")
	compared, some := 0, harness.NewShare(24)
	for _, l := range harness.BuiltinLanguages(t) {
		if l.Image != "dotnet" || !harness.Chosen(l.Name, harness.LanguageTests[l.Name].OnlyAll) {
			continue
		}

		harness.Images.Load(t, a, l.Image)
		store, err := rootfs.Open(filepath.Join(a.Data, "images"))
		if err != nil {
			t.Fatal(err)
		}

		image, err := store.Lookup(l.Image)
		if err != nil {
			t.Fatal(err)
		}

		programs, err := filepath.Glob(filepath.Join(harness.LanguagePrograms, l.Name, "*."+l.Extensions[0]))
		if err != nil || len(programs) < 10 {
			t.Fatalf("%v, %v", programs, err)
		}

		for _, path := range programs {
			name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
			if slices.Contains(differsBare, name) || some.LeavesOut(l.Name) {
				continue
			}

			compared++
			t.Run(l.Name+"/"+name, func(t *testing.T) {
				run, _ := languageRun(t, l, name)
				run.Stdin = api.Bytes("3 4\n5 6\n")
				run.Limits = api.Limits{CPU: harness.Slowly(60), Wall: harness.Slowly(60)}
				res := a.MustRun(t, run)
				output, code := runBare(t, image, l, run)
				if got := append(slices.Clone(res.Stdout), res.Stderr...); !bytes.Equal(got, output) || code != shellCode(res) {
					t.Errorf("in a sandbox %q, exit code %d; bare %q, exit code %d", got, shellCode(res), output, code)
				}
			})
		}
	}

	if compared == 0 && os.Getenv("BRIG_TEST_LANGUAGES") == "" {
		t.Error("no program was compared")
	}
}

// shellCode is the exit code with which a shell reports the end of a run.
func shellCode(res api.Result) int {
	if res.Signal > 0 {
		return 128 + res.Signal
	}
	return res.ExitCode
}

// runBare compiles and runs a program as the manifest says, in the tree of an image, without a sandbox: as root, with a
// /proc and a /tmp of a mount namespace of its own.
func runBare(t *testing.T, img rootfs.Image, l languages.Manifest, r api.Run) (output []byte, code int) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"up", "work", "root", "box"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(filepath.Join(dir, "box", l.SourceFile), r.Source, 0o644); err != nil {
		t.Fatal(err)
	}

	trees := []string{img.Path} // topmost first, as overlayfs takes them
	for _, layer := range slices.Backward(img.Layers) {
		trees = append(trees, layer.Path)
	}

	words := languages.Placeholders{Source: l.SourceFile, Sources: []string{l.SourceFile}, Flags: l.DefaultFlags,
		Memory: api.Defaults().Memory}

	stage := func(command []string, env map[string]string, stdin []byte) ([]byte, int) {
		const enter = `mount -t overlay -o lowerdir="$1",upperdir="$2/up",workdir="$2/work" overlay "$2/root"
mkdir -p "$2/root/box" "$2/root/proc" "$2/root/dev" "$2/root/tmp"
mount --bind "$2/box" "$2/root/box"
mount -t proc proc "$2/root/proc"
mount --rbind /dev "$2/root/dev"
root=$2/root
shift 2
exec chroot "$root" /bin/sh -c 'cd /box && exec "$@"' bare "$@"`

		args := []string{"--mount", "--propagation", "private", "sh", "-ec", enter, "bare", strings.Join(trees, ":"), dir}
		cmd := exec.Command("unshare", append(args, words.Expand(command, nil)...)...)
		cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/tmp", "LANG=C.UTF-8"}
		for name, value := range words.ExpandEnv(env) {
			cmd.Env = append(cmd.Env, name+"="+value)
		}

		var stdout, stderr bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr

		err := cmd.Run()
		var failed *exec.ExitError
		if err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}

		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		code := status.ExitStatus()
		if status.Signaled() {
			code = 128 + int(status.Signal())
		}
		return append(stdout.Bytes(), stderr.Bytes()...), code
	}

	if len(l.Compile) > 0 {
		if output, code = stage(l.Compile, l.CompileEnv, nil); code != 0 {
			return output, code
		}
	}

	return stage(l.Run, l.Env, r.Stdin)
}
