package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/brig-sandbox/brig/runtime"
)

// sweep removes what killed agents left, and prints the id of each. Living agents
// hold a lock and are left alone.
func sweep(runDir string) error {
	swept, err := runtime.SweepDead(runDir, slog.New(slog.DiscardHandler))
	for _, id := range swept {
		fmt.Println(id)
	}
	return err
}

// sweepEvery is the interval between two sweeps for what dead agents left.
const sweepEvery = time.Hour

// sweepHourly removes, every hour until ctx is done, what killed agents of this run directory
// left, and logs which. The start of this agent has already done so once.
func sweepHourly(ctx context.Context, runDir string, log *slog.Logger) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if _, err := runtime.SweepDead(runDir, log); err != nil {
				log.Error("could not remove everything that dead agents left", "err", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

var errLost = errors.New("the files of this agent were removed")

// endIfLost ends the agent if its files below the run directory are lost. It removes its groups while it
// knows them, and a supervisor starts a new one.
func endIfLost(ctx context.Context, lost <-chan struct{}, end context.CancelCauseFunc, runDir string) {
	select {
	case <-lost:
		end(fmt.Errorf("%w from %s, so that nothing could clean up after it: it ends; start it again, and leave %s "+
			"alone while it runs", errLost, runDir, runDir))
	case <-ctx.Done():
	}
}
