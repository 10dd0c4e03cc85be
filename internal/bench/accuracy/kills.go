package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// kills measures by how much a program exceeds its limit before it is ended.
func (t *tool) kills(ctx context.Context) error {
	var wall, death, cpu []time.Duration
	const limit = api.Duration(50 * time.Millisecond)
	for range 200 / t.scale {
		r := t.program("burn", "threads1", "10000")
		r.Limits = api.Limits{Wall: limit, CPU: api.Duration(20 * time.Second)}
		res, err := t.run(ctx, r)
		if err != nil {
			return err
		}
		if res.Verdict != api.WallLimit || res.Timing.Killed == 0 {
			return fmt.Errorf("verdict %s, killed at %d ns; want wall-limit", res.Verdict, res.Timing.Killed)
		}

		wall = append(wall, time.Duration(res.Timing.Killed)-time.Duration(limit))
		death = append(death, time.Duration(res.Timing.Wall+res.Timing.Finish-res.Timing.Killed))
		r.Limits = api.Limits{Wall: api.Duration(20 * time.Second), CPU: limit}
		if res, err = t.run(ctx, r); err != nil {
			return err
		}
		if res.Verdict != api.CPULimit {
			return fmt.Errorf("verdict %s; want cpu-limit", res.Verdict)
		}

		cpu = append(cpu, time.Duration(*res.Usage.CPU.Value)-time.Duration(limit))
	}

	row := func(what string, v []time.Duration, maximum time.Duration) {
		p99 := quantile(v, .99)
		target := "-"
		if maximum > 0 {
			target = fmt.Sprintf("p99 at most %s", maximum)
		}
		t.report.row(fmt.Sprintf("%s, %d kills", what, len(v)), target,
			fmt.Sprintf("p50 %.2f ms, p99 %.2f ms", ms(quantile(v, .5)), ms(p99)), maximum == 0 || p99 <= maximum)
	}

	row("from the wall limit to SIGKILL", wall, 5*time.Millisecond)
	row("processor time beyond the cpu limit, including that of the kill", cpu, 5*time.Millisecond)
	row("from SIGKILL to the answer, with an empty group", death, 0)
	return nil
}

// underLoad repeats the measurements of processor time, memory and output, and checks verdicts
// close to their limits, while two burners per processor compete.
func (t *tool) underLoad(ctx context.Context) error {
	stop, err := t.overload(ctx)
	if err != nil {
		return err
	}
	defer stop()

	if err := t.measurements(ctx, "2x overload"); err != nil {
		return err
	}

	const cpu, memory = 100 * time.Millisecond, 32 * api.MiB
	for _, c := range []struct {
		what string
		run  api.Run
		want api.Verdict
	}{
		{"0.9 of the cpu limit (90 ms plus its start, of 100)",
			limited(t.program("burn", "threads1", "90"), api.Limits{CPU: api.Duration(cpu)}), api.OK},
		{"1.1 of the cpu limit (110 ms plus its start, of 100)",
			limited(t.program("burn", "threads1", "110"), api.Limits{CPU: api.Duration(cpu)}), api.CPULimit},
		{"0.9 of the memory limit (28 MiB plus its own memory, of 32)",
			limited(t.program("alloc", "heap", "28"), api.Limits{Memory: memory}), api.OK},
		{"1.1 of the memory limit (35 MiB plus its own memory, of 32)",
			limited(t.program("alloc", "heap", "35"), api.Limits{Memory: memory}), api.MemoryLimit},
	} {
		flips, n, err := t.flips(ctx, c.run, c.want, 500/t.scale)
		if err != nil {
			return err
		}
		t.report.row(fmt.Sprintf("programs at %s, 2x overload", c.what), "no verdict flips",
			fmt.Sprintf("%d of %d not %s", flips, n, c.want), flips == 0)
	}

	return nil
}

func limited(r api.Run, l api.Limits) api.Run {
	r.Limits = l
	return r
}

// flips counts the runs with another verdict than want, with two concurrent clients.
func (t *tool) flips(ctx context.Context, r api.Run, want api.Verdict, n int) (flips, ran int, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range n / 2 {
				res, rerr := t.run(ctx, r)
				mu.Lock()
				ran++
				if rerr != nil {
					err = rerr
				} else if res.Verdict != want {
					flips++
				}
				mu.Unlock()
				if rerr != nil {
					return
				}
			}
		})
	}

	wg.Wait()
	return flips, ran, err
}
