package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
)

// SnapshotCommand is brig snapshot: the copies of files of sessions, from which sessions begin.
func SnapshotCommand(c *cli.CLI) *cobra.Command {
	return c.Group("snapshot", `
List and remove snapshots: copies of the files of sessions, from which any number of new
sessions begin. They belong to the user of the session, and expire.

Usage:
  brig snapshot ls [--json]
  brig snapshot rm SNAPSHOT...

Examples:
  id=$(brig session create --language python)
  brig session exec $id -- sh -c 'echo 1 >state'
  brig session snapshot --name ready $id
  fork=$(brig session create --snapshot ready)
  brig session exec $fork -- cat state
  brig snapshot ls
  brig snapshot rm ready`, []cli.Command{
		{Name: "ls", Short: "list snapshots", Make: snapshotList},
		{Name: "rm", Short: "remove snapshots", Make: snapshotRemove},
	})
}

func snapshotList(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("snapshot ls", `
List your snapshots, the latest first.

Usage:
  brig snapshot ls [--json]

Examples:
  brig snapshot ls`)

	asJSON := cli.JSONFlag(f)
	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		if f.NArg() > 0 {
			return c.Hint("snapshot ls", fmt.Errorf("snapshot ls takes no argument %q", f.Arg(0)))
		}
		return withRunningAgent(c, *socket, func(ctx context.Context, agent *caller.Agent) error {
			all, err := agent.Snapshots(ctx, "")
			if err != nil {
				return err
			}
			return cli.PrintList(c, *asJSON, all, "SNAPSHOT\tNAME\tOF\tFILES\tSTORED\tCREATED\tEXPIRES", func(s api.Snapshot) string {
				return fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s\t%s", s.ID, cmp.Or(s.Name, "-"), cmp.Or(s.Language, shortDigest(s.Base)),
					s.Files, api.Size(s.Stored), s.Created, timeLeft(s.Expires))
			})
		})
	})
}

