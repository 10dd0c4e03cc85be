package images

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The program of an image whose files were damaged on the disk ends by a signal, or cannot be executed. That is
// an error of brig's wherever programs run, and no verdict. Then no run of the image begins until it is stored again.
func TestDamagedImages(t *testing.T) {
	run := func(a *harness.Agent, r api.Run) error {
		_, err := a.Client.Run(a.T.Context(), r)
		return err
	}
	places := map[string]func(a *harness.Agent) error{
		"a run": func(a *harness.Agent) error { return run(a, inFragile()) },
		"a run of mode exclusive": func(a *harness.Agent) error {
			r := inFragile()
			r.Mode = api.Exclusive
			return run(a, r)
		},
		"a test": func(a *harness.Agent) error {
			r := inFragile()
			r.Tests = []api.Test{{ID: "1"}, {ID: "2"}}
			return run(a, r)
		},
		"a checker": func(a *harness.Agent) error {
			r := harness.Sh("echo 1")
			r.Tests = []api.Test{{ID: "1", Expected: harness.Expected("1\n")}}
			r.Check = &api.Check{Program: api.Program{Image: "fragile", Argv: []string{"/accept"}}, Protocol: api.ProtocolKattis}
			return run(a, r)
		},
		"an exec": func(a *harness.Agent) error {
			s, err := a.CreateSession(a.T.Context(), api.SessionRequest{Image: "fragile"})
			if err != nil {
				return err
			}
			_, err = a.Client.Exec(a.T.Context(), s.ID, api.Exec{Argv: []string{"/accept"}})
			return errors.Join(err, a.DeleteSession(a.T.Context(), s.ID))
		},
	}

	damages := map[string]func(file string) error{
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
	}

	data := harness.PublicDir(t, "brig-data-")
	a := harness.StartAgentWith(t, data, "--slots", "1")
	harness.Images.Load(t, a, "tiny")

	// Each place, and each damage.
	some := harness.NewShare(2)
	for _, name := range slices.Sorted(maps.Keys(places)) {
		for _, how := range slices.Sorted(maps.Keys(damages)) {
			place, damage := places[name], damages[how]
			if some.LeavesOut(name, how) {
				continue
			}
			t.Run(name+", "+how, func(t *testing.T) {
				logged := len(a.Log.String())
				tree := importFragile(t, a)
				if err := place(a); err != nil {
					t.Fatalf("before it is damaged: %v", err)
				}

				if err := damage(filepath.Join(tree, "accept")); err != nil {
					t.Fatal(err)
				}

				err := place(a)
				// A checker's exit code 42 had the image looked at a moment ago, here or in the case before, which had the same
				// import: for a second it is taken for intact (runtime/image, trustTime).
				for deadline := harness.Patience(); !api.HasCode(err, api.CodeImageDamaged) && time.Now().Before(deadline); {
					err = place(a)
				}

				if !api.HasCode(err, api.CodeImageDamaged) || !strings.Contains(err.Error(), `image fragile are not as they were imported ("accept")`) {
					t.Errorf("%v; want the error image-damaged that names the file", err)
				}
				if err := run(a, inFragile()); !api.HasCode(err, api.CodeImageDamaged) {
					t.Errorf("the next run: %v", err)
				}

				harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 3")), api.Nonzero) // of another image

				h, err := a.Health(t.Context())
				if err != nil || len(h.ImagesDamaged) != 1 {
					t.Errorf("health names the damaged images %q, %v", h.ImagesDamaged, err)
				}

				out, err := exec.Command(harness.Binary(t, "brig"), "doctor", "--socket", a.Socket).CombinedOutput()
				if err == nil || !bytes.Contains(out, []byte("1 stored images are damaged")) {
					t.Errorf("brig doctor: %v\n%s", err, out)
				}
				if log := a.Log.String()[logged:]; !strings.Contains(log, "an image is damaged") {
					t.Errorf("the log does not say so:\n%s", log)
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
func importFragile(t *testing.T, a *harness.Agent) (tree string) {
	t.Helper()
	return a.ImportImage(t, "fragile", harness.CompileC(t, "accept", `int main(int argc, char **argv) { return argc > 1 ? 42 : 0; }`), 0o755)
}
