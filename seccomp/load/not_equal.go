package load

import (
	"errors"
	"slices"

	"github.com/brig-sandbox/brig/seccomp"
)

// notEquals are the entries on one call that compare by not-equal only, all with one
// answer. Our rules have no not-equal: values that the entries exclude get the default
// by rules with equals, and all other values get the answer.
type notEquals struct {
	answer  seccomp.Answer
	why     string
	left    [][]seccomp.ArgCond // arguments that no entry so far matches: each a list of equals
	started bool
}

// maxLeft limits the combinations: entries on several arguments multiply.
const maxLeft = 64

// add adds one entry. It matches if all of not differ, so it excludes arguments for which
// one of them is equal.
func (u *notEquals) add(a seccomp.Answer, not []seccomp.ArgCond) error {
	if a != u.answer {
		return errors.New("entries with SCMP_CMP_NE have different actions: list the values with SCMP_CMP_EQ")
	}
	if !u.started {
		u.left, u.started = [][]seccomp.ArgCond{nil}, true
	}

	var left [][]seccomp.ArgCond
	for _, conds := range u.left {
		for _, k := range not {
			i := slices.IndexFunc(conds, func(c seccomp.ArgCond) bool { return c.Index == k.Index })
			switch {
			case i < 0:
				left = append(left, append(slices.Clone(conds), k))
			case conds[i].Value == k.Value:
				left = append(left, conds)
			} // else an argument would have two values: nothing is left out
		}
	}

	if u.left = left; len(left) > maxLeft {
		return errors.New("too many entries with SCMP_CMP_NE on several arguments: list the values with SCMP_CMP_EQ")
	}
	return nil
}

// rules returns the rules of the call in addition to those that p has already. If one of
// p's rules matches all arguments of an excluded combination, that rule answers them.
func (u *notEquals) rules(call string, p seccomp.Profile) []seccomp.Rule {
	var out []seccomp.Rule
	for _, conds := range u.left {
		answered := slices.ContainsFunc(p.Rules, func(r seccomp.Rule) bool {
			return slices.Contains(r.Names, call) && len(r.Args) > 0 && implied(r.Args, conds)
		})
		if !answered {
			out = append(out, seccomp.Rule{Names: []string{call}, Args: conds, Answer: p.Default, Why: u.why})
		}
	}
	return append(out, seccomp.Rule{Names: []string{call}, Answer: u.answer, Why: u.why})
}

// implied reports whether the equals of conds imply every condition of general.
func implied(general, conds []seccomp.ArgCond) bool {
	return !slices.ContainsFunc(general, func(g seccomp.ArgCond) bool {
		mask := g.Mask
		if mask == 0 {
			mask = ^uint64(0)
		}
		return !slices.ContainsFunc(conds,
			func(c seccomp.ArgCond) bool { return c.Index == g.Index && c.Value&mask == g.Value })
	})
}
