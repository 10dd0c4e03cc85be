package api

import (
	"math"
	"slices"
	"strings"
)

// The bounds of what judges a run.
const (
	MaxPasses = 100  // of one test
	MaxGroups = 1024 // of one run

	maxRequires   = 64 // groups that one group requires; the agent looks at them for each test
	maxGroupDepth = 8  // groups in groups
)

// validateJudging refuses checkers, interactors and groups that contradict each other or the tests.
func (r Run) validateJudging() error {
	switch {
	case len(r.Tests) == 0 && (r.Check != nil || r.Interactor != nil || r.Passes != 0 || len(r.Groups) > 0):
		return Refuse(CodeBadRequest, "check, interactor, passes and groups need tests, but there are none")
	case r.Check != nil && r.Compare != (Compare{}):
		return Refuse(CodeBadRequest, "check and compare are both set: the checker decides alone; leave compare out")
	case r.Interactor != nil && r.Compare != (Compare{}):
		return Refuse(CodeBadRequest, "interactor and compare are both set: leave compare out")
	case r.Passes < 0 || r.Passes > MaxPasses:
		return Refuse(CodeBadRequest, "passes is %d: must be between 0 and %d", r.Passes, MaxPasses)
	case r.Passes > 1 && !r.multiPass() && !r.RunsTwice():
		return Refuse(CodeBadRequest,
			"passes is %d: only the protocol kattis has a way to ask for another pass, and with testlib passes is 2, "+
				"for a program that runs twice", r.Passes)
	}

	if r.Check != nil {
		if err := r.Check.validate(); err != nil {
			return Refuse(err.(*Error).Code, "check: %w", err) //nolint:errorlint // validate returns no other type
		}
		if err := r.Check.validateTests(r.Tests); err != nil {
			return err
		}
	}

	if r.Interactor != nil {
		if err := r.Interactor.validate(r.Check); err != nil {
			return Refuse(err.(*Error).Code, "interactor: %w", err) //nolint:errorlint // validate returns no other type
		}
		if p := r.Interactor.Passes; p != 0 && (p != 1 || !r.RunsTwice() || r.Check == nil) {
			return Refuse(CodeBadRequest,
				"interactor: passes is %d: leave it out, or set 1 where the program runs twice (passes 2, protocol "+
					"testlib) and a checker judges the second run", p)
		}
	}

	return validateGroups(r.Groups, r.Tests)
}

// multiPass reports whether the checker or the interactor can ask for another pass.
func (r Run) multiPass() bool {
	return r.Interactor != nil && r.Interactor.Protocol == ProtocolKattis ||
		r.Interactor == nil && r.Check != nil && r.Check.Protocol == ProtocolKattis
}

// RunsTwice reports whether the program runs twice on each test: what the testlib checker or interactor left
// after the first run is the input of the second one.
func (r Run) RunsTwice() bool {
	first := Protocol("")
	switch {
	case r.Interactor != nil:
		first = r.Interactor.Protocol
	case r.Check != nil:
		first = r.Check.Protocol
	}
	return r.Passes == 2 && first == ProtocolTestlib
}

func (c Check) validate() error {
	checkers := slices.DeleteFunc(c.Protocol.Values(), func(p Protocol) bool { return p == ProtocolNone })
	if !slices.Contains(checkers, c.Protocol) {
		return Refuse(CodeBadRequest, "protocol %q does not exist: use %s", c.Protocol, orList(checkers))
	}
	if err := c.Points.validate(c.Protocol); err != nil {
		return err
	}

	switch {
	case c.Protocol == ProtocolPython && c.Source == nil:
		return Refuse(CodeBadRequest,
			"protocol python needs source: Python text with a function check(input, output, answer)")
	case c.Protocol == ProtocolPython && len(c.Args) > 0:
		return Refuse(CodeBadRequest, "protocol python has no arguments: leave args out")
	}

	if c.Protocol == ProtocolPython && c.Language == "" {
		c.Language = PythonCheckers
	}
	return validateProgram(c.Run(), c.Args)
}

