package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/usage"
)

// commandPages returns the help of all commands. Each subcommand follows its command.
func commandPages() []usage.Page {
	c := &cli.CLI{Env: func(string) string { return "" }}
	var pages []usage.Page
	var add func(k *cobra.Command)
	add = func(k *cobra.Command) {
		for _, sub := range k.Commands() {
			if !sub.Hidden {
				pages = append(pages, cli.PageOf(sub))
				add(sub)
			}
		}
	}

	add(c.Root(commands()))
	return pages
}

func completionCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("completion", `
Print the completion of brig for a shell.

Usage:
  brig completion bash|zsh|fish

Examples:
  source <(brig completion bash)
  brig completion zsh >/usr/local/share/zsh/site-functions/_brig
  brig completion fish >~/.config/fish/completions/brig.fish`)

	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return c.Hint("completion", fmt.Errorf("brig completion needs the name of a shell: bash, zsh or fish"))
		}

		var err error
		switch root := k.Root(); f.Arg(0) {
		case "bash":
			err = root.GenBashCompletionV2(c.Stdout, true)
		case "zsh":
			err = root.GenZshCompletion(c.Stdout)
		case "fish":
			err = root.GenFishCompletion(c.Stdout, true)
		default:
			return c.Hint("completion", fmt.Errorf("brig has no completion for %q: use bash, zsh or fish", f.Arg(0)))
		}

		if err != nil {
			return c.Fail(err)
		}
		return 0
	})
}

func docsCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("docs", `
Write the manual pages of brig and its commands, for packages.

Usage:
  brig docs --man DIR`)

	dir := f.String("man", "", "`DIR` to write to")
	return c.Does(k, func() int {
		if *dir == "" || f.NArg() > 0 {
			return c.Hint("docs", fmt.Errorf("brig docs needs --man DIR"))
		}
		for name, text := range manPages() {
			if err := cli.WriteOutput(filepath.Join(*dir, name), []byte(text)); err != nil {
				return c.Fail(err)
			}
		}
		return 0
	})
}

// manPages returns the files of the manual: one for brig, and one for each command and subcommand.
func manPages() map[string]string {
	const mine, agent = "brig(1)", "brigd(8)"
	all := commandPages()
	out := map[string]string{}
	see := []string{}
	for _, p := range all {
		also := []string{mine}
		for _, other := range all { // its parent and its subcommands
			if other.Name != p.Name && (strings.HasPrefix(other.Name, p.Name+" ") || strings.HasPrefix(p.Name, other.Name+" ")) {
				also = append(also, other.Title()+"(1)")
			}
		}
		out[p.Title()+".1"] = p.Man(1, version, append(also, agent))
		see = append(see, p.Title()+"(1)")
	}

	top := usage.Page{Name: "brig", Short: "run untrusted programs", Text: overview()}
	out["brig.1"] = top.Man(1, version, append(slices.Clip(see), agent))
	return out
}
