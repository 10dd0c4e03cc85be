package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The scripts of testdata/script are the manual of the command line: each runs with a real agent.
func TestScripts(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "6") // the scripts run in parallel, and a wait for a slot is reported on stderr
	a.NeedPython(t)
	bin := filepath.Dir(harness.Binary(t, "brig"))
	profiles, err := filepath.Abs("../../../seccomp/engine/testdata")
	if err != nil {
		t.Fatal(err)
	}

	testscript.Run(t, testscript.Params{
		Dir:                 "../../../testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *harness.Update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			env.Setenv("BRIG_SOCKET", a.Socket)
			env.Setenv("BRIG_TEST_PROFILES", profiles)
			env.Setenv("BRIG_TEST_STORE", harness.DataDir(t)) // for agents that a script starts
			return nil
		},
	})
}
