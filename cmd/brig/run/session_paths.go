package run

import (
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

// isAbsolute reports whether a file of a session is named by its absolute path, and not below /box.
func isAbsolute(name string) bool { return strings.HasPrefix(name, "/") }

// checkAbsolute refuses flags that have no meaning for absolute paths.
func checkAbsolute(name string, volume bool) error {
	if isAbsolute(name) && volume {
		return fmt.Errorf("--volume is for names below /workspace: write --volume %s, or %s alone", strings.TrimLeft(name, "/"), name)
	}
	return nil
}

func sessionStat(c *cli.CLI) *cobra.Command {
	var asJSON, follow bool
	return simple(c, "stat", `
Describe a file, directory or link in a session by its absolute path: kind and mode,
owner, group, size, time of the last change.

Usage:
  brig session stat [--follow] [--json] ID PATH

Examples:
  brig session stat $id /tmp/out.txt
  brig session stat --follow $id /bin/sh`, 2, 2, func(f *pflag.FlagSet) {
		f.BoolVar(&asJSON, "json", false, "print JSON")
		f.BoolVar(&follow, "follow", false, "describe what a link leads to")
	}, func(words []string, socket string) int {
		return withRunningAgent(c, socket, func(ctx context.Context, agent *caller.Agent) error {
			st, err := agent.Paths(words[0]).Status(ctx, words[1], follow)
			if err != nil {
				return err
			}
			if asJSON {
				c.Stdout.Write(cli.Marshal(st))
				return nil
			}
			fmt.Fprintln(c.Text(), statusLine(st))
			return nil
		})
	})
}

// statusLine describes a file in a line. Its path and target are quoted: they come from a program.
func statusLine(st api.PathStatus) string {
	line := fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s", st.Permissions, st.Owner, st.Group, st.Size, st.Modified, terminal.Quote(st.Raw()))
	if st.Target != "" {
		line += " -> " + terminal.Quote(st.Target)
	}
	return line
}

// listPaths lists a directory by its absolute path, all pages.
func listPaths(ctx context.Context, c *cli.CLI, agent *caller.Agent, id, dir string, depth int, asJSON bool) error {
	all := api.PathList{Entries: []api.PathStatus{}}
	t := cli.AlignedTable(c.Text())
	l := api.PathListing{Depth: depth, Limit: api.PathListMax}
	for {
		page, err := agent.Paths(id).List(ctx, dir, l)
		if err != nil {
			return err
		}
		for _, e := range page.Entries {
			if asJSON {
				all.Entries = append(all.Entries, e)
			} else {
				fmt.Fprintln(t, statusLine(e))
			}
		}
		all.Skipped = append(all.Skipped, page.Skipped...)
		if l.After = page.Next; l.After == "" {
			break
		}
	}

	if asJSON {
		c.Stdout.Write(cli.Marshal(all))
		return nil
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range all.Skipped {
		c.Note("%q is not listed: %s", s.Name, s.Reason)
	}
	return nil
}

func sessionMakeDir(c *cli.CLI) *cobra.Command {
	var mode string
	return simple(c, "mkdir", `
Make a directory in a session by its absolute path, and missing ones above it. One that
exists stays as it is.

Usage:
  brig session mkdir [--mode MODE] ID PATH

Examples:
  brig session mkdir $id /tmp/d/in`, 2, 2, func(f *pflag.FlagSet) {
		f.StringVar(&mode, "mode", "", "`MODE` of the directory, such as 0700 (default 0755)")
	}, func(words []string, socket string) int {
		return withRunningAgent(c, socket, func(ctx context.Context, agent *caller.Agent) error {
			_, err := agent.Paths(words[0]).MakeDir(ctx, words[1], mode)
			return err
		})
	})
}

func sessionMove(c *cli.CLI) *cobra.Command {
	var replace bool
	return simple(c, "mv", `
Rename a file or directory of a session. Both paths are absolute. Between file systems,
such as /box and /tmp, only a regular file is moved.

Usage:
  brig session mv [--replace] ID FROM TO

Examples:
  brig session mv $id /box/out.txt /box/old/out.txt`, 3, 3, func(f *pflag.FlagSet) {
		f.BoolVar(&replace, "replace", false, "take the place of what TO is")
	}, func(words []string, socket string) int {
		return withRunningAgent(c, socket, func(ctx context.Context, agent *caller.Agent) error {
			return agent.Paths(words[0]).Move(ctx, words[1], words[2], replace)
		})
	})
}

func sessionUnlink(c *cli.CLI) *cobra.Command {
	var recursive bool
	return simple(c, "unlink", `
Remove a file, a link or an empty directory of a session by its absolute path.

Usage:
  brig session unlink [-r] ID PATH

Examples:
  brig session unlink $id /tmp/out.txt
  brig session unlink -r $id /tmp/d`, 2, 2, func(f *pflag.FlagSet) {
		f.BoolVarP(&recursive, "recursive", "r", false, "remove a directory with all that is in it")
	}, func(words []string, socket string) int {
		return withRunningAgent(c, socket, func(ctx context.Context, agent *caller.Agent) error {
			return agent.Paths(words[0]).Remove(ctx, words[1], recursive)
		})
	})
}
