package seccomp

import (
	"fmt"
	"slices"
	"strings"
)

// Tiers lists the names of the built-in profiles, strictest first.
func Tiers() []string { return []string{"strict", "default", "managed", "compile", "network"} }

// About describes the purpose of a built-in profile in one line; it is empty for any
// other name.
func About(tier string) string {
	switch tier {
	case "strict":
		return "compiled programs that only compute (C, C++, Rust, Haskell, Pascal, Lua), if a judge requests it: " +
			"one process, threads, files by path"
	case "default":
		return "ordinary programs: compiled ones, interpreters and shells; the profile of a run that names none"
	case "managed":
		return "runtimes with a compiler in them (JVM, Node, .NET)"
	case "compile":
		return "compilers and linkers, in the compile stage only"
	case "network":
		return "programs with a network: managed, with TCP and UDP sockets over IPv4; the profile of a run with network that names none"
	}

	return ""
}

// Tier returns a built-in profile for the native architecture; About describes
// each.
//
// The data contains names that only another architecture has; here they have no
// effect.
func Tier(name string) (Profile, error) {
	rules, err := tierRules(name)
	if err != nil {
		return Profile{}, err
	}
	return tierOf(name, rules), nil
}

// tierRules returns a tier's allow rules, and its explicit answers to the same calls for
// other arguments.
func tierRules(name string) ([]Rule, error) {
	switch name {
	case "strict":
		return slices.Concat(basicRules(), strictRules()), nil
	case "default":
		return slices.Concat(basicRules(), processRules(), lockRules()), nil
	case "managed":
		return slices.Concat(basicRules(), processRules(), lockRules(), managedRules()), nil
	case "compile":
		return slices.Concat(basicRules(), processRules(), lockRules(), compileRules()), nil
	case "network":
		return slices.Concat(basicRules(), withoutReceiveBuffer(processRules()), lockRules(),
			managedRules(), networkRules()), nil
	}

	return nil, fmt.Errorf("find tier %q: no such tier; there are %s", name, strings.Join(Tiers(), ", "))
}

// tierOf makes a profile from a tier's rules.
func tierOf(name string, rules []Rule) Profile {
	return Profile{Name: name, Default: Fail(EPERM), Rules: append(rules, remainingAnswers(rules)...)}
}

// A Grant is one call that a profile allows: for the arguments that one of its rules
// admits or, if Args is empty, for all arguments.
type Grant struct {
	Call string
	Args []ArgCond
}

// String formats g as the tools show it: the call, and its conditions in words.
func (g Grant) String() string {
	if len(g.Args) == 0 {
		return g.Call
	}
	return g.Call + " if " + describe(g.Args)
}

// Grants lists the calls that p allows, in the order of its rules.
func (p Profile) Grants() []Grant {
	var out []Grant
	for _, r := range p.Rules {
		for _, n := range r.Names {
			if r.Action == ActAllow || r.Action == ActCount {
				out = append(out, Grant{n, r.Args})
			}
		}
	}
	return out
}

// TierWithout returns a built-in profile as it would be without the grants in taken. A
// call of one then gets the answer that it now gets for other arguments or, if it is no
// longer allowed for any, the answer of tiers that do not allow it. Run programs under
// this profile to find out which of them need a grant.
func TierWithout(name string, taken ...Grant) (Profile, error) {
	rules, err := tierRules(name)
	if err != nil {
		return Profile{}, err
	}

	for _, g := range taken {
		found := false
		for i, r := range rules {
			if (r.Action == ActAllow || r.Action == ActCount) && slices.Equal(r.Args, g.Args) &&
				slices.Contains(r.Names, g.Call) {
				found = true
				rules[i].Names = slices.DeleteFunc(slices.Clone(r.Names), func(n string) bool { return n == g.Call })
			}
		}
		if !found {
			return Profile{}, fmt.Errorf("take %s from tier %s: it does not allow that", g, name)
		}
	}

	rules = slices.DeleteFunc(rules, func(r Rule) bool { return len(r.Names) == 0 })
	return tierOf(name+"/without", rules), nil
}

// Allows lists the calls that p allows, at least for some arguments, in the order of
// their rules.
func (p Profile) Allows() []string {
	var names []string
	for _, g := range p.Grants() {
		if !slices.Contains(names, g.Call) {
			names = append(names, g.Call)
		}
	}
	return names
}

// remainingAnswers returns the explicit answers to all calls that no rule names.
func remainingAnswers(rules []Rule) []Rule {
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

// calls splits a list of names.
func calls(list string) []string { return strings.Fields(list) }

// eq and masked build conditions.
func eq(arg uint, value uint64) ArgCond { return ArgCond{Index: arg, Value: value} }
func masked(arg uint, mask, value uint64) ArgCond {
	return ArgCond{Index: arg, Mask: mask, Value: value}
}

// anyOf makes one allow rule for each value of an argument.
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
