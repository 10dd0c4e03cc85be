package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testagent"
)

// run builds the spawner, starts an agent, measures in interleaved rounds, and
// leaves nothing behind.
func run(ctx context.Context, cfg config) (err error) {
	dir, err := os.MkdirTemp("", "brig-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	if err := os.Chmod(dir, 0o711); err != nil { // cells pass through it
		return err
	}

	spawner := filepath.Join(dir, "spawn")
	if out, err := exec.CommandContext(ctx, "gcc", "-O2", "-o", spawner,
		"internal/bench/spawn/spawn.c").CombinedOutput(); err != nil {
		return fmt.Errorf("gcc internal/bench/spawn/spawn.c: %w\n%s", err, out)
	}
	if err := cfg.own.EnsureImage(ctx, dir); err != nil {
		return err
	}

	a, err := startAgent(ctx, cfg.own, dir, "--group", "daemon") // the gateway runs as another user
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Stop()) }()

	b := &bench{cfg: cfg, agent: a, spawner: spawner, run: api.Run{Image: cfg.own.Name, Argv: []string{cfg.program}}}
	health, err := a.Client.Health(ctx)
	if err != nil {
		return err
	}

	b.slots = health.Slots
	b.addLine("Linux %s, cgroups %s, %d processors, brig %s, `%s`; %d interleaved rounds.", health.Kernel,
		health.CgroupMode, goruntime.NumCPU(), health.Version, cfg.program, cfg.rounds)
	b.addLine("")
	if cfg.goJudge != "" {
		return b.compare(ctx)
	}
	if err := b.canSleep(ctx); err != nil {
		return err
	}
	if err := b.rounds(ctx); err != nil {
		return err
	}

	b.table()
	if err := b.starts(ctx); err != nil {
		return err
	}
	if err := b.footprint(ctx); err != nil {
		return err
	}
	if err := b.soak(ctx); err != nil {
		return err
	}
	if err := b.sleepers(ctx); err != nil {
		return err
	}
	if err := b.sessions(ctx); err != nil {
		return err
	}
	if err := b.live(ctx); err != nil {
		return err
	}
	if err := b.sleepingSessions(ctx); err != nil {
		return err
	}
	if err := b.packages(ctx); err != nil {
		return err
	}
	if err := b.gateway(ctx); err != nil {
		return err
	}
	if err := b.dialects(ctx); err != nil {
		return err
	}
	if err := b.languages(ctx); err != nil {
		return err
	}
	if err := b.grading(ctx); err != nil {
		return err
	}
	if err := b.pythonClient(ctx); err != nil {
		return err
	}

	b.targets()
	return errors.Join(b.writeTo(cfg.write), b.writeSummaries(cfg.summaries))
}

// A bench collects rows over rounds.
type bench struct {
	cfg     config
	agent   *agent
	spawner string
	run     api.Run
	slots   int

	report            []string // lines of Markdown
	measurements      []measurement
	rows              []*row
	bases             []*row // the plain row each is compared with; nil for plain rows
	agentCPU, cellCPU time.Duration
	counted           int // number of runs in these times
}

func (b *bench) plain() bare {
	return bare{root: b.agent.Rootfs, box: "-", argv: []string{b.cfg.program}}
}

// measures returns the measurements of a round, in order. Every sandboxed one follows the
// plain one it is compared with, so that drift affects both.
func (b *bench) measures() []struct {
	name    string
	base    int // index of the plain measurement to compare with, or -1
	measure func(context.Context) (sample, error)
} {
	c := b.agent.Client
	fresh := b.run
	fresh.Mode = api.Fresh
	pl := func(clients, count int, gap time.Duration) func(context.Context) (sample, error) {
		return func(ctx context.Context) (sample, error) {
			return b.plain().spawn(ctx, b.spawner, clients, count, gap)
		}
	}

	sb := func(r api.Run, clients, count int, gap time.Duration) func(context.Context) (sample, error) {
		return func(ctx context.Context) (sample, error) {
			return sandboxed(ctx, c.Run, r, clients, b.slots, count, gap)
		}
	}

	n, s := b.cfg.hot, b.cfg.sparse
	list := []struct {
		name    string
		base    int
		measure func(context.Context) (sample, error)
	}{
		{"plain spawn, 1 client", -1, pl(1, n, 0)},
		{"brig strict, 1 client", 0, sb(b.run, 1, n, 0)},
		{"plain spawn, 2 clients", -1, pl(2, n, 0)},
		{"brig strict, 2 clients", 2, sb(b.run, 2, n, 0)},
		{"brig strict, 8 clients", 2, sb(b.run, 8, n/4, 0)},
		{"plain spawn, 10 ms apart", -1, pl(1, s, sparseGap)},
		{"brig strict, 10 ms apart", 5, sb(b.run, 1, s, sparseGap)},
		{"brig fresh, back to back", 0, sb(fresh, 1, s, 0)},
		{"brig fresh, 50 ms apart", 5, sb(fresh, 1, s/4+1, 5*sparseGap)},
		{"brig strict, live output, 1 client", 0,
			func(ctx context.Context) (sample, error) { return sandboxed(ctx, streamed(c), b.run, 1, b.slots, s, 0) }},
		{networkRow, 0, func(ctx context.Context) (sample, error) {
			return sandboxed(ctx, withNetwork(c), b.run, 1, b.slots, s, 0)
		}},
	}

	return append(list, b.others()...)
}

