package neighbours

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A firstWrite notes when something was written first.
type firstWrite struct {
	once sync.Once
	at   time.Time     // valid after done is closed
	done chan struct{} // closed by the first Write
}

func (w *firstWrite) Write(p []byte) (int, error) {
	w.once.Do(func() { w.at = time.Now(); close(w.done) })
	return len(p), nil
}

// CPU-43. A killed run with a low weight or a small quota, whose neighbours compute, holds its slot
// for seconds like any other run, not for minutes.
func TestDeathHasTheUsualWeight(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "4", "--max-wall", "10m", "--max-cpu", "10m")
	big := harness.CompileC(t, "big", `#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) { // 40 processes with 65,536 entries of page tables each, which the kernel has to clear
	long size = 256 << 20;
	char *m = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(m, size, MADV_NOHUGEPAGE);
	memset(m, 1, size);
	for (int i = 0; i < 40; i++) if (!fork()) pause();
	write(1, "made\n", 5);
	sleep(2);
	write(1, m, 32 << 10); // more than it may, at once: with a low weight each wait for the reader is long
	pause();
}`)

	spin := harness.CompileC(t, "spin", `int main(void) { for (;;) ; }`)
	for n, tt := range []struct {
		name   string
		limits api.Limits
	}{
		{"weight and quota", api.Limits{Weight: 2, CPUs: 0.3}},
		{"weight", api.Limits{Weight: 2}},
		{"usual", api.Limits{}},
	} {
		if harness.LeftOut(n, 3) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()

			r := harness.Program(big)
			r.Limits = tt.limits
			r.Limits.Wall, r.Limits.Memory, r.Limits.Output = harness.Slowly(60), 400*api.MiB, 16*api.KiB
			made := &firstWrite{done: make(chan struct{})}
			var all sync.WaitGroup
			defer all.Wait()
			defer stop()

			for range 3 {
				all.Go(func() { // begins to compute when the other has its memory
					select {
					case <-ctx.Done():
					case <-made.done:
						n := harness.Program(spin)
						n.Limits.Wall = harness.Slowly(60)
						_, _ = a.Client.Run(ctx, n) // it ends when the test cancels it
					}
				})
			}

			res, err := a.RunEvents(ctx, r, nil, client.Events{Stdout: made})
			ended := time.Now()
			if err != nil {
				t.Fatal(err)
			}

			harness.WantVerdict(t, res, api.OutputLimit)
			select {
			case <-made.done:
			default:
				t.Fatal("it has not made what takes long to clear")
			}

			late := ended.Sub(made.at.Add(2 * time.Second))
			t.Logf("free %s after it began to exceed its limit", late)
			if late > harness.Slow(15*time.Second) {
				t.Errorf("free %s after it began to exceed its limit", late)
			}
		})
	}
}
