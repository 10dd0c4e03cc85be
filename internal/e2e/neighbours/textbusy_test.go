package neighbours

import (
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// FIO-13: an executable input is executed, by brig and by the program, however many cells are
// created at the same time: no starting process holds it open for writing, which the kernel would
// answer with ETXTBSY.
func TestExecutableInputsDuringCellCreation(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "3")
	probe := harness.CompileC(t, "probe", `int main(void) { return 0; }`)
	probe.Content = append(probe.Content, make([]byte, 1<<20)...)
	script := api.File{Name: "script", Content: api.Bytes("#!/bin/sh\nexec ./probe\n"), Executable: true}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for i := range harness.Rounds(30) {
				r := api.Run{Image: "tiny", Files: []api.File{probe, script}, Argv: []string{"./probe"}, Mode: api.Fresh}
				if i%2 == 1 {
					r.Argv[0] = "./script"
				}
				r.Collect.None, r.Limits.Memory = true, 64*api.MiB
				res, err := a.Run(t.Context(), r)
				if err != nil || res.Verdict != api.OK {
					t.Errorf("run %d: %s, exit %d, stderr %q, %v", i, res.Verdict, res.ExitCode, res.Stderr, err)
					return
				}
			}
		})
	}

	wg.Wait()
}