// others returns measurements of other sandboxes found on this machine.
func (b *bench) others() (list []struct {
	name    string
	base    int
	measure func(context.Context) (sample, error)
}) {
	add := func(name string, argv ...string) {
		list = append(list, struct {
			name    string
			base    int
			measure func(context.Context) (sample, error)
		}{name, 0, func(ctx context.Context) (sample, error) { return command(ctx, max(b.cfg.sparse/4, 5), argv...) }})
	}

	if path, err := exec.LookPath("bwrap"); err == nil {
		add("bubblewrap (namespaces only)", path, "--ro-bind", b.agent.Rootfs, "/", "--proc", "/proc", "--dev", "/dev",
			"--unshare-all", b.cfg.program)
	}

	for _, oci := range []string{"runc", "crun"} {
		path, err := exec.LookPath(oci)
		if err != nil {
			continue
		}

		dir := filepath.Join(b.agent.Dir, "bundle-"+oci)
		brig := filepath.Join(b.cfg.own.Bin, "brig")
		write := exec.Command(brig, "bundle", "--runtime", oci, "--data-dir", b.agent.Data, "--rootfs", b.cfg.own.Name,
			dir, "--", b.cfg.program)
		if out, err := write.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s is skipped: %v: %s", oci, err, out)
			continue
		}

		argv := []string{path, "--root", filepath.Join(b.agent.Dir, oci), "run", "--bundle", dir, "brig-bench-" + oci}
		if _, err := command(context.Background(), 1, argv...); err != nil {
			fmt.Fprintf(os.Stderr, "%s is skipped: %v\n", oci, err)
			continue
		}

		add(oci+", the same program as a bundle", argv...)
	}

	return list
}

// rounds makes all measurements in order, cfg.rounds times.
func (b *bench) rounds(ctx context.Context) error {
	list := b.measures()
	for _, m := range list {
		b.rows = append(b.rows, &row{name: m.name})
	}

	for i, m := range list {
		b.bases = append(b.bases, nil)
		if m.base >= 0 {
			b.bases[i] = b.rows[m.base]
		}
	}

	for round := range b.cfg.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, b.cfg.rounds)

		for i, m := range list {
			agent0, cell0, err := b.agent.cpu()
			if err != nil {
				return err
			}

			s, err := m.measure(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}

			b.rows[i].add(s)
			if i == 3 { // two clients, back to back: the processor time per run
				agent1, cell1, err := b.agent.cpu()
				if err != nil {
					return err
				}
				b.agentCPU += agent1 - agent0
				b.cellCPU += cell1 - cell0
				b.counted += len(s.took)
			}
		}
	}

	return nil
}

// secondAgent returns the options of another agent on the same store.
func (b *bench) secondAgent() testagent.Options {
	o := b.cfg.own
	o.Store, o.Image = b.agent.Data, ""
	return o
}

// starts measures how long a new agent takes to start and answer its first run, for which
// it has to build the cell.
func (b *bench) starts(ctx context.Context) error {
	var took []float64
	for i := range b.cfg.rounds {
		dir := filepath.Join(b.agent.Dir, fmt.Sprintf("start-%d", i))
		if err := os.Mkdir(dir, 0o711); err != nil {
			return err
		}

		begun := time.Now()
		a, err := startAgent(ctx, b.secondAgent(), dir)
		if err != nil {
			return err
		}

		_, err = a.Client.Run(ctx, b.run)
		took = append(took, float64(time.Since(begun).Microseconds())/1e3)
		if err := errors.Join(err, a.Stop()); err != nil {
			return err
		}
	}

	b.atMost(firstResult, median(took), 100, "ms")
	return nil
}

// footprint reports the memory of the agent after all rounds.
func (b *bench) footprint(ctx context.Context) error {
	h, err := b.agent.resources()
	if err != nil {
		return err
	}
	b.atMost(agentMemory, float64(h.rss)/(1<<20), 25, "MiB resident")
	health, err := b.agent.Client.Health(ctx)
	if err != nil {
		return err
	}
	b.atMost("image files held in memory in addition, limited by --image-memory", float64(health.ImagesHeld)/(1<<20),
		float64(health.ImagesMax)/(1<<20), "MiB")
	return nil
}
