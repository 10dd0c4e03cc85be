package seccomp

import (
	"fmt"
	"slices"
	"strings"
)

// Tiers lists the names of the built-in profiles, strictest first.
func Tiers() []string { return []string{"strict", "default", "managed", "compile"} }

// About says in a line what a built-in profile is for; empty for any other name.
func About(tier string) string {
	switch tier {
	case "strict":
		return "compiled programs that compute (C, C++, Rust, Haskell, Pascal, Lua): one process, threads, files by path"
	case "default":
		return "interpreters and shells (Python, Ruby, PHP, Perl, Go); what a run gets that names no profile"
	case "managed":
		return "runtimes with a compiler in them (JVM, Node, .NET)"
	case "compile":
		return "compilers and linkers, in the compile box only"
	}
	return ""
}

// Tier returns a built-in profile for the native architecture; About says what
// each is for.
//
// Names that only another architecture has are part of the data; there they
// have no effect.
func Tier(name string) (Profile, error) { return TierWithout(name, "") }

// TierWithout returns a built-in profile as it would be if it allowed one call less:
// the call then has the answer that tiers give it which do not allow it. Whoever wants
// to know what needs the call runs it under this.
func TierWithout(name, call string) (Profile, error) {
	p := Profile{Name: name, Default: Fail(EPERM)}
	switch name {
	case "strict":
		p.Rules = slices.Concat(basicRules(), strictRules())
	case "default":
		p.Rules = slices.Concat(basicRules(), processRules())
	case "managed":
		p.Rules = slices.Concat(basicRules(), processRules(), lockRules(), managedRules())
	case "compile":
		p.Rules = slices.Concat(basicRules(), processRules(), lockRules(), compileRules())
	default:
		return Profile{}, fmt.Errorf("find tier %q: no such tier; there are %s", name, strings.Join(Tiers(), ", "))
	}
	if call != "" {
		p.Name += "/without-" + call
		p.Rules = slices.DeleteFunc(p.Rules, func(r Rule) bool { return r.Action == ActAllow && slices.Equal(r.Names, []string{call}) })
		for i, r := range p.Rules {
			if r.Action == ActAllow {
				p.Rules[i].Names = slices.DeleteFunc(r.Names, func(n string) bool { return n == call })
			}
		}
	}
	p.Rules = append(p.Rules, answersBeside(p.Rules)...)
	return p, nil
}

// Allows lists the calls that p allows, for some arguments at least, in the order of
// their rules.
func (p Profile) Allows() []string {
	var names []string
	for _, r := range p.Rules {
		for _, n := range r.Names {
			if r.Action == ActAllow && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// answersBeside returns the explicit answers for every call that rules leave
// without one.
func answersBeside(rules []Rule) []Rule {
	named := map[string]bool{}
	for _, r := range rules {
		for _, n := range r.Names {
			named[n] = true
		}
	}
	var out []Rule
	for _, r := range answers() {
		r.Names = slices.DeleteFunc(r.Names, func(n string) bool { return named[n] })
		if len(r.Names) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// calls splits a list of names, so that rules read like the manual.
func calls(list string) []string { return strings.Fields(list) }

// eq and masked build conditions.
func eq(arg uint, value uint64) ArgCond { return ArgCond{Index: arg, Value: value} }
func masked(arg uint, mask, value uint64) ArgCond {
	return ArgCond{Index: arg, Mask: mask, Value: value}
}

// anyOf makes one allow rule per value of an argument.
func anyOf(names string, arg uint, why string, values ...uint64) []Rule {
	var out []Rule
	for _, v := range values {
		out = append(out, Rule{Names: calls(names), Args: []ArgCond{eq(arg, v)}, Answer: Allow(), Why: why})
	}
	return out
}

// when makes one allow rule with all of conds.
func when(names, why string, conds ...ArgCond) Rule {
	return Rule{Names: calls(names), Args: conds, Answer: Allow(), Why: why}
}

// plain makes one unconditional rule.
func plain(a Answer, why, names string) Rule {
	return Rule{Names: calls(names), Answer: a, Why: why}
}
