package main

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/rootfs/reader"
)

// buildRoom returns a build's check of space: before anything is downloaded it refuses an image for which the agent's
// store, or the directory of the temporary archive, has no room.
func (c *cli) buildRoom(ctx context.Context, a *caller.Agent) func(atLeast int64) error {
	return func(atLeast int64) error {
		if err := reader.Room(ctx, a, atLeast); err != nil {
			return err
		}

		var st unix.Statfs_t
		dir := os.TempDir()
		if err := unix.Statfs(dir, &st); err != nil {
			return fmt.Errorf("read the free space of %s: %w", dir, err)
		}
		if free := int64(st.Bavail) * st.Bsize; free < atLeast {
			return fmt.Errorf("%s has %s free, and the archive of the image needs about %s: free some, or set TMPDIR", dir,
				formatSize(free), formatSize(atLeast))
		}
		return nil
	}
}
