package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
)

// volumeCommand is brig volume: the file systems that outlive sessions.
func volumeCommand(c *cli) *cobra.Command {
	return c.group("volume", `
List and remove volumes: file systems of a fixed size that sessions mount at
/workspace, and that outlive them. The first session that requests a volume creates
it; the volume belongs to the user of that session.

Usage:
  brig volume ls [--json]
  brig volume rm NAME...

Examples:
  id=$(brig session create --language python --volume thesis)
  brig session put --volume $id data.csv
  brig session exec $id -- ls -l /workspace
  brig session rm $id
  brig volume ls
  brig volume rm thesis`, []command{
		{name: "ls", short: "list volumes", make: volumeList},
		{name: "rm", short: "remove volumes with their contents", make: volumeRemove},
	})
}

// volumeFlag defines the flag of commands that work in /box or in the session's volume.
func volumeFlag(f *pflag.FlagSet, volume *bool) {
	f.BoolVar(volume, "volume", false, "in the session's volume, at /workspace, instead of /box")
}

func volumeList(c *cli) *cobra.Command {
	k, f := newCommand("volume ls", `
List your volumes, and the sessions that use them now.

Usage:
  brig volume ls [--json]

Examples:
  brig volume ls`)

	asJSON := jsonFlag(f)
	socket := socketFlag(f)
	return c.does(k, func() int {
		if f.NArg() > 0 {
			return c.hint("volume ls", fmt.Errorf("volume ls takes no argument %q", f.Arg(0)))
		}
		return c.withRunningAgent(*socket, func(ctx context.Context, agent *caller.Agent) error {
			all, err := agent.Volumes(ctx)
			if err != nil {
				return err
			}
			return printList(c, *asJSON, all, "VOLUME\tSIZE\tMODIFIED\tSESSIONS", func(v api.Volume) string {
				return fmt.Sprintf("%q\t%s\t%s\t%s", v.Name, v.Size, v.Modified, cmp.Or(strings.Join(v.Sessions, " "), "-"))
			})
		})
	})
}

func volumeRemove(c *cli) *cobra.Command {
	k, f := newCommand("volume rm", `
Remove volumes with their contents. A volume that a session uses is not removed: end
the session first.

Usage:
  brig volume rm NAME...

Examples:
  brig volume rm thesis`)

	socket := socketFlag(f)
	return c.does(k, func() int {
		if f.NArg() == 0 {
			return c.hint("volume rm", fmt.Errorf("volume rm needs the NAME of a volume"))
		}
		return c.withRunningAgent(*socket, func(ctx context.Context, agent *caller.Agent) error {
			for _, name := range f.Args() {
				if err := agent.DeleteVolume(ctx, name); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
