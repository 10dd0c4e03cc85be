package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// CPU-43. A killed run with a low weight or a small quota, whose neighbours compute, holds its slot
// for seconds like any other run, not for minutes.
func TestDeathHasTheUsualWeight(t *testing.T) {
	a := startAgent(t, "--slots", "4", "--max-wall", "10m", "--max-cpu", "10m")
	big := compileC(t, "big", `#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) { // 40 processes with 65,536 entries of page tables each, which the kernel has to clear
	long size = 256 << 20;
	char *m = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(m, size, MADV_NOHUGEPAGE);
	memset(m, 1, size);
	for (int i = 0; i < 40; i++) if (!fork()) pause();
	write(1, "made\n", 5);
	pause();
}`)
	spin := compileC(t, "spin", `int main(void) { for (;;) ; }`)
	for _, tt := range []struct {
		name   string
		limits api.Limits
	}{
		{"usual", api.Limits{}},
		{"weight", api.Limits{Weight: 2}},
		{"weight and quota", api.Limits{Weight: 2, CPUs: 0.3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			r := program(big)
			r.Limits = tt.limits
			r.Limits.Wall, r.Limits.Memory = slowly(12), 400*api.MiB
			begun := time.Now()
			var all sync.WaitGroup
			defer all.Wait()
			defer stop()
			for range 3 {
				all.Go(func() { // begins to compute when the other has its memory
					select {
					case <-ctx.Done():
					case <-time.After(time.Duration(slowly(10))):
						n := program(spin)
						n.Limits.Wall = slowly(60)
						_, _ = a.Client.Run(ctx, n) // it ends when the test cancels it
					}
				})
			}
			res, err := a.Client.Run(ctx, r)
			late := time.Since(begun) - time.Duration(r.Limits.Wall)
			if err != nil {
				t.Fatalf("%v after %s", err, late)
			}
			wantVerdict(t, res, api.WallLimit)
			if string(res.Stdout) != "made\n" {
				t.Fatalf("it has not made what takes long to clear: %q", res.Stdout)
			}
			t.Logf("free %s after the limit", late)
			if late > slow(15*time.Second) {
				t.Errorf("free %s after the limit", late)
			}
		})
	}
}
