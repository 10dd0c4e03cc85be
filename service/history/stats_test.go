package history

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// figures computes the expected Stats in the simplest way.
func figures(runs []api.Record) (f api.Figures) {
	f.Verdicts = map[api.Verdict]int64{}
	var walls []int64
	var sum float64
	for _, r := range runs {
		f.Runs++

		switch r.Verdict {
		case "":
			f.Errors++
			continue
		case api.OK:
			if r.Summary == nil || r.Summary.Accepted == r.Summary.Tests {
				f.Success++
				break
			}
			f.Failure++
			f.Wrong++
		default:
			f.Failure++
		}

		f.Verdicts[r.Verdict]++
		walls = append(walls, r.Wall)
		sum += float64(r.Wall)
	}

	if n := len(walls); n > 0 {
		slices.Sort(walls)
		rank := func(p float64) int64 { return walls[int(math.Ceil(p*float64(n)))-1] }
		f.Mean, f.P50, f.P99 = int64(math.Round(sum/float64(n))), rank(0.5), rank(0.99)
	}

	return f
}

func groupsOf(runs []api.Record, by func(api.Record) api.Group) (groups []api.Group) {
	of := map[[2]string][]api.Record{}
	for _, r := range runs {
		g := by(r)
		of[[2]string{g.Name, g.Project}] = append(of[[2]string{g.Name, g.Project}], r)
	}
	for k, runs := range of {
		groups = append(groups, api.Group{Name: k[0], Project: k[1], Figures: figures(runs)})
	}
	slices.SortFunc(groups, func(a, b api.Group) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Project, b.Project))
	})
	return groups
}

func TestStatisticsAreExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := fresh(t, RetentionLimits{})
	var all []api.Record
	for i := range 701 {
		r := record(fmt.Sprint(i), func(r *api.Record) {
			r.Verdict = []api.Verdict{api.OK, api.OK, api.Nonzero, api.WallLimit, ""}[random.IntN(5)]
			if r.Verdict == "" {
				r.Code, r.Wall = api.CodeInternal, 1e15 // this wall time must not count
			} else {
				r.Wall = random.Int64N(5000)
			}
			if tests := random.IntN(3); tests > 0 && r.Verdict != "" {
				r.Summary = &api.Summary{Tests: 12, Ran: 11, Accepted: 10 + tests, Verdict: r.Verdict}
			}
			r.Language = []string{"", "c", "python"}[random.IntN(3)]
			r.Project = fmt.Sprint("p", random.IntN(4))
			r.Task = fmt.Sprint("t", random.IntN(i/50+1))
		})

		all = append(all, r)
		add(t, s, r)
	}

	for _, n := range []int{0, 1, 2, 3, 100, 101, 701} {
		whose := fmt.Sprint("key", n) // the first n again, with another owner
		for _, r := range all[:n] {
			r.ID, r.Owner = whose+r.ID, whose
			add(t, s, r)
		}

		got, err := s.Stats(t.Context(), Filter{Scope: Scope{Owner: whose}})
		if err != nil {
			t.Fatal(err)
		}

		want := api.Stats{
			Figures:   figures(all[:n]),
			Languages: groupsOf(all[:n], func(r api.Record) api.Group { return api.Group{Name: r.Language} }),
			Projects:  groupsOf(all[:n], func(r api.Record) api.Group { return api.Group{Name: r.Project} }),
			Tasks:     groupsOf(all[:n], func(r api.Record) api.Group { return api.Group{Name: r.Task, Project: r.Project} }),
		}

		if n == 0 {
			want.Languages, want.Projects, want.Tasks = []api.Group{}, []api.Group{}, []api.Group{}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d runs:\ngot  %+v\nwant %+v", n, got, want)
		}
	}
}

func TestGroupsAreBounded(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	for i := range 1101 {
		add(t, s, record(fmt.Sprint(i), func(r *api.Record) { r.Task = fmt.Sprint("t", max(i, 100)) }))
	}
	st, err := s.Stats(t.Context(), Filter{})
	if err != nil || len(st.Tasks) != 1000 || !st.More || st.Tasks[0].Name != "t100" || st.Tasks[0].Runs != 101 || st.Runs != 1101 {
		t.Errorf("%d tasks, more %v, %d runs, %v", len(st.Tasks), st.More, st.Runs, err)
	}
}
