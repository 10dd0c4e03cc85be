package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// fairness measures how long 20 jobs take behind a large batch, on one engine that both use.
func (t *tool) fairness(ctx context.Context) error {
	engine, err := startEngine(ctx, t.dir)
	if err != nil {
		return err
	}
	defer engine.stop()

	socket := []string{"--socket", filepath.Join(t.agent.Dir, "brigd.sock"), "--engine", engine.url}
	small := kind{jobs: 20, run: api.Run{Image: t.own.Name, Argv: []string{"/bin/true"}}}
	alone, err := t.batch(ctx, small, socket...)
	if err != nil {
		return err
	}

	large := small
	large.jobs = 10_000
	in := filepath.Join(t.dir, "large.jsonl")
	if err := writeJobs(in, large); err != nil {
		return err
	}

	big := exec.CommandContext(ctx, t.brig,
		append([]string{"batch", in, "-o", filepath.Join(t.dir, "large.out"), "--quiet", "--keep", "summary"}, socket...)...)
	if err := big.Start(); err != nil {
		return err
	}

	time.Sleep(500 * time.Millisecond)

	// It brings no slots of its own.
	behind, err := t.batch(ctx, small, "--local", "none", "--engine", engine.url)
	err = errors.Join(err, big.Wait())
	if err != nil {
		return err
	}

	extra := behind.wall - alone.wall
	t.report.add("20 jobs behind 10,000 on the same workers, more than alone", "at most 1 s", extra <= time.Second,
		"%.2f s (alone %.2f s)", extra.Seconds(), alone.wall.Seconds())
	return nil
}
