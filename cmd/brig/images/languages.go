package images

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/suggest"
)

// LanguagesCommand makes brig languages.
func LanguagesCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("languages", `
List the languages that the agent can run. TIERS has the compiler's tier before the program's
if they differ, FLAGS the default flags before the others that brig run --flag accepts. The
first command of root that runs a program of a language builds its image, or pulls it from
the registry that its manifest names. An image that is older than its language must be built
again: brig rootfs ls says why. With a NAME, such as cs or Python, only that language is
listed, and below it the forms of further flags, as regular expressions.

Usage:
  brig languages [--json] [NAME]

Example:
  brig languages
  brig languages cpp
  brig languages --json`)

	socket := cli.SocketFlag(f)
	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		if f.NArg() > 1 {
			return c.Fail(fmt.Errorf("%d names: name one language, or none", f.NArg()))
		}

		agent, err := c.Connect(*socket)
		if err != nil {
			return c.Fail(err)
		}
		defer agent.Close()

		all, err := agent.Languages(context.Background())
		if err != nil {
			return c.Fail(agent.Explain(err))
		}

		if name := f.Arg(0); name != "" {
			one, err := languageNamed(all, name)
			if err != nil {
				return c.Fail(err)
			}
			all = []api.Language{one}
		}

		if err := cli.PrintList(c, *asJSON, all, "LANGUAGE\tOTHER NAMES\tVERSION\tFILES\tIMAGE\tSTORED\tTIERS\tFLAGS",
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
			return c.Fail(err)
		}

		if f.NArg() == 1 && !*asJSON && len(all[0].FlagPatterns) > 0 {
			fmt.Fprintf(c.Stdout, "\nFurther flags of %s match one of\n  %s\n", all[0].Name, strings.Join(all[0].FlagPatterns, "\n  "))
		}
		return 0
	})
}

// languageNamed returns the language with a name, one of its other names, or an extension.
func languageNamed(all []api.Language, name string) (api.Language, error) {
	for _, l := range all {
		if slices.ContainsFunc(slices.Concat([]string{l.Name}, l.Aliases, l.Extensions),
			func(own string) bool { return strings.EqualFold(own, name) }) {
			return l, nil
		}
	}

	names := make([]string, len(all))
	for i, l := range all {
		names[i] = l.Name
	}
	return api.Language{}, fmt.Errorf("no language is named %q%s", name,
		cmp.Or(suggest.Text(strings.ToLower(name), names), ": brig languages lists them"))
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
