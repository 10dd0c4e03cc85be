package sessions

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// AGT-04, AGT-05: what an agent holds does not grow with its sessions, nor with the execs and files
// of a session, however those end.
func TestSessionsLeakNothing(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2", "--sessions", "2")
	kept := a.NewSession(t, nil)
	work := func(id string) {
		t.Helper()
		for _, script := range []string{"exit 0", "kill -9 $$", "sleep 9", "yes", "head -c 200000000 /dev/zero | " +
			"tail -c 150000000 >/dev/null",
			"sleep 0.1 >/dev/null 2>&1 & exit 0"} {
			e := harness.ShellExec(script)
			e.Limits = api.Limits{Wall: harness.Seconds(0.2), Memory: 16 * api.MiB, Output: 10000}
			a.MustExec(t, id, e)
		}

		_, err := a.Client.Exec(t.Context(), id, api.Exec{Argv: []string{"/nosuch"}})
		harness.WantCode(t, err, api.CodeNoProgram)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, _ = a.Exec(ctx, id, harness.ShellExec("sleep 9")) // the caller hangs up before it ends
		cancel()
		a.Put(t, id, "some/where/file", "content")
		if _, err := getFile(t, a, id, "some/where/file"); err != nil {
			t.Error(err)
		}

		_ = a.PutFile(t.Context(), id, "broken", io.MultiReader(strings.NewReader("half"), iotestErr{}), false)
		_, err = getFile(t, a, id, "nosuch")
		harness.WantCode(t, err, api.CodeNotFound)
		if _, err := a.ListFiles(t.Context(), id, ""); err != nil {
			t.Error(err)
		}
	}

	round := func() {
		t.Helper()
		work(kept.ID)
		s := a.NewSession(t, nil)
		work(s.ID)
		a.WantOutput(t, s.ID, "sleep 60 >/dev/null 2>&1 &", "")
		if err := a.DeleteSession(t.Context(), s.ID); err != nil {
			t.Error(err)
		}
		a.WaitIdle(t)
		a.WantOutput(t, kept.ID, "rm -r some; sleep 0.3", "")
	}

	round()
	round()
	before := a.StableCounts(t, nil)
	for range harness.Soak(6) {
		round()
	}

	for kind, n := range a.StableCounts(t, before) {
		if n > before[kind]+2 { // the sockets of idle callers come and go
			t.Errorf("%s: %d before, %d after", kind, before[kind], n)
		}
	}

	h, err := a.Health(t.Context())
	if err != nil || h.Sessions != 1 || h.Leased != 0 || h.Memory != int64(80*api.MiB) {
		t.Errorf("held at the end: %+v, %v", h, err)
	}
}
