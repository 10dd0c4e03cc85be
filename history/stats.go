package history

import (
	"context"
	"errors"

	"github.com/brig-sandbox/brig/api"
)

// Figures sum up runs. Wall times are of the runs with a verdict, in nanoseconds;
// a percentile is the nearest rank's, a time that some run really took.
type Figures struct {
	Runs    int64 `json:"runs"`
	Success int64 `json:"success"` // verdict ok, and of tests every one accepted
	Failure int64 `json:"failure"` // judged otherwise
	Wrong   int64 `json:"wrong"`   // of the failures, those with verdict ok: some test was not accepted
	Errors  int64 `json:"errors"`  // ours; the programs were not judged

	Verdicts map[api.Verdict]int64 `json:"verdicts"`

	Mean int64 `json:"wall_mean_ns"`
	P50  int64 `json:"wall_p50_ns"`
	P99  int64 `json:"wall_p99_ns"`
}

// A Group is the figures of one language, project or task.
type Group struct {
	Name    string `json:"name"`              // empty: the runs that named none
	Project string `json:"project,omitempty"` // that a task belongs to
	Figures
}

// Stats are figures of all runs and of each group of them, the largest groups first.
type Stats struct {
	Figures
	Languages []Group `json:"languages"`
	Projects  []Group `json:"projects"`
	Tasks     []Group `json:"tasks"`
	More      bool    `json:"more,omitempty"` // there are more groups of a kind than the 1,000 listed
}

const groupsMost = 1_000

// Stats sums up the runs that the filter chooses; Limit and After are no part of it.
//
// It is exact. SQLite reads the chosen runs once: a key's runs and a time range come
// from an index, the rest of the filter is looked up run by run. They are sorted by
// wall time once, for all groups together, and take 24 bytes each meanwhile.
func (s *Store) Stats(ctx context.Context, f Filter) (Stats, error) {
	from, err := s.settle(ctx)
	if err != nil {
		return Stats{}, err
	}
	if f.Limit != 0 || f.After != "" {
		return Stats{}, api.Refuse(api.CodeBadRequest, "history: statistics have no pages")
	}
	where, args, err := f.where()
	if err != nil {
		return Stats{}, err
	}
	rows, err := s.reads.QueryContext(ctx, "SELECT language, project, task, verdict, wall, verdict = 'ok' AND NOT "+passed+" FROM "+from+" WHERE "+where, args...)
	if err != nil {
		return Stats{}, s.failed("statistics", err)
	}
	defer rows.Close()
	var t sum
	for rows.Next() {
		var language, project, task, verdict string
		var wall int64
		var inTests bool
		if err := rows.Scan(&language, &project, &task, &verdict, &wall, &inTests); err != nil {
			return Stats{}, s.failed("statistics", err)
		}
		t.add(language, project, task, api.Verdict(verdict), inTests, wall)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return Stats{}, s.failed("statistics", err)
	}
	return t.stats(), nil
}
