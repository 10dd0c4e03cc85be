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

// sweepEvery is the time between two looks for what agents left that died meanwhile.
const sweepEvery = time.Hour

// sweepHourly removes what other agents of this run directory left when they
// were killed, until ctx is done; the log says which. A start has done so already.
func sweepHourly(ctx context.Context, runDir string, log *slog.Logger) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if _, err := runtime.SweepDead(runDir, log); err != nil {
				log.Error("not all that dead agents left could be removed", "err", err)
			}
		case <-ctx.Done():
			return
		}
	}
}
