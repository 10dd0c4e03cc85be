package images

import (
	"context"
	"fmt"
	"os"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/reader"
)

// buildRoom returns a build's check of space: before anything is downloaded it refuses an image for which the agent's
// store, or the directory of the temporary archive, has no room.
func buildRoom(ctx context.Context, c *cli.CLI, a *caller.Agent) func(atLeast int64) error {
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
				cli.FormatSize(free), cli.FormatSize(atLeast))
		}
		return nil
	}
}
