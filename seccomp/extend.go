package seccomp

import "slices"

// Extend returns base without the removed calls and with more rules after its
// own. An added unconditional rule replaces base's rules for the call: the
// unconditional one, and each conditional one that is not stricter, so that a
// refusal applies to all arguments. Stricter conditional rules of base stay: to drop
// them, remove the call and append it again.
func Extend(base Profile, remove []string, more []Rule) Profile {
	out := Profile{Name: base.Name, Arch: base.Arch, Default: base.Default}
	whole := map[string]Answer{} // the unconditional answers that are added
	for _, r := range more {
		if len(r.Args) == 0 {
			for _, n := range r.Names {
				whole[n] = r.Answer
			}
		}
	}

	for _, r := range base.Rules {
		names := slices.DeleteFunc(slices.Clone(r.Names), func(n string) bool {
			a, replaced := whole[n]
			return slices.Contains(remove, n) || replaced && (len(r.Args) == 0 || !r.Action.Stricter(a.Action))
		})
		if len(names) > 0 {
			r.Names = names
			out.Rules = append(out.Rules, r)
		}
	}

	out.Rules = append(out.Rules, more...)
	return out
}

// Stricter reports whether a forbids more than b, in the order in which the kernel ranks
// the actions of several filters.
func (a Action) Stricter(b Action) bool {
	order := []Action{ActAllow, ActLog, ActCount, ActErrno, ActKill, ActKillProcess}
	return slices.Index(order, a) > slices.Index(order, b)
}

// LintExtension is Lint of the result of Extend. In addition it warns where an added
// rule opens more of a call than base does and the file does not make that explicit.
func LintExtension(base Profile, remove []string, more []Rule) []Finding {
	p := Extend(base, remove, more)
	rest := Extend(base, remove, nil)
	l := &linter{p: p, base: rest}
	l.lint()
	if slices.ContainsFunc(l.found, func(f Finding) bool { return f.Fatal }) {
		return l.found
	}

	first := len(p.Rules) - len(more)
	for i, r := range more {
		if len(r.Args) > 0 || !r.Action.Open() {
			continue
		}

		for _, n := range r.Names {
			otherwise := fallback(rest, n)
			conditional := slices.ContainsFunc(rulesFor(rest.Rules, n),
				func(r Rule) bool { return len(r.Args) > 0 && r.Action.Open() })
			switch {
			case otherwise.Action.Open():
			case conditional:
				l.warn(first+i, "%s lets %s run with any arguments; the tier does so only for some arguments, and "+
					"answers all others with %s: give the rule args, or add remove: [%s] if you intend this", r.Action, n, otherwise.Answer, n)
			case r.Action == ActLog:
				l.warn(first+i, "log lets %s run, which the tier answers with %s: log refuses nothing. Write %s, or "+
					"allow if you intend this", n, otherwise.Answer, otherwise.Action)
			}
		}
	}

	return l.found
}

// answeredBefore reports whether the extended rules have an answer for a call.
func (l *linter) answeredBefore(name string) bool {
	return slices.Contains(namesOf(l.base), name)
}
