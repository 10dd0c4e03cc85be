package history

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// MaxBuckets is the most steps of a series.
const MaxBuckets = 1000

// Series returns the statistics of the selected runs for each step between Since and Until, which must be set. The runs
// are read in order of time, so that only those of one step are in memory, with 40 bytes each.
func (s *Store) Series(ctx context.Context, f Filter, step time.Duration) (api.Series, error) {
	from, err := s.flushJournal(ctx)
	if err != nil {
		return api.Series{}, err
	}

	span := f.Until.Sub(f.Since)
	switch {
	case f.Limit != 0 || f.After != "":
		return api.Series{}, api.Refuse(api.CodeBadRequest, "history: a series has no pages")
	case step < time.Second:
		return api.Series{}, api.Refuse(api.CodeBadRequest, "history: step %v: the least is 1s", step)
	case span <= 0:
		return api.Series{}, api.Refuse(api.CodeBadRequest, "history: since must be before until")
	case (span-1)/step >= MaxBuckets:
		return api.Series{}, api.Refuse(api.CodeBadRequest, "history: %v in steps of %v are more than %d steps: use a step of %v or more",
			span, step, MaxBuckets, (span/MaxBuckets).Truncate(time.Second)+time.Second)
	}

	where, args, err := f.where()
	if err != nil {
		return api.Series{}, err
	}

	rows, err := s.reads.QueryContext(ctx, "SELECT created, verdict, code, wall, queued, verdict = 'ok' AND NOT "+passed+
		" FROM "+from+" WHERE "+where+" ORDER BY created", args...)
	if err != nil {
		return api.Series{}, s.toAPIError("series", err)
	}
	defer rows.Close()

	out := api.Series{Since: f.Since.UTC(), Until: f.Until.UTC(), StepNS: int64(step), Buckets: []api.Bucket{}}
	var b bucket
	first := f.Since.UnixNano()
	for rows.Next() {
		var created, wall, queued int64
		var verdict, code string
		var inTests bool
		if err := rows.Scan(&created, &verdict, &code, &wall, &queued, &inTests); err != nil {
			return api.Series{}, s.toAPIError("series", err)
		}
		if n := (created - first) / int64(step); n != b.number || len(b.waits) == 0 {
			out.Buckets = b.appendTo(out.Buckets, f.Since, step)
			b = bucket{number: n}
		}
		b.add(api.Verdict(verdict), api.Code(code), inTests, wall, queued)
	}

	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return api.Series{}, s.toAPIError("series", err)
	}
	out.Buckets = b.appendTo(out.Buckets, f.Since, step)
	return out, nil
}

// A bucket collects the runs of one step.
type bucket struct {
	number int64
	runs   aggregate
	waits  []int64
	codes  map[api.Code]int64
}

func (b *bucket) add(v api.Verdict, code api.Code, inTests bool, wall, queued int64) {
	b.runs.add("", "", "", v, inTests, wall)
	b.waits = append(b.waits, queued)
	if code != "" {
		if b.codes == nil {
			b.codes = map[api.Code]int64{}
		}
		b.codes[code]++
	}
}

// appendTo appends the statistics, unless there was no run.
func (b *bucket) appendTo(all []api.Bucket, since time.Time, step time.Duration) []api.Bucket {
	if len(b.waits) == 0 {
		return all
	}

	slices.SortFunc(b.runs.runs, func(a, c sample) int { return cmp.Compare(a.wall, c.wall) })
	figures := b.runs.groupBy(nameIndex{names: make([][2]string, 1)}, func(sample) int32 { return 0 })[0].Figures
	slices.Sort(b.waits)
	n := len(b.waits)
	return append(all, api.Bucket{Start: since.Add(time.Duration(b.number) * step).UTC(), Figures: figures,
		WaitP50: b.waits[(n+1)/2-1], WaitP99: b.waits[(n*99+99)/100-1], Codes: b.codes})
}
