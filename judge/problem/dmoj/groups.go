package dmoj

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

const maxDependencies = 60 // of a batch, after those that follow from others: less than what a run may have

// score makes tests and groups of the entries: a batch is a group that has the least share of its cases, and
// cases with the same points that follow each other are one. After a failure in a case or a batch without
// points, nothing counts any more: each later group requires it. With short_circuit each group requires the
// one before it.
func (r *reader) score(entries []entry) {
	if r.Failed() {
		return
	}

	short := flag(r.top, "short_circuit", false)
	required := ""               // by every later group
	var follows []map[int64]bool // of each batch: the batches that it depends on, also through others
	dependent := false           // anything depends on what came of an earlier case
	for len(entries) > 0 {
		e, n := entries[0], 1
		g := problem.Group{Stop: e.points == 0 || short}
		if required != "" {
			g.Requires, dependent = []string{required}, true
		}

		if e.batched {
			number := len(follows) + 1
			g.ID, g.How, g.Points = fmt.Sprint("batch ", number), "min", e.points
			g.Stop = g.Stop || !r.partial
			needed, all, ok := r.dependencies(e, follows)
			if !ok {
				return
			}

			follows = append(follows, all)
			for _, d := range needed {
				if id := fmt.Sprint("batch ", d); id != required {
					g.Requires, dependent = append(g.Requires, id), true
				}
			}

			for i, c := range e.cases {
				r.test(fmt.Sprint(g.ID, "/", i+1), c, number)
			}
		} else {
			for n < len(entries) && !entries[n].batched && entries[n].points == e.points {
				n++
			}

			first := len(r.p.Tests) + 1
			g.ID, g.How, g.Points = fmt.Sprint("case ", first), "sum", e.points*float64(n)
			if n > 1 {
				g.ID = fmt.Sprintf("cases %d-%d", first, first+n-1)
			}

			for _, one := range entries[:n] {
				id := strconv.Itoa(len(r.p.Tests) + 1)
				g.Tests = append(g.Tests, id)
				r.test(id, one.cases[0], 0)
			}
		}

		if e.points == 0 || short {
			required = g.ID
		}

		r.p.Groups = append(r.p.Groups, g)
		if len(r.p.Groups) > api.MaxGroups {
			r.Error(file, e.line, batchedRule,
				"its batches, and its cases with different points, are more than %d groups", api.MaxGroups)
			return
		}

		dependent = dependent || n > 1 && g.Stop
		entries = entries[n:]
	}

	if dependent && r.partial {
		r.Warn(file, 0, batchedRule,
			"a case with a part of its points counts as not accepted where others depend on it; DMOJ lets them run")
	}
}

// test adds a test.
func (r *reader) test(id string, c testCase, batch int) {
	t := problem.Test{ID: id, Input: c.in, Answer: c.out, EmptyAnswer: c.out == "", Text: c.text, CheckArgs: r.checkArgs}
	if r.p.Compare != nil {
		t.CheckArgs = r.p.Compare.Args
	}
	r.places = append(r.places, place{batch, len(r.p.Tests)})
	r.p.Tests = append(r.p.Tests, t)
}

// dependencies are the batches that a batch requires, without those that follow from others, and all that it
// depends on.
func (r *reader) dependencies(e entry, follows []map[int64]bool) (needed []int64, all map[int64]bool, ok bool) {
	all = map[int64]bool{}
	for _, d := range e.dependencies {
		if d > int64(len(follows)) {
			r.Error(file, e.line, batchedRule, "batch %d depends on batch %d, which is not before it", len(follows)+1, d)
			return nil, nil, false
		}
		all[d] = true
	}

	direct := slices.Sorted(func(yield func(int64) bool) {
		for d := range all {
			if !yield(d) {
				return
			}
		}
	})

	slices.Reverse(direct)
	for _, d := range direct {
		implied := slices.ContainsFunc(needed, func(other int64) bool { return follows[other-1][d] })
		if !implied {
			needed = append(needed, d)
		}
		for through := range follows[d-1] {
			all[through] = true
		}
	}

	slices.Reverse(needed)
	if len(needed) > maxDependencies {
		r.Error(file, e.line, batchedRule, "batch %d depends on %d batches that do not depend on each other: brig takes %d",
			len(follows)+1, len(needed), maxDependencies)
		return nil, nil, false
	}

	return needed, all, true
}
