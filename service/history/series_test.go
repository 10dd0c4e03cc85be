package history

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// Each bucket has the statistics of its runs, as they are computed in the simplest way.
func TestSeriesOfRuns(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	random := rand.New(rand.NewPCG(1, 2))
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const step = time.Minute
	in := map[int][]api.Record{}
	for i := range 400 {
		n := random.IntN(20)
		if n > 10 && n < 15 {
			n = 3 // some buckets stay empty
		}
		r := api.Record{ID: fmt.Sprint("r", i), Owner: "ann", Language: "python", Verdict: api.OK,
			Created: begin.Add(time.Duration(n)*step + time.Duration(random.Int64N(int64(step)))),
			Wall:    random.Int64N(1e9), Queued: random.Int64N(1e6)}
		switch random.IntN(4) {
		case 0:
			r.Verdict = api.Nonzero
		case 1:
			r.Verdict, r.Code = "", api.CodeInternal
		case 2:
			r.Summary = &api.Summary{Tests: 3, Accepted: 2}
		}
		in[n] = append(in[n], r)
		add(t, s, r)
	}
	add(t, s, api.Record{ID: "other", Owner: "ben", Verdict: api.OK, Created: begin})
	add(t, s, api.Record{ID: "early", Owner: "ann", Verdict: api.OK, Created: begin.Add(-1)})

	got, err := s.Series(t.Context(), Filter{Scope: Scope{Owner: "ann"}, Since: begin, Until: begin.Add(20 * step)}, step)
	if err != nil {
		t.Fatal(err)
	}

	var want []api.Bucket
	for n := range 20 {
		runs := in[n]
		if len(runs) == 0 {
			continue
		}
		b := api.Bucket{Start: begin.Add(time.Duration(n) * step), Figures: figures(runs)}
		var waits []int64
		for _, r := range runs {
			waits = append(waits, r.Queued)
			if r.Code != "" {
				if b.Codes == nil {
					b.Codes = map[api.Code]int64{}
				}
				b.Codes[r.Code]++
			}
		}
		slices.Sort(waits)
		b.WaitP50, b.WaitP99 = waits[(len(waits)+1)/2-1], waits[(len(waits)*99+99)/100-1]
		want = append(want, b)
	}
	if !reflect.DeepEqual(got.Buckets, want) {
		t.Errorf("got %+v\nwant %+v", got.Buckets, want)
	}
}

func TestSeriesThatMakeNoSense(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for what, c := range map[string]struct {
		span, step time.Duration
		limit      int
		want       bool
	}{
		"the most steps":      {MaxBuckets * time.Second, time.Second, 0, true},
		"one step more":       {MaxBuckets*time.Second + 1, time.Second, 0, false},
		"a short step":        {time.Second, time.Millisecond, 0, false},
		"no time":             {0, time.Second, 0, false},
		"an end before start": {-time.Hour, time.Second, 0, false},
		"a page":              {time.Hour, time.Minute, 3, false},
		"one long step":       {time.Hour, 1 << 62, 0, true},
	} {
		_, err := s.Series(t.Context(), Filter{Since: begin, Until: begin.Add(c.span), Limit: c.limit}, c.step)
		if (err == nil) != c.want || err != nil && !api.HasCode(err, api.CodeBadRequest) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
