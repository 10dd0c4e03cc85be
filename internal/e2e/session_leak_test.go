package e2e

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// AGT-04, AGT-05: what an agent holds does not grow with its sessions, nor with the execs and files
// of a session, however those end.
func TestSessionsLeakNothing(t *testing.T) {
	a := startAgent(t, "--slots", "2", "--sessions", "2")
	kept := a.session(t, nil)
	work := func(id string) {
		t.Helper()
		for _, script := range []string{"exit 0", "kill -9 $$", "sleep 9", "yes", "head -c 200000000 /dev/zero | " +
			"tail -c 150000000 >/dev/null",
			"sleep 0.1 >/dev/null 2>&1 & exit 0"} {
			e := shellExec(script)
			e.Limits = api.Limits{Wall: seconds(0.2), Memory: 16 * api.MiB, Output: 10000}
			a.execute(t, id, e)
		}

		_, err := a.Client.Exec(t.Context(), id, api.Exec{Argv: []string{"/nosuch"}})
		wantCode(t, err, api.CodeNoProgram)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, _ = a.Exec(ctx, id, shellExec("sleep 9")) // the caller hangs up before it ends
		cancel()
		a.put(t, id, "some/where/file", "content")
		if _, err := a.get(t, id, "some/where/file"); err != nil {
			t.Error(err)
		}

		_ = a.PutFile(t.Context(), id, "broken", io.MultiReader(strings.NewReader("half"), iotestErr{}), false)
		_, err = a.get(t, id, "nosuch")
		wantCode(t, err, api.CodeNotFound)
		if _, err := a.ListFiles(t.Context(), id, ""); err != nil {
			t.Error(err)
		}
	}

	round := func() {
		t.Helper()
		work(kept.ID)
		s := a.session(t, nil)
		work(s.ID)
		a.wantOutput(t, s.ID, "sleep 60 >/dev/null 2>&1 &", "")
		if err := a.DeleteSession(t.Context(), s.ID); err != nil {
			t.Error(err)
		}
		a.waitIdle(t)
		a.wantOutput(t, kept.ID, "rm -r some; sleep 0.3", "")
	}

	round()
	round()
	before := a.stableCounts(t, nil)
	for range soak(6) {
		round()
	}

	for kind, n := range a.stableCounts(t, before) {
		if n > before[kind]+2 { // the sockets of idle callers come and go
			t.Errorf("%s: %d before, %d after", kind, before[kind], n)
		}
	}

	h, err := a.Health(t.Context())
	if err != nil || h.Sessions != 1 || h.Leased != 0 || h.Memory != int64(80*api.MiB) {
		t.Errorf("held at the end: %+v, %v", h, err)
	}
}
