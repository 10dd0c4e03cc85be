package sessions

import (
	"bytes"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// CPU-45. Scanning what execs have left in many sessions, whose locks take long to count, costs the
// agent a tenth of a processor in total, not a tenth for each; and their calls are answered.
func TestScansOfSessionsShareATimeBudget(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	prog := harness.CompileC(t, "burn", `#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(void) {
	int fd = open("/box/lock", O_RDWR | O_CREAT, 0600);
	while (dup(fd) >= 0) ;
	for (int i = 0; i < 7; i++) if (!fork()) for (;;) pause();
	struct flock l = {.l_type = F_WRLCK, .l_len = 1};
	for (long i = 0; i < 4500; i++) { l.l_type = i % 2 ? F_UNLCK : F_WRLCK; fcntl(fd, F_SETLK, &l); }
	for (;;) { fcntl(fd, F_SETLK, &l); usleep(20000); }
}`)

	for range 12 {
		id := a.NewSession(t, func(s *api.SessionRequest) {
			s.Limits.Pids, s.ExecLimits.OpenFiles = 40, 4000
		}).ID
		if err := a.PutFile(t.Context(), id, "burn", bytes.NewReader(prog.Content), true); err != nil {
			t.Fatal(err)
		}
		a.WantOutput(t, id, "./burn >/dev/null 2>&1 & echo", "\n")
	}

	time.Sleep(2 * time.Second)
	const span = 6 * time.Second
	before := a.AgentTime(t)
	time.Sleep(span)
	used := a.AgentTime(t) - before
	t.Logf("the agent took %s in %s", used, span)
	if used > span*3/10 {
		t.Errorf("the agent took %s in %s", used, span)
	}
	if used < 50*time.Millisecond {
		t.Errorf("the agent took %s in %s: it counts nothing, and the test proves nothing", used, span)
	}
}