// validateTests refuses tests that lack what the arguments of the checker name. Other checkers may do without.
func (c Check) validateTests(tests []Test) error {
	if c.Protocol != ProtocolExit {
		return nil
	}

	names := func(args []string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "{answer}") })
	}
	all := names(c.Args)
	for _, t := range tests {
		if !t.Compares() && (all || names(t.CheckArgs)) {
			return Refuse(CodeBadRequest,
				"test %q has no expected output, and the arguments of the checker name {answer}: set expected, which may be "+
					"empty, or leave {answer} out", t.ID)
		}
	}
	return nil
}

func (p PointsAs) validate(of Protocol) error {
	switch {
	case p == "":
	case of != ProtocolTestlib:
		return Refuse(CodeBadRequest,
			"points %q is set, but the protocol is %s: only testlib's points have more than one meaning; leave it out", p, of)
	case !slices.Contains(p.Values(), p):
		return Refuse(CodeBadRequest, "points %q does not exist: use %s", p, orList(p.Values()))
	}
	return nil
}

// interactors are the protocols that interactors can have.
var interactors = []Protocol{ProtocolKattis, ProtocolTestlib, ProtocolDMOJ, ProtocolCOCI, ProtocolCMS, ProtocolNone}

func (i Interactor) validate(check *Check) error {
	switch {
	case !slices.Contains(interactors, i.Protocol):
		return Refuse(CodeBadRequest, "protocol %q is not one of an interactor: use %s", i.Protocol, orList(interactors))
	case check != nil && (i.Protocol != ProtocolTestlib || check.Protocol != ProtocolTestlib):
		return Refuse(CodeBadRequest,
			"a checker judges what the interactor wrote only if both have the protocol testlib: leave check out")
	case i.Protocol != ProtocolCMS && (i.Processes != 0 || i.ProgramIO != ""):
		return Refuse(CodeBadRequest,
			"processes and program_io are for interactors of the protocol cms, and the protocol is %s: leave them out",
			i.Protocol)
	case i.Processes < 0 || i.Processes > MaxProcesses:
		return Refuse(CodeBadRequest, "processes is %d: must be between 0 and %d", i.Processes, MaxProcesses)
	case i.ProgramIO != "" && !slices.Contains(i.ProgramIO.Values(), i.ProgramIO):
		return Refuse(CodeBadRequest, "program_io %q does not exist: use %s", i.ProgramIO, orList(i.ProgramIO.Values()))
	}

	if err := i.Points.validate(i.Protocol); err != nil {
		return err
	}
	if i.Collect != nil && i.Protocol != ProtocolNone {
		return Refuse(CodeBadRequest, "collect is for interactors of the protocol none, and the protocol is %s: leave it out",
			i.Protocol)
	}
	if i.Collect != nil && i.Collect.Blobs {
		return Refuse(CodeBadRequest, "collect.blobs is set in an interactor: its files are in the result; leave it out")
	}
	return validateProgram(i.Run(), i.Args)
}

// validateProgram refuses a program that judges, as its run.
func validateProgram(r Run, args []string) error {
	if r.Source == nil || len(args) > 0 {
		r.Argv = append(slices.Clone(r.Argv), args...)
	}
	return r.Validate()
}

