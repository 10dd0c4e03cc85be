package packaging

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakePrograms makes a directory of shell scripts that stand for programs, and a PATH that
// begins with it.
func fakePrograms(t *testing.T, scripts map[string]string) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+scripts[name]+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir, "PATH=" + dir + ":" + os.Getenv("PATH")
}

// The installation of missing packages shows the progress of apt-get, and its errors.
func TestInstallDepsSaysWhatItDoes(t *testing.T) {
	apt := `[ "$1" = update ] && exit 0
echo 'Reading package lists...'
echo 'Need to get 7,000 kB of archives.'
echo 'Get:1 http://deb.debian.org/debian bookworm/main amd64 zstd amd64 1.5 [604 kB]'
echo '(Reading database ... 5%'
echo 'Setting up zstd (1.5) ...'`

	run := func(apt string) (string, error) {
		_, path := fakePrograms(t, map[string]string{"dpkg-query": "exit 1", "id": "echo 0", "go": "", "apt-get": apt})
		c := exec.CommandContext(t.Context(), "../../.ci/install-deps", "build")
		c.Env = append(os.Environ(), path)
		out, err := c.CombinedOutput()
		return string(out), err
	}

	out, err := run(apt)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	for _, part := range []string{"install-deps: installing gcc ", "\nNeed to get 7,000 kB", "\nGet:1 http", "\nSetting up zstd",
		"\ninstall-deps: installed\n"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing in:\n%s", part, out)
		}
	}

	if strings.Contains(out, "Reading") {
		t.Errorf("it says more than how far it is:\n%s", out)
	}
	if out, err = run(apt + "\necho 'E: no space left' >&2; exit 100"); err == nil || !strings.Contains(out, "E: no space left") ||
		strings.Contains(out, "installed\n") {
		t.Errorf("apt-get failed: %v\n%s", err, out)
	}
}

// The demo reports that the first build is still running, as long as it runs and no longer.
func TestDemoTicksWhileItBuilds(t *testing.T) {
	demo, err := os.ReadFile("../../.ci/demo")
	if err != nil {
		t.Fatal(err)
	}

	const tick = " s elapsed, making what bin/brig needs\n"
	for name, test := range map[string]struct {
		make  string
		works bool
	}{
		"a build that works": {"/bin/sleep 0.7", true},
		"one that does not":  {"/bin/sleep 0.7; echo 'no compiler' >&2; exit 2", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir, path := fakePrograms(t, map[string]string{
				"id":    "echo 0",
				"sleep": "exec /bin/sleep 0.2", // whatever time is requested
				"make":  test.make,
				"brig":  `case "$*" in *bytearray*) exit 137;; *'while True'*) exit 124;; *ptrace*) exit 159;; esac; echo brig ran; exec /bin/sleep 0.1`,
			})

			clone := filepath.Join(dir, ".ci")
			if err := os.Mkdir(clone, 0o755); err != nil {
				t.Fatal(err)
			}

			for name, text := range map[string]string{"demo": string(demo), "install-deps": "#!/bin/sh\n"} {
				if err := os.WriteFile(filepath.Join(clone, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}

			c := exec.CommandContext(t.Context(), ".ci/demo")
			c.Dir, c.Env = dir, append(os.Environ(), path)
			said, err := c.CombinedOutput() // returns when the last process that writes has ended
			out := string(said)
			if (err == nil) != test.works || !strings.Contains(out, "a minute or two") || !strings.Contains(out, tick) {
				t.Fatalf("%v\n%s", err, out)
			}

			_, after, ran := strings.Cut(out, "brig ran")
			_, rest, _ := strings.Cut(out, "no compiler\n") // one tick may come while the build that failed ends
			if ran != test.works || strings.Contains(after, tick) ||
				!test.works && (strings.Count(rest, tick) > 1 || !strings.Contains(out, "no compiler\n")) {
				t.Errorf("it goes on:\n%s", out)
			}
		})
	}
}
