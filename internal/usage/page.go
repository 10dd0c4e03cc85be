// Package usage makes manual pages from a command's --help text and flags, so that they always
// agree.
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

// Summary returns the summary of the page in one line, without a full stop.
func (p Page) Summary() string {
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