func snapshotRemove(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("snapshot rm", `
Remove snapshots, by id or name. Sessions that began with one keep their files.

Usage:
  brig snapshot rm SNAPSHOT...

Examples:
  brig snapshot rm ready`)

	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		if f.NArg() == 0 {
			return c.Hint("snapshot rm", fmt.Errorf("snapshot rm needs the id or name of a snapshot"))
		}
		return withRunningAgent(c, *socket, func(ctx context.Context, agent *caller.Agent) error {
			for _, ref := range f.Args() {
				if err := agent.DeleteSnapshot(ctx, ref, ""); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func sessionSnapshot(c *cli.CLI) *cobra.Command {
	var asJSON bool
	var ask api.SnapshotRequest
	return simple(c, "snapshot", `
Make a snapshot of the files of a session, and print its id. It has what is below /box
and /tmp, or below the paths that are named: files, directories, symbolic links, and
several names of one file, with modes and times. It has no FIFOs, sockets, setuid bits
or extended attributes, nothing of a volume, and no processes. All processes of the
session stand still meanwhile.

Usage:
  brig session snapshot [--name NAME] [--life TIME] ID [PATH...]

Examples:
  brig session snapshot $id
  brig session snapshot --name ready $id /box/src /tmp/cache
  brig session create --snapshot ready`, 1, 1+api.SnapshotPathsMax, func(f *pflag.FlagSet) {
		f.StringVar(&ask.Name, "name", "", "give it this `NAME`, which an earlier one loses")
		f.Var(&ask.Life, "life", fmt.Sprintf("remove it after this time (default %s)", api.SnapshotLife))
		f.Lookup("life").DefValue = "" // the text says it
		f.BoolVar(&asJSON, "json", false, "print the snapshot as JSON")
	}, func(words []string, socket string) int {
		ask.Paths = words[1:]
		if err := ask.Validate(); err != nil {
			return c.Hint("session snapshot", err)
		}
		return withRunningAgent(c, socket, func(ctx context.Context, agent *caller.Agent) error {
			made, err := agent.MakeSnapshot(ctx, words[0], ask)
			if err != nil {
				return err
			}
			if asJSON {
				c.Stdout.Write(cli.Marshal(made))
				return nil
			}
			tellSnapshot(c, made)
			fmt.Fprintln(c.Text(), made.ID)
			return nil
		})
	})
}

// tellSnapshot says on stderr what a snapshot does not have.
func tellSnapshot(c *cli.CLI, made api.SnapshotMade) {
	if !made.Frozen {
		fmt.Fprintln(c.Stderr, "brig: not all processes of the session stood still, so its files may be of different instants")
	}
	for _, s := range made.LeftOut {
		fmt.Fprintf(c.Stderr, "brig: left out: %s: %s\n", terminal.Quote(s.Name), s.Reason)
	}
	if made.Omitted > 0 {
		fmt.Fprintf(c.Stderr, "brig: left out: %d more\n", made.Omitted)
	}
}

func sessionDiff(c *cli.CLI) *cobra.Command {
	var asJSON bool
	var since string
	return simple(c, "diff", `
List how the files of a session differ from a snapshot: A is added, M is modified, R is
removed. Without --since it is the snapshot with which the session began; if there was
none, all files are added. Files are compared by content, not by time.

Usage:
  brig session diff [--since SNAPSHOT] [--json] ID

Examples:
  brig session diff $id
  brig session diff --since ready $id`, 1, 1, func(f *pflag.FlagSet) {
		f.StringVar(&since, "since", "", "compare with this `SNAPSHOT`, by id or name")
		f.BoolVar(&asJSON, "json", false, "print one JSON object a line")
	}, func(words []string, socket string) int {
		return withRunningAgent(c, socket, func(ctx context.Context, agent *caller.Agent) error {
			if asJSON {
				return agent.Diff(ctx, words[0], since, nil, c.Text())
			}
			out := &changeLines{to: c.Text()}
			if err := agent.Diff(ctx, words[0], since, nil, out); err != nil {
				return err
			}
			return out.err
		})
	})
}

// changeLines prints changes that arrive as lines of JSON.
type changeLines struct {
	to   io.Writer
	rest []byte // of a line that has not arrived whole
	err  error
}

func (l *changeLines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		l.rest = rest
		var change api.PathChange
		if err := json.Unmarshal(line, &change); err != nil {
			l.err = fmt.Errorf("the agent sent %q, which is no change of a file: %w", line[:min(len(line), 80)], err)
			return 0, l.err
		}
		name := change.Path
		if change.Bytes != nil {
			name = string(change.Bytes)
		}
		fmt.Fprintf(l.to, "%s %-9s %s\n", changeLetter[change.Change], change.Kind, terminal.Quote(name))
	}
}

var changeLetter = map[api.ChangeKind]string{api.PathAdded: "A", api.PathModified: "M", api.PathRemoved: "R"}

func sessionTake(c *cli.CLI) *cobra.Command {
	var asJSON bool
	return simple(c, "take", `
Copy files of another session into a session, at the same paths: regular files, and
directories with all that is in them, below /box or /tmp. A symbolic link, a FIFO, a
socket or a file that the programs of that session may not read is refused, with its
path. The agent copies; programs that write meanwhile cannot make it copy anything else.

Usage:
  brig session take TO FROM PATH...

Examples:
  brig session take $verifier $solver /box/out /tmp/report.json`, 3, 2+api.SnapshotPathsMax, func(f *pflag.FlagSet) {
		f.BoolVar(&asJSON, "json", false, "print what was copied as JSON")
	}, func(words []string, socket string) int {
		ask := api.TakeRequest{From: words[1], Paths: words[2:]}
		if err := ask.Validate(); err != nil {
			return c.Hint("session take", err)
		}
		return withRunningAgent(c, socket, func(ctx context.Context, agent *caller.Agent) error {
			taken, err := agent.Take(ctx, words[0], ask)
			if err == nil && asJSON {
				c.Stdout.Write(cli.Marshal(taken))
			}
			return err
		})
	})
}
