package history

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// The bounds of a group of failures.
const (
	maxFailureKeys = 100
	maxFailureRuns = 20
)

// Failures returns the selected runs that brig failed, by code, the most frequent first. Those that came later than
// acked of their code are open. The caller adds what a code means.
func (s *Store) Failures(ctx context.Context, f Filter, acked map[api.Code]time.Time) (api.Failures, error) {
	from, err := s.flushJournal(ctx)
	if err != nil {
		return api.Failures{}, err
	}
	if f.Limit != 0 || f.After != "" || len(f.Verdicts) > 0 || f.Failed {
		return api.Failures{}, api.Refuse(api.CodeBadRequest, "history: failures of brig have no verdict, and no pages")
	}

	where, args, err := f.where()
	if err != nil {
		return api.Failures{}, err
	}

	out := api.Failures{Failures: []api.FailureGroup{}}
	row := s.reads.QueryRowContext(ctx, "SELECT count(*) FROM "+from+" WHERE "+where, args...)
	if err := row.Scan(&out.Runs); err != nil {
		return out, s.toAPIError("failures", err)
	}

	rows, err := s.reads.QueryContext(ctx, "SELECT id, owner, code, message, created FROM "+from+" WHERE code != '' AND "+where+
		" ORDER BY created DESC, seq DESC", args...)
	if err != nil {
		return out, s.toAPIError("failures", err)
	}
	defer rows.Close()

	groups := map[api.Code]*api.FailureGroup{}
	for rows.Next() {
		var id, owner, message string
		var code api.Code
		var created int64
		if err := rows.Scan(&id, &owner, &code, &message, &created); err != nil {
			return out, s.toAPIError("failures", err)
		}

		at := time.Unix(0, created).UTC()
		g := groups[code]
		if g == nil {
			g = &api.FailureGroup{Code: code, Last: at, Message: message}
			groups[code] = g
		}
		addFailure(g, id, at, acked[code])
		if f.Everyone {
			addFailureKey(g, owner)
		}
		out.Total++
	}

	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return out, s.toAPIError("failures", err)
	}

	for _, code := range slices.Sorted(maps.Keys(groups)) {
		out.Failures = append(out.Failures, *groups[code])
	}
	slices.SortStableFunc(out.Failures, func(a, b api.FailureGroup) int { return int(b.Count - a.Count) })
	return out, nil
}

func addFailure(g *api.FailureGroup, id string, at, acked time.Time) {
	g.Count++
	g.First = at
	if at.After(acked) {
		g.Open++
	}
	if len(g.Runs) < maxFailureRuns {
		g.Runs = append(g.Runs, id)
	}
}

func addFailureKey(g *api.FailureGroup, owner string) {
	if g.Keys == nil {
		g.Keys = map[string]int64{}
	}
	if _, known := g.Keys[owner]; known || len(g.Keys) < maxFailureKeys {
		g.Keys[owner]++
	}
}

// An OwnerCount is how many runs an owner has in a time.
type OwnerCount struct{ Runs, NotJudged int64 }

// Owners counts the runs since a time, by owner.
func (s *Store) Owners(ctx context.Context, since time.Time) (map[string]OwnerCount, error) {
	from, err := s.flushJournal(ctx)
	if err != nil {
		return nil, err
	}

	rows, err := s.reads.QueryContext(ctx, strings.Join([]string{"SELECT owner, count(*), sum(code != '') FROM", from,
		"WHERE created >= ? GROUP BY owner"}, " "), nanoseconds(since))
	if err != nil {
		return nil, s.toAPIError("count runs", err)
	}
	defer rows.Close()

	counts := map[string]OwnerCount{}
	for rows.Next() {
		var owner string
		var c OwnerCount
		if err := rows.Scan(&owner, &c.Runs, &c.NotJudged); err != nil {
			return nil, s.toAPIError("count runs", err)
		}
		counts[owner] = c
	}
	return counts, s.toAPIError("count runs", rows.Err())
}
