package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/client"
)

// execsEach is the number of commands executed per session that is made.
const execsEach = 4

// sessions measures, through brig serve, the time to make a session and the time of a
// command in a session.
func (b *bench) sessions(ctx context.Context) (err error) {
	if b.cfg.sessions == 0 {
		return nil
	}

	s, err := b.serve("sessions")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()

	c := s.client()
	ask := api.SessionRequest{Image: b.run.Image}
	var makes sample
	for range b.cfg.sessions {
		begun := time.Now()
		made, err := c.CreateSession(ctx, ask)
		if err != nil {
			return fmt.Errorf("create a session: %w", err)
		}
		makes.took = append(makes.took, time.Since(begun))
		if err := c.EndSession(ctx, made.ID); err != nil {
			return fmt.Errorf("end a session: %w", err)
		}
	}

	execs, err := b.execs(ctx, c, ask, execsEach*b.cfg.sessions)
	if err != nil {
		return err
	}

	b.addLine("Sessions through brig serve, one client: %d created, p50 %.2f ms, p99 %.2f ms; `%s` executed in one "+
		"%d times, p50 %.2f ms, p99 %.2f ms.", len(makes.took),
		milli(makes.quantile(.5)), milli(makes.quantile(.99)), b.cfg.program, len(execs.took), milli(execs.quantile(.5)),
		milli(execs.quantile(.99)))
	b.atMost("creation of a session, p50", milli(makes.quantile(.5)), 50, "ms")
	b.atMost("execution of a command in a session, p50", milli(execs.quantile(.5)), 10, "ms")
	return nil
}

// execs times commands in one session, one after another.
func (b *bench) execs(ctx context.Context, c *client.Client, ask api.SessionRequest, n int) (s sample, err error) {
	made, err := c.CreateSession(ctx, ask)
	if err != nil {
		return s, fmt.Errorf("create a session: %w", err)
	}
	defer func() { err = errors.Join(err, c.EndSession(ctx, made.ID)) }()

	for range n {
		begun := time.Now()
		res, err := c.Exec(ctx, made.ID, api.Exec{Argv: b.run.Argv})
		if err == nil && res.Verdict != api.OK {
			err = fmt.Errorf("verdict %s; want ok", res.Verdict)
		}
		if err != nil {
			return s, fmt.Errorf("execute in a session: %w", err)
		}
		s.took = append(s.took, time.Since(begun))
	}

	return s, nil
}

func milli(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
