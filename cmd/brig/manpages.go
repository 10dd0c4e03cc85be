package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/internal/usage"
)

// commandPages collects the help of commands without running them: completions and manual pages are made
// from nothing else. Each subcommand follows its command.
func commandPages(all []command) []usage.Page {
	c := &cli{env: func(string) string { return "" }, helpPages: &[]usage.Page{}}
	c.addPages(all)
	return *c.helpPages
}

func (c *cli) addPages(all []command) {
	for _, k := range all {
		if k.hidden {
			continue
		}
		n := len(*c.helpPages)
		k.run(c, nil)
		(*c.helpPages)[n].Short = k.short
	}
}

func completionCommand(c *cli, args []string) int {
	f := c.flags("completion", `
Print the completion of brig for a shell.

Usage:
  brig completion bash|zsh|fish

Examples:
  source <(brig completion bash)
  brig completion zsh >/usr/local/share/zsh/site-functions/_brig
  brig completion fish >~/.config/fish/completions/brig.fish`)
	if code, done := c.parse(f, args); done {
		return code
	}
	shells := map[string]func(string, []usage.Page) string{"bash": usage.Bash, "zsh": usage.Zsh, "fish": usage.Fish}
	if f.NArg() != 1 || shells[f.Arg(0)] == nil {
		return c.hint("completion", fmt.Errorf("brig completion needs the name of a shell: bash, zsh or fish"))
	}
	fmt.Fprint(c.text(), shells[f.Arg(0)]("brig", commandPages(commands())))
	return 0
}

func docsCommand(c *cli, args []string) int {
	f := c.flags("docs", `
Write the manual pages of brig and its commands, for packages.

Usage:
  brig docs --man DIR`)
	dir := f.String("man", "", "`DIR` to write to")
	if code, done := c.parse(f, args); done {
		return code
	}
	if *dir == "" || f.NArg() > 0 {
		return c.hint("docs", fmt.Errorf("brig docs needs --man DIR"))
	}
	for name, text := range manPages() {
		if err := writeOutput(filepath.Join(*dir, name), []byte(text)); err != nil {
			return c.fail(err)
		}
	}
	return 0
}

// manPages returns the files of the manual: one for brig, and one for each command and subcommand.
func manPages() map[string]string {
	const mine, agent = "brig(1)", "brigd(8)"
	all := commandPages(commands())
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
