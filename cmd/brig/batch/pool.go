package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/batch/jetstream"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
)

const poolUsage = `
Look at the workers of an engine, and have one take no more jobs.

Usage:
  brig pool ls [--engine URL] [--json]
  brig pool show NAME [--engine URL] [--json]
  brig pool drain WORKER [--engine URL]

These are for an engine that runs by itself, a NATS server: --engine or $BRIG_ENGINE.

Examples:
  brig pool ls --engine nats://127.0.0.1:4222
  brig pool drain node2`

// PoolCommand makes brig pool.
func PoolCommand(c *cli.CLI) *cobra.Command {
	return c.Group("pool", poolUsage, []cli.Command{
		{Name: "ls", Short: "list pools: what waits, and how many workers they have", Make: poolList},
		{Name: "show", Short: "list the workers of a pool, and say in what they differ", Make: poolShow},
		{Name: "drain", Short: "have a worker take no more jobs and end", Make: poolDrain},
	})
}

// poolConnect connects to an engine for one of these commands.
func poolConnect(c *cli.CLI, o engineOptions) (*jetstream.Engine, context.Context, func(), error) {
	if o.url == "" {
		o.url = c.Env("BRIG_ENGINE")
	}
	if o.url == "" {
		return nil, nil, nil, errors.New("name the engine: --engine URL or $BRIG_ENGINE")
	}
	e, err := jetstream.Connect(jetstream.Target{URL: o.url, Creds: o.creds, Pool: o.pool})
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	return e, ctx, func() { cancel(); e.Close() }, nil
}

func poolFlags(c *cli.CLI, f *pflag.FlagSet) *engineOptions {
	o := new(engineOptions)
	f.StringVar(&o.url, "engine", "", "`URL` of the engine (default $BRIG_ENGINE)")
	f.StringVar(&o.creds, "creds", "", "`FILE` with the NATS credentials")
	return o
}

// A poolState is a pool for people and scripts.
type poolState struct {
	Name    string `json:"name"`
	Workers int    `json:"workers"`
	Slots   int    `json:"slots"`
	Waiting uint64 `json:"waiting"`
	Urgent  uint64 `json:"urgent_waiting"`
	Working int    `json:"in_flight"`
}

// pools joins what waits and which workers there are.
func pools(queued []jetstream.Queued, workers []jetstream.WorkerState) []poolState {
	by := map[string]*poolState{}
	of := func(name string) *poolState {
		if by[name] == nil {
			by[name] = &poolState{Name: name}
		}
		return by[name]
	}

	for _, q := range queued {
		p := of(q.Pool)
		if p.Working += q.Working; q.Urgent {
			p.Urgent += q.Waiting
		} else {
			p.Waiting += q.Waiting
		}
	}

	for _, w := range workers {
		p := of(w.Pool)
		p.Workers++
		if !w.Draining {
			p.Slots += w.Slots
		}
	}

	var all []poolState
	for _, p := range by {
		all = append(all, *p)
	}

	slices.SortFunc(all, func(a, b poolState) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func poolList(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("pool ls",
		"List the pools of an engine: their workers and slots, and the jobs that wait or are executed.\n\nUsage:\n  "+
			"brig pool ls [--engine URL] [--json]\n\nExample:\n  brig pool ls --engine nats://127.0.0.1:4222")
	o := poolFlags(c, f)
	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		e, ctx, end, err := poolConnect(c, *o)
		if err != nil {
			return c.Fail(err)
		}
		defer end()

		queued, err := e.Pools(ctx)
		if err != nil {
			return c.Fail(err)
		}

		var workers []jetstream.WorkerState
		for _, q := range queued {
			if q.Urgent { // the pool has another one that is not
				continue
			}
			more, err := e.Workers(ctx, q.Pool)
			if err != nil {
				return c.Fail(err)
			}
			workers = append(workers, more...)
		}

		all := pools(queued, workers)
		if err := cli.PrintList(c, *asJSON, all, "POOL\tWORKERS\tSLOTS\tWAITING\tURGENT\tEXECUTED", func(p poolState) string {
			return fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d", p.Name, p.Workers, p.Slots, p.Waiting, p.Urgent, p.Working)
		}); err != nil {
			return c.Fail(err)
		}

		return 0
	})
}

func poolShow(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("pool show",
		"List the workers of a pool. Workers whose images differ are named: the same job could be judged "+
			"differently.\n\nUsage:\n  brig pool show NAME [--engine URL] [--json]\n\nExample:\n  brig pool show "+
			"default --engine nats://127.0.0.1:4222")
	o := poolFlags(c, f)
	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return c.Hint("pool show", errors.New("name one pool"))
		}

		e, ctx, end, err := poolConnect(c, *o)
		if err != nil {
			return c.Fail(err)
		}
		defer end()

		all, err := e.Workers(ctx, f.Arg(0))
		if err != nil {
			return c.Fail(err)
		}
		if *asJSON {
			c.Stdout.Write(cli.Marshal(all))
			return 0
		}

		w := cli.AlignedTable(c.Text())
		fmt.Fprintln(w, "WORKER\tVERSION\tSLOTS\tJOBS\tSTATE\tREPORTED")
		for _, one := range all {
			state := "takes jobs"
			if one.Draining {
				state = "draining"
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s ago\n", terminal.OneLine(one.Name), terminal.OneLine(one.Version),
				one.Slots, one.InFlight,
				state, time.Since(one.Reported).Round(time.Second))
		}

		if err := w.Flush(); err != nil {
			return c.Fail(err)
		}

		for _, line := range imageDifferences(all) {
			fmt.Fprintln(c.Text(), line)
		}
		return 0
	})
}

// imageDifferences says which languages have different images on the workers of a pool.
func imageDifferences(all []jetstream.WorkerState) []string {
	first, by := map[string]string{}, map[string]string{}
	var out []string
	for _, w := range all {
		for language, digest := range w.Languages {
			switch known, ok := first[language]; {
			case !ok:
				first[language], by[language] = digest, w.Name
			case known != digest:
				out = append(out, fmt.Sprintf("the image of %s differs: %.19s on %s, %.19s on %s", language, known,
					by[language], digest, w.Name))
			}
		}
	}

	slices.Sort(out)
	return out
}

func poolDrain(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("pool drain",
		"Have a worker take no more jobs, and end when those that it has have ended.\n\nUsage:\n  brig pool drain "+
			"WORKER [--engine URL]\n\nExample:\n  brig pool drain node2 --engine nats://127.0.0.1:4222")
	o := poolFlags(c, f)
	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return c.Hint("pool drain", errors.New("name one worker"))
		}
		if err := jetstream.CheckName("worker", f.Arg(0)); err != nil {
			return c.Hint("pool drain", err)
		}

		e, ctx, end, err := poolConnect(c, *o)
		if err != nil {
			return c.Fail(err)
		}
		defer end()

		if err := e.Drain(ctx, f.Arg(0)); err != nil {
			return c.Fail(err)
		}
		return 0
	})
}
