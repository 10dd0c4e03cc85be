package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/client"
)

// How often things are measured.
const (
	starts   = 21
	compiles = 3
)

// most is how long anything may take.
const most = api.Duration(2 * time.Minute)

// measure makes a language's row of the table.
func measure(ctx context.Context, c *client.Client, l api.Language) (string, error) {
	source, err := hello(l.Name)
	if err != nil {
		return "", err
	}
	run := api.Run{Language: l.Name, Source: source, Collect: api.Collect{None: true}}
	if l.CompileTier != "" { // a machine that others load is no reason to give up
		run.CompileLimits = api.Limits{Wall: most, CPU: most}
	}
	size, err := unpacked(ctx, c, l.Image)
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
	least, err := leastMemory(ctx, c, run)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %d MiB | %s | %.1f ms | %d MiB |", l.Name, l.Version, l.Tiers(), l.Image,
		size>>20, compile, float64(start.Microseconds())/1e3, least/api.MiB), nil
}

// hello is the program of a language that only says so; that of a full variant is
// its language's.
func hello(language string) ([]byte, error) {
	pattern := filepath.Join("e2e", "testdata", "languages", strings.TrimSuffix(language, "-full"), "hello.*")
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("%d programs match %s: run this from the checkout (%w)", len(found), pattern, err)
	}
	return os.ReadFile(found[0])
}

func unpacked(ctx context.Context, c *client.Client, image string) (int64, error) {
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

// startUp is the median of the processor time from exec to exit, which says more
// than the time that passes on a machine that others load.
func startUp(ctx context.Context, c *client.Client, run api.Run) (time.Duration, error) {
	var took []int64
	for range starts {
		res, err := good(ctx, c, run)
		if err != nil {
			return 0, err
		}
		took = append(took, *res.Usage.CPU.Value)
	}
	return middle(took), nil
}

// compileTime is the same of compiling what no cache has.
func compileTime(ctx context.Context, c *client.Client, run api.Run) (time.Duration, error) {
	var took []int64
	for i := range compiles {
		fresh := run
		fresh.Files = []api.File{{Name: "fresh", Content: fmt.Appendf(nil, "%d %d", time.Now().UnixNano(), i)}}
		res, err := good(ctx, c, fresh)
		if err != nil {
			return 0, err
		}
		if res.Compile == nil || res.Compile.Cached {
			return 0, fmt.Errorf("nothing was compiled")
		}
		took = append(took, *res.Compile.Usage.CPU.Value)
	}
	return middle(took), nil
}

// leastMemory finds the least limit, to a MiB, under which the program still ends
// well three times.
func leastMemory(ctx context.Context, c *client.Client, run api.Run) (api.Size, error) {
	run.Limits.Wall = api.Duration(20 * time.Second)
	low, high := 3*api.MiB, api.GiB // less than any limit may be, and enough
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

// good carries out a run that must end well.
func good(ctx context.Context, c *client.Client, run api.Run) (api.Result, error) {
	res, err := c.Run(ctx, run)
	switch {
	case err != nil:
	case res.Verdict != api.OK:
		err = fmt.Errorf("verdict %s, limits %v: %.500s%.500s", res.Verdict, res.LimitsHit, res.Stdout, res.Stderr)
	case res.Usage.CPU.Value == nil || res.Compile != nil && res.Compile.Usage.CPU.Value == nil:
		err = fmt.Errorf("processor time is unknown here: %s", res.Usage.CPU.Source)
	}
	return res, err
}

func middle(took []int64) time.Duration {
	slices.Sort(took)
	return time.Duration(took[len(took)/2])
}
