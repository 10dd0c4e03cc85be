package main

import (
	"context"
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
