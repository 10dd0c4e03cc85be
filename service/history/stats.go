package history

import (
	"context"
	"errors"

	"github.com/brig-sandbox/brig/api"
)

const maxGroups = 1_000

// Stats returns the statistics of the runs that the filter selects; Limit and After must be unset.
//
// The statistics are exact. SQLite reads the selected runs once: a key's runs and a time range come
// from an index, all other conditions are checked run by run. The runs are sorted by wall time
// once, for all groups together, and take 24 bytes each meanwhile.
func (s *Store) Stats(ctx context.Context, f Filter) (api.Stats, error) {
	from, err := s.flushJournal(ctx)
	if err != nil {
		return api.Stats{}, err
	}
	if f.Limit != 0 || f.After != "" {
		return api.Stats{}, api.Refuse(api.CodeBadRequest, "history: statistics have no pages")
	}

	where, args, err := f.where()
	if err != nil {
		return api.Stats{}, err
	}

	rows, err := s.reads.QueryContext(ctx,
		"SELECT language, project, task, verdict, wall, verdict = 'ok' AND NOT "+passed+" FROM "+from+
			" WHERE "+where, args...)
	if err != nil {
		return api.Stats{}, s.toAPIError("statistics", err)
	}
	defer rows.Close()

	var t aggregate
	for rows.Next() {
		var language, project, task, verdict string
		var wall int64
		var inTests bool
		if err := rows.Scan(&language, &project, &task, &verdict, &wall, &inTests); err != nil {
			return api.Stats{}, s.toAPIError("statistics", err)
		}
		t.add(language, project, task, api.Verdict(verdict), inTests, wall)
	}

	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return api.Stats{}, s.toAPIError("statistics", err)
	}
	return t.result(), nil
}
