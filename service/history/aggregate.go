package history

import (
	"cmp"
	"math"
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// An aggregate sums up runs, for all groups at once.
type aggregate struct {
	languages, projects, tasks, verdicts nameIndex
	runs                                 []sample
}

// A sample has the values of one run that count, with names as numbers.
type sample struct {
	wall                             int64
	language, project, task, verdict int32 // task is a pair of project and task
}

// A nameIndex gives each name a number, from 0.
type nameIndex struct {
	numbers map[[2]string]int32
	names   [][2]string // project and name; for a verdict the first is its mark; otherwise it is empty except for tasks
}

func (n *nameIndex) number(project, name string) int32 {
	key := [2]string{project, name}
	i, ok := n.numbers[key]
	if !ok {
		if n.numbers == nil {
			n.numbers = map[[2]string]int32{}
		}
		i = int32(len(n.names))
		n.numbers[key] = i
		n.names = append(n.names, key)
	}
	return i
}

// wrong is the mark of a verdict of a run that failed only in its tests. The mark is the first half
// of the name.
const wrong = "wrong"

// add adds a run; one without a verdict is a failure of brig.
func (s *aggregate) add(language, project, task string, verdict api.Verdict, inTests bool, wall int64) {
	mark := ""
	if inTests {
		mark = wrong
	}
	s.runs = append(s.runs, sample{
		wall: wall, language: s.languages.number("", language), project: s.projects.number("", project),
		task:    s.tasks.number(project, task),
		verdict: s.verdicts.number(mark, string(verdict)),
	})
}

// result returns the statistics of all runs added.
func (s *aggregate) result() (st api.Stats) {
	slices.SortFunc(s.runs, func(a, b sample) int { return cmp.Compare(a.wall, b.wall) })
	all := s.groupBy(nameIndex{names: make([][2]string, 1)}, func(sample) int32 { return 0 })
	st.Figures = all[0].Figures

	for _, by := range []struct {
		names nameIndex
		of    func(sample) int32
		into  *[]api.Group
	}{
		{s.languages, func(r sample) int32 { return r.language }, &st.Languages},
		{s.projects, func(r sample) int32 { return r.project }, &st.Projects},
		{s.tasks, func(r sample) int32 { return r.task }, &st.Tasks},
	} {
		*by.into = s.groupBy(by.names, by.of)
		st.More = st.More || len(by.names.names) > len(*by.into)
	}

	return st
}

// groupBy aggregates the runs by one of their numbers. The runs must be sorted by wall time.
func (s *aggregate) groupBy(names nameIndex, of func(sample) int32) []api.Group {
	counts := make([]int32, len(names.names))
	for _, r := range s.runs {
		counts[of(r)]++
	}

	// 1. Choose the largest groups; only those are aggregated.
	order := make([]int32, len(counts))
	for i := range order {
		order[i] = int32(i)
	}

	slices.SortFunc(order, func(a, b int32) int {
		x, y := names.names[a], names.names[b]
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(x[1], y[1]), cmp.Compare(x[0], y[0]))
	})
	order = order[:min(len(order), maxGroups)]
	groups := make([]api.Group, len(order))
	place := make([]*api.Group, len(counts)) // nil: not chosen
	for i, n := range order {
		groups[i] = api.Group{Name: names.names[n][1], Project: names.names[n][0],
			Figures: api.Figures{Verdicts: map[api.Verdict]int64{}}}
		place[n] = &groups[i]
	}

	// 2. Count.
	total := make(map[*api.Group]float64, len(groups))
	for _, r := range s.runs {
		g := place[of(r)]
		if g == nil {
			continue
		}

		g.Runs++
		mark, v := s.verdicts.names[r.verdict][0], api.Verdict(s.verdicts.names[r.verdict][1])
		switch {
		case v == "":
			g.Errors++
			continue
		case mark == wrong:
			g.Failure++
			g.Wrong++
		case v == api.OK:
			g.Success++
		default:
			g.Failure++
		}

		g.Verdicts[v]++
		total[g] += float64(r.wall)
	}

	// 3. Compute the percentiles by rank: the runs are sorted by wall time.
	rank := make(map[*api.Group]int64, len(groups))
	for _, r := range s.runs {
		g := place[of(r)]
		if g == nil || s.verdicts.names[r.verdict][1] == "" {
			continue
		}

		rank[g]++
		judged := g.Success + g.Failure
		if rank[g] == (judged+1)/2 {
			g.P50 = r.wall
		}
		if rank[g] == (judged*99+99)/100 {
			g.P99 = r.wall
			g.Mean = int64(math.Round(total[g] / float64(judged)))
		}
	}

	return groups
}
