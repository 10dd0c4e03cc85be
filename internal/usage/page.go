// Package usage makes manual pages, and tables for the documents, from a command's --help text and
// flags, so that they always agree.
package usage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// A Page is the help of one command.
type Page struct {
	Name  string // as typed: brig rootfs build
	Short string // one line; empty means the first sentence of Text
	Text  string // --help without the flags
	Flags *pflag.FlagSet

	Sections []Section // of the flags; none: they are in one list
}

// A Section names the flags that are shown under one heading.
type Section struct {
	Heading string
	Flags   []string
}

// Other is the heading of flags that are in no section.
const Other = "Other"

// Help returns the text of --help.
func (p Page) Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", p.Text)
	for _, part := range p.parts() {
		fmt.Fprintf(&b, "\n%s:\n%s", cmp.Or(part.heading, "Flags"), part.FlagUsages())
	}
	return b.String()
}

// A flagPart is the flags of a section that a command has.
type flagPart struct {
	heading string // empty: they are all
	*pflag.FlagSet
}

// parts returns the flags that are not hidden by section, in the order of --help.
func (p Page) parts() []flagPart {
	var all []flagPart
	if p.Flags == nil {
		return nil
	}

	for _, s := range append(slices.Clone(p.Sections), Section{Heading: Other}) {
		part := flagPart{s.Heading, newFlagSet()}
		p.Flags.VisitAll(func(g *pflag.Flag) {
			if !g.Hidden && p.headingOf(g.Name) == s.Heading {
				part.AddFlag(g)
			}
		})
		if !part.HasFlags() {
			continue
		}
		if len(p.Sections) == 0 {
			part.heading = ""
		}
		all = append(all, part)
	}

	return all
}

// headingOf is the heading of the first section that names a flag.
func (p Page) headingOf(flag string) string {
	for _, s := range p.Sections {
		if slices.Contains(s.Flags, flag) {
			return s.Heading
		}
	}
	return Other
}

func newFlagSet() *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags = false
	return f
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

// synopsis formats the flag as it is typed: -c, --code CODE, or --json[=FILE].
func (f flag) synopsis() string {
	head := "--" + f.name
	if f.short != "" {
		head = "-" + f.short + ", " + head
	}
	if value, _, ok := strings.Cut(f.value, "[="); ok { // pflag writes FILE[="-"]
		return head + "[=" + value + "]"
	}
	return strings.TrimSpace(head + " " + f.value)
}

// flags returns the flags of the part, in its order.
func (p flagPart) flags() []flag {
	var all []flag
	p.VisitAll(func(g *pflag.Flag) {
		// Only pflag's own output shows how a default is written.
		one := newFlagSet()
		one.AddFlag(g)
		head, text, _ := strings.Cut(strings.TrimSpace(one.FlagUsages()), "   ")
		_, value, _ := strings.Cut(head, "--"+g.Name)
		all = append(all, flag{g.Name, g.Shorthand, strings.TrimSpace(value), strings.TrimSpace(text)})
	})

	return all
}
