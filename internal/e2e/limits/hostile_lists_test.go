package limits

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// AGT-43: two sessions request file lists without end. Their programs chose names of which JSON
// needs six bytes for each byte, and a path that each name repeats. The agent uses no more memory
// than it states, and a neighbour's program keeps its verdict. A list that gets no slot is answered
// with busy.
func TestHostileListsFitTheAgentsMemory(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m")
	health, err := a.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	names := harness.CompileC(t, "names", `#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
	char n[256] = {0};
	memset(n, 1, 240);
	for (int i = 0; i < 3; i++) if (mkdir(n, 0700) || chdir(n)) return 1;
	for (int i = 0; i < 10000; i++) {
		sprintf(n + 200, "%06d", i);
		close(open(n, O_CREAT | O_WRONLY, 0600));
	}
	return 0;
}`)

	honest := harness.Program(harness.CompileC(t, "honest", `int main(void) { for (volatile long i = 0; i < 300000000; i++) ; return 0; }`))
	honest.Limits = api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(10), Memory: 16 * api.MiB}
	var storm sync.WaitGroup
	ctx, enough := context.WithCancel(t.Context())
	var made, busy atomic.Int64
	for range 2 {
		id := a.NewSession(t, func(s *api.SessionRequest) {
			s.Limits.Inodes, s.Limits.Scratch, s.Limits.Memory = 20_000, 64*api.MiB, 64*api.MiB
		}).ID
		if err := a.PutFile(t.Context(), id, "names", bytes.NewReader(names.Content), true); err != nil {
			t.Fatal(err)
		}

		a.WantOutput(t, id, "./names && echo made", "made\n")

		for range 20 {
			storm.Go(func() {
				for ctx.Err() == nil {
					list, err := a.ListFiles(ctx, id, "")
					var e *api.Error
					switch {
					case err == nil && list.More && len(list.Files) > 10:
						made.Add(1)
					case ctx.Err() != nil:
					case errors.As(err, &e) && e.Code == api.CodeBusy:
						busy.Add(1)
					default:
						t.Errorf("a list: %d files, more %v, %v", len(list.Files), list.More, err)
						return
					}
				}
			})
		}
	}

	for range 8 {
		if res, err := a.Run(t.Context(), honest); err != nil || res.Verdict != api.OK {
			t.Errorf("an honest program next to lists: %s, %v, wall %d ns", res.Verdict, err, res.Timing.Wall)
		}
	}

	enough()
	storm.Wait()
	peak := a.PeakMemory(t)
	t.Logf("%d lists made, %d told busy; the agent took %s of the %s it says", made.Load(), busy.Load(), api.Size(peak),
		api.Size(health.AgentMemoryMax))
	if peak > health.AgentMemoryMax {
		t.Errorf("the agent took %s, and says that it takes at most %s", api.Size(peak), api.Size(health.AgentMemoryMax))
	}
	if made.Load() < 20 {
		t.Errorf("%d lists were made: too few to tell", made.Load())
	}
}
