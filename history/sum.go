package history

import (
	"cmp"
	"math"
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// A sum adds up runs, one group's and every group's at once.
type sum struct {
	languages, projects, tasks, verdicts numbering
	runs                                 []summand
}

// A summand is what counts of one run, its names as numbers.
type summand struct {
	wall                             int64
	language, project, task, verdict int32 // task is a pair of project and task
}

// A numbering gives each name a number, from 0.
type numbering struct {
	numbers map[[2]string]int32
	names   [][2]string // project and name; the first is empty but for tasks, and marks a verdict
}

func (n *numbering) of(project, name string) int32 {
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

// wrong marks a verdict, by its name's first half, of a run that failed in its tests only.
const wrong = "wrong"

// add takes in a run; one without a verdict is our failure.
func (s *sum) add(language, project, task string, verdict api.Verdict, inTests bool, wall int64) {
	mark := ""
	if inTests {
		mark = wrong
	}
	s.runs = append(s.runs, summand{
		wall: wall, language: s.languages.of("", language), project: s.projects.of("", project), task: s.tasks.of(project, task),
		verdict: s.verdicts.of(mark, string(verdict)),
	})
}

// stats says what it comes to.
func (s *sum) stats() (st api.Stats) {
	slices.SortFunc(s.runs, func(a, b summand) int { return cmp.Compare(a.wall, b.wall) })
	all := s.by(numbering{names: make([][2]string, 1)}, func(summand) int32 { return 0 })
	st.Figures = all[0].Figures
	for _, by := range []struct {
		names numbering
		of    func(summand) int32
		into  *[]api.Group
	}{
		{s.languages, func(r summand) int32 { return r.language }, &st.Languages},
		{s.projects, func(r summand) int32 { return r.project }, &st.Projects},
		{s.tasks, func(r summand) int32 { return r.task }, &st.Tasks},
	} {
		*by.into = s.by(by.names, by.of)
		st.More = st.More || len(by.names.names) > len(*by.into)
	}
	return st
}

// by sums up the runs, which are in the order of their wall times, by one of their
// numbers.
func (s *sum) by(names numbering, of func(summand) int32) []api.Group {
	counts := make([]int32, len(names.names))
	for _, r := range s.runs {
		counts[of(r)]++
	}

	// 1. The largest groups are chosen; only they are worth more than a number.
	order := make([]int32, len(counts))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		x, y := names.names[a], names.names[b]
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(x[1], y[1]), cmp.Compare(x[0], y[0]))
	})
	order = order[:min(len(order), groupsMost)]
	groups := make([]api.Group, len(order))
	place := make([]*api.Group, len(counts)) // nil: not chosen
	for i, n := range order {
		groups[i] = api.Group{Name: names.names[n][1], Project: names.names[n][0], Figures: api.Figures{Verdicts: map[api.Verdict]int64{}}}
		place[n] = &groups[i]
	}

	// 2. What is counted.
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

	// 3. What has a rank: the runs come in the order of time.
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
