// Package usage makes manual pages and shell completions from a command's --help text and
// flags, so that they always agree.
package usage

import (
	"cmp"
	"strings"

	"github.com/spf13/pflag"
)

// A Page is the help of one command.
type Page struct {
	Name  string // as typed: brig rootfs build
	Short string // one line; empty means the first sentence of Text
	Text  string // --help without the flags
	Flags *pflag.FlagSet
}

// Title returns the name of the manual page, such as brig-rootfs-build.
func (p Page) Title() string { return strings.ReplaceAll(p.Name, " ", "-") }

// summary returns the summary of the page in one line, without a full stop.
func (p Page) summary() string {
	first, _, _ := strings.Cut(p.Text, "\n\n")
	first = strings.Join(strings.Fields(first), " ") + " "
	first, _, _ = strings.Cut(first, ". ")
	return strings.TrimSpace(cmp.Or(p.Short, first))
}

// A flag is one flag of a command.
type flag struct {
	name, short string // without dashes; short may be empty
	value       string // placeholder of its value; empty: it takes none
	text        string // description, with its default
}

// takesFile reports whether completion should offer files, judged by the value's name.
func (f flag) takesFile() bool {
	return strings.Contains(f.value, "FILE") || strings.Contains(f.value, "DIR") || strings.Contains(f.value, "PATH")
}

// synopsis formats the flag as it is typed: -c, --code CODE.
func (f flag) synopsis() string {
	head := "--" + f.name
	if f.short != "" {
		head = "-" + f.short + ", " + head
	}
	return strings.TrimSpace(head + " " + f.value)
}

// flags returns the flags that are not hidden, in the order of --help.
func (p Page) flags() []flag {
	var all []flag
	if p.Flags == nil {
		return nil
	}
	p.Flags.VisitAll(func(g *pflag.Flag) {
		if g.Hidden {
			return
		}
		// Only pflag's own output shows how a default is written.
		one := pflag.NewFlagSet("", pflag.ContinueOnError)
		one.AddFlag(g)
		head, text, _ := strings.Cut(strings.TrimSpace(one.FlagUsages()), "   ")
		_, value, _ := strings.Cut(head, "--"+g.Name)
		all = append(all, flag{g.Name, g.Shorthand, strings.TrimSpace(value), strings.TrimSpace(text)})
	})
	return all
}

// subcommands returns the pages of the direct subcommands of the command called name.
func subcommands(all []Page, name string) []Page {
	var out []Page
	for _, p := range all {
		if rest, ok := strings.CutPrefix(p.Name, name+" "); ok && !strings.Contains(rest, " ") {
			out = append(out, p)
		}
	}
	return out
}

// lastWord returns the last word of the command's name.
func (p Page) lastWord() string { return p.Name[strings.LastIndexByte(p.Name, ' ')+1:] }
