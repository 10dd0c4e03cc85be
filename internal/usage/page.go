// Package usage turns what a command says of itself, its --help text and its flags,
// into manual pages and shell completions, so that they cannot say anything else.
package usage

import (
	"cmp"
	"strings"

	"github.com/spf13/pflag"
)

// A Page is what one command says of itself.
type Page struct {
	Name  string // as it is typed: brig rootfs build
	Short string // one line; empty means the first sentence of Text
	Text  string // --help without the flags
	Flags *pflag.FlagSet
}

// Title is the name of the manual page, such as brig-rootfs-build.
func (p Page) Title() string { return strings.ReplaceAll(p.Name, " ", "-") }

// line is the page in one line, without a full stop.
func (p Page) line() string {
	first, _, _ := strings.Cut(p.Text, "\n\n")
	first = strings.Join(strings.Fields(first), " ") + " "
	first, _, _ = strings.Cut(first, ". ")
	return strings.TrimSpace(cmp.Or(p.Short, first))
}

// A flag is one of a command's.
type flag struct {
	name, short string // without dashes; short may be empty
	value       string // what stands for its value; empty: it takes none
	text        string // with its default
}

// takesFile tells from the name of the value whether files are worth offering.
func (f flag) takesFile() bool {
	return strings.Contains(f.value, "FILE") || strings.Contains(f.value, "DIR") || strings.Contains(f.value, "PATH")
}

// head is the flag as it is typed: -c, --code CODE.
func (f flag) head() string {
	head := "--" + f.name
	if f.short != "" {
		head = "-" + f.short + ", " + head
	}
	return strings.TrimSpace(head + " " + f.value)
}

// flags gives those that are not hidden, in the order of --help.
func (p Page) flags() []flag {
	var all []flag
	if p.Flags == nil {
		return nil
	}
	p.Flags.VisitAll(func(g *pflag.Flag) {
		if g.Hidden {
			return
		}
		// What pflag itself prints is the one place that knows how a default is written.
		one := pflag.NewFlagSet("", pflag.ContinueOnError)
		one.AddFlag(g)
		head, text, _ := strings.Cut(strings.TrimSpace(one.FlagUsages()), "   ")
		_, value, _ := strings.Cut(head, "--"+g.Name)
		all = append(all, flag{g.Name, g.Shorthand, strings.TrimSpace(value), strings.TrimSpace(text)})
	})
	return all
}

// below gives the pages of the subcommands of the command called name.
func below(all []Page, name string) []Page {
	var out []Page
	for _, p := range all {
		if rest, ok := strings.CutPrefix(p.Name, name+" "); ok && !strings.Contains(rest, " ") {
			out = append(out, p)
		}
	}
	return out
}

// lastWord is what is typed of a page after its command.
func (p Page) lastWord() string { return p.Name[strings.LastIndexByte(p.Name, ' ')+1:] }
