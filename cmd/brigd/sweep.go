package main

import (
	"fmt"
	"log/slog"

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