// validateGroups refuses groups that name what does not exist or comes later, and tests in two groups.
func validateGroups(groups []ScoreGroup, tests []Test) error {
	if len(groups) > MaxGroups {
		return Refuse(CodeBadRequest, "%d groups: the maximum is %d", len(groups), MaxGroups)
	}

	ids := make([]string, 0, len(tests))
	for _, t := range tests {
		ids = append(ids, t.ID)
	}

	of, within := map[string]string{}, map[string]string{} // the group of each test, and of each group
	depth := map[string]int{}
	seen := map[string]bool{}
	first, last := map[string]int{}, map[string]int{} // the indexes of the tests of each group, with those of its groups
	for i, g := range groups {
		if g.ID == "" || len(g.ID) > maxTestID {
			return Refuse(CodeBadRequest, "groups[%d].id %q: write 1 to %d bytes", i, g.ID, maxTestID)
		}
		if seen[g.ID] {
			return Refuse(CodeBadRequest, "group %q is given twice: use unique ids", g.ID)
		}
		if err := g.validate(); err != nil {
			return err
		}
		if len(g.Requires) > maxRequires {
			return Refuse(CodeBadRequest,
				"group %q requires %d groups: the maximum is %d; groups can be in a group, which is then required", g.ID,
				len(g.Requires), maxRequires)
		}

		for field, names := range map[string][]string{"tests": g.Tests, "groups": g.Groups, "requires": g.Requires} {
			if name, twice := repeated(names); twice {
				return Refuse(CodeBadRequest, "group %q lists %q twice in %s: list it once", g.ID, name, field)
			}
		}

		for _, name := range slices.Concat(g.Requires, g.Groups) {
			if !seen[name] {
				return Refuse(CodeBadRequest, "group %q names group %q, which does not come before it: list it earlier", g.ID, name)
			}
		}

		for _, name := range g.Groups {
			if other, taken := within[name]; taken {
				return Refuse(CodeBadRequest, "group %q is in the groups %q and %q: list it in one of them", name, other, g.ID)
			}
			within[name] = g.ID
			depth[g.ID] = max(depth[g.ID], depth[name]+1)
		}

		if depth[g.ID] >= maxGroupDepth {
			return Refuse(CodeBadRequest, "group %q holds groups %d deep: the maximum is %d", g.ID, depth[g.ID]+1, maxGroupDepth)
		}

		for _, pattern := range g.Tests {
			matched := false
			for at, id := range ids {
				if !g.has(pattern, id) {
					continue
				}
				spread(first, last, g.ID, at, at)
				if other, taken := of[id]; taken {
					return Refuse(CodeBadRequest, "test %q is in the groups %q and %q: list it in one of them", id, other, g.ID)
				}
				matched, of[id] = true, g.ID
			}

			if !matched {
				return Refuse(CodeBadRequest, "group %q names test %q, and there is no such test", g.ID, pattern)
			}
		}

		for _, name := range g.Groups {
			if _, some := first[name]; some {
				spread(first, last, g.ID, first[name], last[name])
			}
		}

		for _, name := range g.Requires {
			from, some := first[g.ID]
			if to, others := last[name]; some && others && from <= to {
				return Refuse(CodeBadRequest,
					"group %q requires group %q, and test %q of that one does not come before test %q: list it earlier", g.ID,
					name, ids[to], ids[from])
			}
		}

		seen[g.ID] = true
	}

	return nil
}

// repeated returns a name that a list has more than once.
func repeated(names []string) (name string, twice bool) {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return name, true
		}
		seen[name] = true
	}
	return "", false
}

// spread widens the range of the tests of a group.
func spread(first, last map[string]int, group string, from, to int) {
	if at, some := first[group]; !some || from < at {
		first[group] = from
	}
	last[group] = max(last[group], to)
}

// has reports whether a pattern of the group means a test.
func (ScoreGroup) has(pattern, id string) bool {
	return pattern == id || strings.HasSuffix(pattern, "/") && strings.HasPrefix(id, pattern)
}

// Has reports whether a test of this id is in the group.
func (g ScoreGroup) Has(id string) bool {
	return slices.ContainsFunc(g.Tests, func(pattern string) bool { return g.has(pattern, id) })
}

func (g ScoreGroup) validate() error {
	switch {
	case g.How != "" && !slices.Contains(g.How.Values(), g.How):
		return Refuse(CodeBadRequest, "group %q: how %q does not exist: use %s", g.ID, g.How, orList(g.How.Values()))
	case g.Passes != "" && !slices.Contains(g.Passes.Values(), g.Passes):
		return Refuse(CodeBadRequest, "group %q: passes %q does not exist: use %s", g.ID, g.Passes, orList(g.Passes.Values()))
	}

	for _, n := range []struct {
		name  string
		value float64
	}{{"points", g.Points}, {"each", g.Each}, {"reject", g.Reject}} {
		if !(n.value >= 0) || math.IsInf(n.value, 0) {
			return Refuse(CodeBadRequest, "group %q: %s is %v: must be a positive number or zero", g.ID, n.name, n.value)
		}
	}

	return nil
}

// orList writes values as "a, b or c".
func orList[T ~string](values []T) string {
	text := string(values[0])
	for i, v := range values[1:] {
		if i == len(values)-2 {
			text += " or " + string(v)
		} else {
			text += ", " + string(v)
		}
	}
	return text
}
