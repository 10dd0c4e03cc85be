package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
)

func languagesCommand(c *cli) *cobra.Command {
	k, f := newCommand("languages", `
List the languages that the agent can run. TIERS has the compiler's tier before the program's
if they differ, FLAGS the default flags before the others that brig run --flag accepts. The
first command of root that runs a program of a language builds its image, or pulls it from
the registry that its manifest names. An image that is older than its language must be built
again: brig rootfs ls says why.

Usage:
  brig languages [--json]

Example:
  brig languages
  brig languages --json`)

	socket := socketFlag(f)
	asJSON := f.Bool("json", false, "print JSON")
	return c.does(k, func() int {
		agent, err := c.connect(*socket)
		if err != nil {
			return c.fail(err)
		}
		defer agent.Close()

		all, err := agent.Languages(context.Background())
		if err != nil {
			return c.fail(agent.explain(err))
		}

		if err := printList(c, *asJSON, all, "LANGUAGE\tOTHER NAMES\tVERSION\tFILES\tIMAGE\tSTORED\tTIERS\tFLAGS",
			func(l api.Language) string {
				stored := "no"
				switch {
				case len(l.Lacks) > 0:
					stored = "older"
				case l.Stored:
					stored = "yes"
				}
				return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", l.Name, orDash(l.Aliases), orDash([]string{l.Version}),
					orDash(l.Extensions), l.Image, stored, l.Tiers(), flagsOf(l))
			}); err != nil {
			return c.fail(err)
		}

		return 0
	})
}

func orDash(words []string) string { return cmp.Or(strings.Join(words, " "), "-") }

// flagsOf lists the compiler flags that a run may use, the default ones first.
func flagsOf(l api.Language) string {
	var more []string
	for _, f := range l.Flags {
		if !slices.Contains(l.DefaultFlags, f) {
			more = append(more, f)
		}
	}

	if len(l.FlagPatterns) > 0 {
		more = append(more, "...")
	}

	switch {
	case len(l.Flags)+len(l.FlagPatterns) == 0:
		return "-"
	case len(more) == 0:
		return strings.Join(l.DefaultFlags, " ")
	}

	return orDash(l.DefaultFlags) + " (or " + strings.Join(more, " ") + ")"
}
