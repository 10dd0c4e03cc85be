package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// The number of measurements of each kind.
const (
	startRuns   = 21
	compileRuns = 3
)

// timeLimit is the time limit of every measurement.
const timeLimit = api.Duration(2 * time.Minute)

// measure returns a language's row of the table.
func measure(ctx context.Context, c *client.Client, l api.Language) (string, error) {
	source, err := helloSource(l.Name)
	if err != nil {
		return "", err
	}

	run := api.Run{Language: l.Name, Source: source, Collect: api.Collect{None: true}}
	if l.CompileTier != "" { // generous limits: the machine may be loaded by others
		run.CompileLimits = api.Limits{Wall: timeLimit, CPU: timeLimit}
	}

	size, err := imageSize(ctx, c, l.Image)
	if err != nil {
		return "", err
	}

	start, err := startUp(ctx, c, run)
	if err != nil {
		return "", err
	}

	compile := "-"
	if l.CompileTier != "" {
		t, err := compileTime(ctx, c, run)
		if err != nil {
			return "", err
		}
		compile = fmt.Sprintf("%.2f s", t.Seconds())
	}

	minimum, err := minMemory(ctx, c, run)
	if err != nil {
		return "", err
	}

	return fmt.Sprintf("| %s | %s | %s | %s | %d MiB | %s | %.1f ms | %d MiB |", l.Name, l.Version, l.Tiers(), l.Image,
		size>>20, compile, float64(start.Microseconds())/1e3, minimum/api.MiB), nil
}

// helloSource returns the hello program of a language. A full variant has the program of its
// language.
func helloSource(language string) ([]byte, error) {
	pattern := filepath.Join("testdata", "languages", strings.TrimSuffix(language, "-full"), "hello.*")
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("%d programs match %s: run this from the checkout (%w)", len(found), pattern, err)
	}
	return os.ReadFile(found[0])
}

func imageSize(ctx context.Context, c *client.Client, image string) (int64, error) {
	all, err := c.Images(ctx)
	if err != nil {
		return 0, err
	}
	for _, i := range all {
		if slices.Contains(i.Names, image) {
			return i.Size, nil
		}
	}
	return 0, fmt.Errorf("image %s is not stored", image)
}

// startUp returns the median of the processor time from exec to exit, which is more
// meaningful than elapsed time on a machine that others load.
func startUp(ctx context.Context, c *client.Client, run api.Run) (time.Duration, error) {
	var took []int64
	for range startRuns {
		res, err := runOK(ctx, c, run)
		if err != nil {
			return 0, err
		}
		took = append(took, *res.Usage.CPU.Value)
	}
	return median(took), nil
}

// compileTime returns the median processor time of compiling an uncached program.
func compileTime(ctx context.Context, c *client.Client, run api.Run) (time.Duration, error) {
	var took []int64
	for i := range compileRuns {
		fresh := run
		fresh.Files = []api.File{{Name: "fresh", Content: fmt.Appendf(nil, "%d %d", time.Now().UnixNano(), i)}}
		res, err := runOK(ctx, c, fresh)
		if err != nil {
			return 0, err
		}
		if res.Compile == nil || res.Compile.Cached {
			return 0, fmt.Errorf("the run compiled nothing, or used the cache")
		}
		took = append(took, *res.Compile.Usage.CPU.Value)
	}

	return median(took), nil
}

// minMemory finds the smallest limit, to a MiB, under which the program succeeds three
// times.
func minMemory(ctx context.Context, c *client.Client, run api.Run) (api.Size, error) {
	run.Limits.Wall = api.Duration(20 * time.Second)
	low, high := 3*api.MiB, api.GiB // below the smallest allowed limit, and more than enough
	for high-low > api.MiB {
		run.Limits.Memory = (low + (high-low)/2) / api.MiB * api.MiB
		enough := true
		for i := 0; enough && i < 3; i++ {
			res, err := c.Run(ctx, run)
			if err != nil {
				return 0, err
			}
			enough = res.Verdict == api.OK
		}

		if enough {
			high = run.Limits.Memory
		} else {
			low = run.Limits.Memory
		}
	}

	return high, nil
}

// runOK executes a run that must succeed.
func runOK(ctx context.Context, c *client.Client, run api.Run) (api.Result, error) {
	res, err := c.Run(ctx, run)
	switch {
	case err != nil:
	case res.Verdict != api.OK:
		err = fmt.Errorf("verdict %s, limits %v: %.500s%.500s", res.Verdict, res.LimitsHit, res.Stdout, res.Stderr)
	case res.Usage.CPU.Value == nil || res.Compile != nil && res.Compile.Usage.CPU.Value == nil:
		err = fmt.Errorf("processor time is not available on this host: %s", res.Usage.CPU.Source)
	}
	return res, err
}

func median(took []int64) time.Duration {
	slices.Sort(took)
	return time.Duration(took[len(took)/2])
}
