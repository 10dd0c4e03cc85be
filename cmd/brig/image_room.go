package main

import (
	"context"
	"fmt"
	"os"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/reader"
)

// buildRoom returns a build's check of space: before anything is downloaded it refuses an image for which the agent's
// store, or the directory of the temporary archive, has no room.
func (c *cli) buildRoom(ctx context.Context, a *caller.Agent) func(atLeast int64) error {
	return func(atLeast int64) error {
		if err := reader.Room(ctx, a, atLeast); err != nil {
			return err
		}

		dir := os.TempDir()
		free, err := rootfs.Free(dir)
		if err != nil {
			return err
		}
		if free < atLeast {
			return fmt.Errorf("%s has %s free, and the archive of the image needs about %s: free some, or set TMPDIR", dir,
				formatSize(free), formatSize(atLeast))
		}
		return nil
	}
}
