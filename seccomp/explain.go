package seccomp

import (
	"fmt"
	"slices"
	"strings"
)

// An Explanation says how a profile answers one call and why.
type Explanation struct {
	Name     string
	Nr       int32 // on the profile's architecture; -1 where it lacks the call
	Rules    []Rule
	Fallback Rule // where no rule matches; its Why is set for the default too
}

// Explain explains how p answers the named call. It fails for a name that no table
// has.
func Explain(p Profile, name string) (Explanation, error) {
	_, amd := Number(name, AMD64)
	_, arm := Number(name, ARM64)
	if !amd && !arm {
		return Explanation{}, fmt.Errorf("explain %.64q: no such system call", name)
	}

	nr, ok := Number(name, p.Arch)
	if !ok {
		nr = -1
	}

	e := Explanation{Name: name, Nr: nr, Fallback: fallback(p, name)}
	for _, r := range precedence(rulesFor(p.Rules, name)) {
		if len(r.Args) > 0 {
			e.Rules = append(e.Rules, r)
		}
	}

	return e, nil
}

// ExplainNumber is Explain for a call number, which may be newer than the tables. It
// fails for a number that no call of p's architecture has.
func ExplainNumber(p Profile, nr int32) (Explanation, error) {
	m := NewModel(p)
	if d := m.Decide(Call{Nr: nr, Arch: p.Arch.Audit()}); d.Rule == FromNewer {
		name := fmt.Sprintf("syscall_%d", nr)
		return Explanation{Name: name, Nr: nr, Fallback: Rule{Names: []string{name}, Answer: d.Answer, Why: d.Why}}, nil
	}
	name := Name(nr, p.Arch)
	if name == "" {
		return Explanation{}, fmt.Errorf("explain system call %d: no call has this number on %s", nr, p.Arch.OrNative())
	}
	return Explain(p, name)
}

// String writes e for a terminal, one line for each rule.
func (e Explanation) String() string {
	var b strings.Builder
	if e.Nr < 0 {
		fmt.Fprintf(&b, "%s does not exist on this architecture\n", e.Name)
	} else {
		fmt.Fprintf(&b, "%s (number %d)\n", e.Name, e.Nr)
	}

	for _, r := range e.Rules {
		fmt.Fprintf(&b, "  %-18s if %s: %s\n", r.Answer, describe(r.Args), r.Why)
	}

	word := "always"
	if len(e.Rules) > 0 {
		word = "otherwise"
	}

	fmt.Fprintf(&b, "  %-18s %s: %s\n", e.Fallback.Answer, word, e.Fallback.Why)
	return b.String()
}

// describe writes conditions as one expression.
func describe(conds []ArgCond) string {
	parts := make([]string, 0, len(conds))
	for _, c := range conds {
		if c.mask() == ^uint64(0) {
			parts = append(parts, fmt.Sprintf("arg%d == %#x", c.Index, c.Value))
		} else {
			parts = append(parts, fmt.Sprintf("arg%d & %#x == %#x", c.Index, c.Mask, c.Value))
		}
	}
	return strings.Join(parts, " and ")
}

// A Change is one call that two profiles treat differently.
type Change struct {
	Name     string
	From, To string // the answer of each, in words
	Wider    bool   // b allows the call for some arguments, a for none
}

func (c Change) String() string {
	return fmt.Sprintf("%s: %s -> %s", c.Name, c.From, c.To)
}

// Diff lists the calls that a and b treat differently, in the order of their
// names. Reasons do not count.
func Diff(a, b Profile) []Change {
	names := append(namesOf(a), namesOf(b)...)
	if a.Default != b.Default {
		names = append(names, slices.Concat(AMD64.table(), ARM64.table())...)
	}

	slices.Sort(names)
	var out []Change
	for _, name := range slices.Compact(names) {
		if name == "" {
			continue
		}
		from, wasOpen := inWords(a, name)
		to, isOpen := inWords(b, name)
		if from != to {
			out = append(out, Change{Name: name, From: from, To: to, Wider: isOpen && !wasOpen})
		}
	}

	return out
}

// inWords returns p's answers to a call as one line, and whether p allows the call
// for some arguments.
func inWords(p Profile, name string) (string, bool) {
	var parts []string
	open := false
	rest := fallback(p, name)
	for _, r := range precedence(rulesFor(p.Rules, name)) {
		if len(r.Args) > 0 {
			parts = append(parts, fmt.Sprintf("%s if %s", r.Answer, describe(r.Args)))
			open = open || r.Action.Open()
		}
	}

	if len(parts) == 0 {
		parts = append(parts, rest.Answer.String())
	} else {
		slices.Sort(parts)
		parts = append(parts, "else "+rest.Answer.String())
	}

	return strings.Join(parts, "; "), open || rest.Action.Open()
}
