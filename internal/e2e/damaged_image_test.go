package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// The program of an image whose files were damaged on the disk ends by a signal, or cannot be executed. That is
// an error of brig's wherever programs run, and no verdict. Then no run of the image begins until it is stored again.
func TestDamagedImages(t *testing.T) {
	run := func(a *agent, r api.Run) error {
		_, err := a.Client.Run(a.t.Context(), r)
		return err
	}
	for name, place := range map[string]func(a *agent) error{
		"a run": func(a *agent) error { return run(a, inFragile()) },
		"a run of mode exclusive": func(a *agent) error {
			r := inFragile()
			r.Mode = api.Exclusive
			return run(a, r)
		},
		"a test": func(a *agent) error {
			r := inFragile()
			r.Tests = []api.Test{{ID: "1"}, {ID: "2"}}
			return run(a, r)
		},
		"a checker": func(a *agent) error {
			r := sh("echo 1")
			r.Tests = []api.Test{{ID: "1", Expected: expected("1\n")}}
			r.Check = &api.Check{Program: api.Program{Image: "fragile", Argv: []string{"/accept"}}, Protocol: api.ProtocolKattis}
			return run(a, r)
		},
		"an exec": func(a *agent) error {
			s, err := a.CreateSession(a.t.Context(), api.SessionRequest{Image: "fragile"})
			if err != nil {
				return err
			}
			_, err = a.Client.Exec(a.t.Context(), s.ID, api.Exec{Argv: []string{"/accept"}})
			return errors.Join(err, a.DeleteSession(a.t.Context(), s.ID))
		},
	} {
		for how, damage := range map[string]func(file string) error{
			"cut": func(file string) error { return os.Truncate(file, 100_000) },
			"overwritten": func(file string) error {
				f, err := os.OpenFile(file, os.O_WRONLY, 0)
				if err != nil {
					return err
				}
				defer f.Close()
				_, err = f.WriteAt(make([]byte, 200_000), 0)
				return err
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				data := publicDir(t, "brig-data-")
				a := startAgentWith(t, data, "--slots", "1")
				images.load(t, a, "tiny")
				tree := importFragile(t, a)
				if err := place(a); err != nil {
					t.Fatalf("before it is damaged: %v", err)
				}

				if err := damage(filepath.Join(tree, "accept")); err != nil {
					t.Fatal(err)
				}

				err := place(a)
				for deadline := patience(); name == "a checker" && !api.HasCode(err, api.CodeImageDamaged) && time.Now().Before(deadline); {
					err = place(a) // its exit code 42 had the image looked at a moment ago
				}

				if !api.HasCode(err, api.CodeImageDamaged) || !strings.Contains(err.Error(), `image fragile are not as they were imported ("accept")`) {
					t.Errorf("%v; want the error image-damaged that names the file", err)
				}
				if err := run(a, inFragile()); !api.HasCode(err, api.CodeImageDamaged) {
					t.Errorf("the next run: %v", err)
				}

				wantVerdict(t, a.run(t, sh("exit 3")), api.Nonzero) // of another image

				h, err := a.Health(t.Context())
				if err != nil || len(h.ImagesDamaged) != 1 {
					t.Errorf("health names the damaged images %q, %v", h.ImagesDamaged, err)
				}

				out, err := exec.Command(binary(t, "brig"), "doctor", "--socket", a.socket).CombinedOutput()
				if err == nil || !bytes.Contains(out, []byte("1 stored images are damaged")) {
					t.Errorf("brig doctor: %v\n%s", err, out)
				}
				if !strings.Contains(a.log.String(), "an image is damaged") {
					t.Errorf("the log does not say so:\n%s", a.log)
				}

				importFragile(t, a)
				if err := place(a); err != nil {
					t.Errorf("after it was imported again: %v", err)
				}
			})
		}
	}
}

func inFragile() api.Run { return api.Run{Image: "fragile", Argv: []string{"/accept"}} }

// importFragile stores an image with one program, which ends well, and accepts as a checker. It returns the path of its
// tree.
func importFragile(t *testing.T, a *agent) (tree string) {
	t.Helper()
	return a.importImage(t, "fragile", compileC(t, "accept", `int main(int argc, char **argv) { return argc > 1 ? 42 : 0; }`), 0o755)
}
