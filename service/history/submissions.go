package history

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// A Submission is a run that can be judged again, with what is kept of its request.
type Submission struct {
	api.Record
	Request *api.KeptRequest // nil: nothing was kept
}

// Submissions calls each for the runs that a filter selects, the oldest first: of the given ids alone, if there are
// any. It ends with the error of each, or at more than most runs, with one that says how many there are.
func (s *Store) Submissions(ctx context.Context, f Filter, ids []string, most int, each func(Submission) error) error {
	from, err := s.flushJournal(ctx)
	if err != nil {
		return err
	}
	where, args, err := f.where()
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		where += " AND id IN (?" + strings.Repeat(", ?", len(ids)-1) + ")"
		for _, id := range ids {
			args = append(args, id)
		}
	}

	var n int
	if err := s.reads.QueryRowContext(ctx, "SELECT count(*) FROM "+from+" WHERE "+where, args...).Scan(&n); err != nil {
		return s.toAPIError("count submissions", err)
	}
	if n > most {
		return api.Refuse(api.CodeTooLarge, "these are %d runs, and one request takes at most %d: choose fewer, by since and "+
			"until or by task", n, most)
	}

	rows, err := s.reads.QueryContext(ctx, "SELECT "+listColumns+", request FROM "+from+" WHERE "+where+
		" ORDER BY created, seq", args...)
	if err != nil {
		return s.toAPIError("read submissions", err)
	}
	defer rows.Close()

	for rows.Next() {
		var text []byte
		r, _, err := scan(scanMore{rows, &text}, false)
		if err != nil {
			return s.toAPIError("read submissions", err)
		}
		one := Submission{Record: r}
		if text != nil {
			one.Request = new(api.KeptRequest)
			if err := json.Unmarshal(text, one.Request); err != nil {
				return s.toAPIError("read submissions", err)
			}
		}
		if err := each(one); err != nil {
			return err
		}
	}
	return s.toAPIError("read submissions", rows.Err())
}

// A scanMore scans one column more than its caller knows.
type scanMore struct {
	row interface{ Scan(...any) error }
	to  *[]byte
}

func (s scanMore) Scan(into ...any) error { return s.row.Scan(append(slices.Clip(into), s.to)...) }
