// Command batches measures brig batch: its rate next to that of the agent's socket in the same run, what it
// costs, its memory over many jobs, many workers, and small batches behind large ones.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/docblock"
	"github.com/brig-sandbox/brig/internal/testagent"
)

// workersArgument has this program be the simulated workers of another one.
const workersArgument = "--simulated-workers"

func main() {
	if len(os.Args) > 1 && os.Args[1] == workersArgument {
		if err := simulatedWorkers(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "batches: workers:", err)
			os.Exit(1)
		}
		return
	}

	var c config
	c.own.Register(pflag.CommandLine)
	pflag.IntVar(&c.rounds, "rounds", 3, "interleaved rounds")
	pflag.IntVar(&c.jobs, "jobs", 3000, "jobs without tests per round; those with tests are a twentieth")
	pflag.IntVar(&c.many, "many", 1_000_000, "tiny jobs for the memory of brig batch, on a simulated agent; 0: skip")
	pflag.IntVar(&c.workers, "workers", 1000, "simulated workers; 0: skip")
	only := pflag.StringSlice("only", nil,
		"measure only these `PARTS`: rates, machines, fairness, urgent, interactive, memory, scaling, workers")
	write := pflag.String("write", "", "replace the measured block of this Markdown `FILE`")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()

	r, err := run(ctx, c, *only)
	if err == nil {
		fmt.Println(r.text())
		if *write != "" {
			err = docblock.Replace(*write, "<!-- measured: written by make bench-batch WRITE=1 -->",
				"<!-- end of measured -->", r.text())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "batches:", err)
		os.Exit(1)
	}
}

// A config says what to measure.
type config struct {
	own           testagent.Options
	rounds, jobs  int
	many, workers int
}

// A tool has what every measurement needs.
type tool struct {
	config
	dir    string
	brig   string
	agent  *testagent.Agent
	report report
}

func run(ctx context.Context, c config, only []string) (_ report, err error) {
	dir, err := os.MkdirTemp("/var/tmp", "brig-batches-")
	if err != nil {
		return report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	if err := os.Chmod(dir, 0o711); err != nil { // cells pass through it
		return report{}, err
	}

	t := &tool{config: c, dir: dir, brig: filepath.Join(c.own.Bin, "brig")}
	defer func() {
		if t.agent != nil {
			err = errors.Join(err, t.agent.Stop())
		}
	}()

	for _, part := range []struct {
		name  string
		agent bool // it needs one
		do    func(context.Context) error
	}{
		{"rates", true, t.rates}, {"machines", true, t.machines}, {"fairness", true, t.fairness}, {"urgent", true, t.urgent},
		{"interactive", true, t.interactive},
		{"memory", false, t.memory}, {"scaling", false, t.scaling}, {"workers", false, t.manyWorkers},
	} {
		if len(only) > 0 && !slices.Contains(only, part.name) {
			continue
		}

		if part.agent && t.agent == nil {
			if err := t.own.EnsureImage(ctx, dir); err != nil {
				return report{}, err
			}
			if t.agent, err = testagent.Start(ctx, t.own, dir, "--slots", "2", "--group", "daemon"); err != nil { // the service runs as another user
				return report{}, err
			}
		}

		fmt.Fprintln(os.Stderr, "batches:", part.name)
		if err := part.do(ctx); err != nil {
			return report{}, fmt.Errorf("%s: %w", part.name, err)
		}
	}

	return t.report, nil
}
