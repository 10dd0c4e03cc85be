package images

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
)

// PackagesCommand is brig packages: the sets of packages that are installed.
func PackagesCommand(c *cli.CLI) *cobra.Command {
	return c.Group("packages", `
List, remove and prepare sets of packages. brig run --requirement installs a set when it
is first needed; warm does so ahead. Sets that root installs serve every user.

Usage:
  brig packages ls [--json]
  brig packages rm KEY...
  brig packages warm --language NAME PACKAGE...

Examples:
  sudo brig packages warm --language python 'numpy==2.*' pandas
  brig packages ls
  brig packages rm 3fa1c2`, []cli.Command{
		{Name: "ls", Short: "list the sets of packages", Make: packagesList},
		{Name: "rm", Short: "remove sets of packages", Make: packagesRemove},
		{Name: "warm", Short: "install a set of packages ahead", Make: packagesWarm},
	})
}

// shortKey is how much of a key is shown.
const shortKey = 12

func packagesList(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("packages ls", `
List the sets of packages that you may use: your own, and those of root. Root sees all.
The set that was used least recently comes first: it is the first to be removed when
they take more than brigd --packages-cache.

Usage:
  brig packages ls [--json]

Examples:
  brig packages ls`)

	asJSON := f.Bool("json", false, "print JSON, with the version of each package")
	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		if f.NArg() > 0 {
			return c.Hint("packages ls", fmt.Errorf("packages ls takes no argument %q", f.Arg(0)))
		}

		return c.WithAnyAgent(*socket, func(ctx context.Context, agent *caller.Agent) error {
			all, err := agent.PackageSets(ctx)
			if err != nil {
				return err
			}
			return cli.PrintList(c, *asJSON, all, "KEY\tLANGUAGE\tSIZE\tUSED\tOWNER\tREQUIREMENTS", func(s api.PackageSet) string {
				return fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%s", s.Key[:min(len(s.Key), shortKey)], s.Language, cli.FormatSize(s.Size),
					s.Used, s.Owner, terminal.OneLine(strings.Join(s.Requirements, " ")))
			})
		})
	})
}

func packagesRemove(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("packages rm", `
Remove sets of packages. A run that uses a set keeps it until it ends. The beginning of
a KEY is enough if no other set has it.

Usage:
  brig packages rm KEY...

Examples:
  brig packages rm 3fa1c2`)

	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		if f.NArg() == 0 {
			return c.Hint("packages rm", fmt.Errorf("packages rm needs the KEY of a set: brig packages ls lists them"))
		}

		return c.WithAnyAgent(*socket, func(ctx context.Context, agent *caller.Agent) error {
			all, err := agent.PackageSets(ctx)
			if err != nil {
				return err
			}

			for _, prefix := range f.Args() {
				key, err := findKey(all, prefix)
				if err == nil {
					err = agent.RemovePackages(ctx, key)
				}
				if err != nil {
					return err
				}
			}

			return nil
		})
	})
}

// findKey finds the one set whose key begins with prefix.
func findKey(all []api.PackageSet, prefix string) (key string, err error) {
	for _, s := range all {
		switch {
		case prefix == "" || !strings.HasPrefix(s.Key, prefix):
		case key != "":
			return "", api.Refuse(api.CodeBadRequest, "several sets of packages begin with %q: write more of the key", prefix)
		default:
			key = s.Key
		}
	}

	if key == "" {
		return "", api.Refuse(api.CodeNotFound, "there is no set of packages %.80q: brig packages ls lists them", prefix)
	}
	return key, nil
}

func packagesWarm(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("packages warm", `
Install a set of packages ahead, so that the first run that asks for it does not wait.

Usage:
  brig packages warm --language NAME PACKAGE...
  brig packages warm --language NAME --requirements FILE

Examples:
  sudo brig packages warm --language python 'numpy==2.*' 'pandas>=2,<3'`)

	var p PackageFlags
	f.StringArrayVar(&p.files, "requirements", nil, "install the packages that this `FILE` lists, one a line (repeatable)")
	p.registerIndex(f)
	name := f.StringP("language", "l", "python", "`NAME` of the language")
	noBuild := f.Bool("no-build", false, "do not build a missing image")
	asJSON := f.Bool("json", false, "print the set as JSON")
	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		p.names = f.Args()
		names, err := p.Requirements()
		if err == nil && len(names) == 0 {
			err = fmt.Errorf("packages warm needs the name of a package")
		}
		if err != nil {
			return c.Hint("packages warm", err)
		}

		return c.WithAnyAgent(*socket, func(ctx context.Context, agent *caller.Agent) error {
			all, err := agent.Languages(ctx)
			if err != nil {
				return err
			}

			l, err := cli.LanguageOf(all, *name, cli.Source{})
			if err != nil {
				return err
			}
			if err := EnsureImage(ctx, c, agent, l, *noBuild); err != nil {
				return err
			}

			r := api.PackageRequest{Language: l.Name, Requirements: names, Index: IndexOf(c, l, p.Index)}
			set, err := WithPackages(ctx, c, agent, l, r, *noBuild,
				func() (api.PackageSet, error) { return agent.Packages(ctx, r) })
			if err != nil {
				return err
			}
			if *asJSON {
				c.Stdout.Write(cli.Marshal(set))
				return nil
			}

			fmt.Fprintf(c.Text(), "%s %s %s\n", set.Key[:shortKey], cli.FormatSize(set.Size),
				terminal.OneLine(strings.Join(set.Installed, " ")))
			return nil
		})
	})
}
