package usage

import (
	"fmt"
	"strings"
)

// Man returns the page for section of the manual, in the markup of man(7). also are
// the titles of related pages, such as brigd(8).
func (p Page) Man(section int, version string, related []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".\\\" Made from the command's own --help.\n.TH %s %d \"\" %s %s\n.nh\n",
		strings.ToUpper(roff(p.Title())), section, quoted("brig "+version), quoted("The manual of brig"))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(p.Title()), roff(p.Summary()))
	parts := split(p.Text)
	parts.write(&b, "SYNOPSIS", "usage")
	parts.write(&b, "DESCRIPTION", "")
	for _, s := range parts {
		switch s.title {
		case "", "usage", "examples":
		default:
			parts.write(&b, strings.ToUpper(s.title), s.title)
		}
	}

	for i, part := range p.parts() {
		if i == 0 {
			b.WriteString(".SH OPTIONS\n")
		}
		if part.heading != "" {
			fmt.Fprintf(&b, ".SS %s\n", roff(part.heading))
		}
		for _, f := range part.flags() {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(f.synopsis()), roff(f.text))
		}
	}

	parts.write(&b, "EXAMPLES", "examples")
	if len(related) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", roff(strings.Join(related, ", ")))
	}
	return b.String()
}

// A part of a text is everything under one of its headings.
type part struct {
	title  string // in lower case; empty: text without a heading
	blocks []string
}

type parts []part

// split splits a --help text into parts. A heading is a line that ends in a colon and is
// followed by indented lines; all indented blocks that follow belong to it.
func split(text string) parts {
	all := parts{{}}
	add := func(title, block string) {
		for i := range all {
			if all[i].title == title {
				all[i].blocks = append(all[i].blocks, block)
				return
			}
		}
		all = append(all, part{title, []string{block}})
	}

	under := ""
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		head, rest, several := strings.Cut(block, "\n")
		switch {
		case several && strings.HasSuffix(head, ":") && strings.HasPrefix(rest, "  "):
			under = heading(strings.TrimSuffix(head, ":"))
			add(under, rest)
		case strings.HasPrefix(block, "  "):
			add(under, block)
		default:
			under = ""
			add("", block)
		}
	}

	return all
}

// heading maps headings with the same meaning to one word.
func heading(title string) string {
	switch title = strings.ToLower(title); title {
	case "example", "try":
		return "examples"
	}
	return title
}

func (all parts) write(b *strings.Builder, heading, title string) {
	for _, s := range all {
		if s.title != title || len(s.blocks) == 0 {
			continue
		}

		fmt.Fprintf(b, ".SH %s\n", roff(heading))
		for i, block := range s.blocks {
			if i > 0 {
				b.WriteString(".PP\n")
			}
			if strings.HasPrefix(block, "  ") {
				fmt.Fprintf(b, ".EX\n%s\n.EE\n", roff(strings.ReplaceAll(strings.TrimPrefix(block, "  "), "\n  ", "\n")))
			} else {
				fmt.Fprintf(b, "%s\n", roff(block))
			}
		}
	}
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`,
	"'", `\(aq`, `"`, `\(dq`)

// roff escapes a text so that troff prints it as it is.
func roff(text string) string {
	lines := strings.Split(roffEscapes.Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// quoted formats a text as one argument of a macro.
func quoted(text string) string { return `"` + roff(text) + `"` }
