package run

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
)

// VolumeCommand is brig volume: the file systems that outlive sessions.
func VolumeCommand(c *cli.CLI) *cobra.Command {
	return c.Group("volume", `
List and remove volumes: file systems of a fixed size that sessions mount at
/workspace, and that outlive them. The first session that requests a volume creates
it; the volume belongs to the user of that session.

Usage:
  brig volume ls [--json]
  brig volume rm [--run RUN] NAME...

Examples:
  id=$(brig session create --language python --volume thesis)
  brig session put --volume $id data.csv
  brig session exec $id -- ls -l /workspace
  brig session rm $id
  brig volume ls
  brig volume rm thesis`, []cli.Command{
		{Name: "ls", Short: "list volumes", Make: volumeList},
		{Name: "rm", Short: "remove volumes with their contents", Make: volumeRemove},
	})
}

// volumeFlag defines the flag of commands that work in /box or in the session's volume.
func volumeFlag(f *pflag.FlagSet, volume *bool) {
	f.BoolVar(volume, "volume", false, "in the session's volume, at /workspace, instead of /box")
}

func volumeList(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("volume ls", `
List your volumes, and the sessions that use them now.

Usage:
  brig volume ls [--json]

Examples:
  brig volume ls`)

	asJSON := cli.JSONFlag(f)
	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		if f.NArg() > 0 {
			return c.Hint("volume ls", fmt.Errorf("volume ls takes no argument %q", f.Arg(0)))
		}
		return withRunningAgent(c, *socket, func(ctx context.Context, agent *caller.Agent) error {
			all, err := agent.Volumes(ctx)
			if err != nil {
				return err
			}
			return cli.PrintList(c, *asJSON, all, "VOLUME\tSIZE\tMODIFIED\tSESSIONS\tRUN", func(v api.Volume) string {
				return fmt.Sprintf("%q\t%s\t%s\t%s\t%s", v.Name, v.Size, v.Modified,
					cmp.Or(strings.Join(v.Sessions, " "), "-"), cmp.Or(terminal.Quote(v.Run), "-"))
			})
		})
	})
}

func volumeRemove(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("volume rm", `
Remove volumes with their contents. A volume that a session uses is not removed: end
the session first.

Usage:
  brig volume rm [--run RUN] NAME...

Examples:
  brig volume rm thesis`)

	run := f.String("run", "", "the temporary volumes of this `RUN`, instead of those that last")
	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		if f.NArg() == 0 {
			return c.Hint("volume rm", fmt.Errorf("volume rm needs the NAME of a volume"))
		}
		return withRunningAgent(c, *socket, func(ctx context.Context, agent *caller.Agent) error {
			for _, name := range f.Args() {
				if err := agent.DeleteTemporaryVolume(ctx, name, *run); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
