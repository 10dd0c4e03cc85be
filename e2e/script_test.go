package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts of testdata/script are the command line's manual: each is run with a
// real agent behind it.
func TestScripts(t *testing.T) {
	a := startAgent(t, "--slots", "6") // the scripts run side by side, and a wait for a slot is on stderr
	a.needPython(t)
	bin := filepath.Dir(binary(t, "brig"))
	testscript.Run(t, testscript.Params{
		Dir:                 "../testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			env.Setenv("BRIG_SOCKET", a.socket)
			env.Setenv("BRIG_TEST_STORE", dataDir(t)) // for agents of a script's own
			return nil
		},
	})
}
