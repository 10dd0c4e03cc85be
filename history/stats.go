package history

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/brig-sandbox/brig/api"
)

// Figures sum up runs. Wall times are of the runs with a verdict, in nanoseconds;
// a percentile is the nearest rank's, a time that some run really took.
type Figures struct {
	Runs    int64 `json:"runs"`
	Success int64 `json:"success"` // verdict ok
	Failure int64 `json:"failure"` // any other verdict
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
// Percentiles are exact: SQLite sorts the chosen runs by wall time, once for each of
// the four breakdowns, so the cost is that of four sorts of n narrow rows, spilled
// to a temporary file beyond the 2 MB of a connection's cache. A key's runs and a time
// range come from an index; the rest of the filter is looked up run by run.
func (s *Store) Stats(ctx context.Context, f Filter) (Stats, error) {
	if err := s.open(); err != nil {
		return Stats{}, err
	}
	var st Stats
	if f.Limit != 0 || f.After != "" {
		return st, api.Refuse(api.CodeBadRequest, "history: statistics have no pages")
	}
	where, args, err := f.where()
	if err != nil {
		return st, err
	}
	tx, err := s.reads.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // one snapshot for all
	if err != nil {
		return st, s.failed("statistics", err)
	}
	defer tx.Rollback() // it only read
	for _, by := range []struct {
		name, project string // expressions
		into          *[]Group
	}{
		{"''", "''", nil},
		{"language", "''", &st.Languages},
		{"project", "''", &st.Projects},
		{"task", "project", &st.Tasks},
	} {
		groups, more, err := breakdown{tx, "(SELECT " + by.name + " AS name, " + by.project + " AS parent, verdict, wall FROM runs WHERE " + where + ")", args}.groups(ctx)
		if err != nil {
			return st, s.failed("statistics", err)
		}
		st.More = st.More || more
		switch {
		case by.into != nil:
			*by.into = groups
		case len(groups) > 0:
			st.Figures = groups[0].Figures
		default:
			st.Verdicts = map[api.Verdict]int64{}
		}
	}
	return st, nil
}

// A breakdown is a table of name, parent, verdict and wall time, to be summed up by
// the first two.
type breakdown struct {
	tx   *sql.Tx
	from string
	args []any
}

func (b breakdown) groups(ctx context.Context) (groups []Group, more bool, err error) {
	type key struct{ name, parent string }
	at := map[key]*Figures{}
	groups = make([]Group, 0, groupsMost) // never grows: at points into it
	var name, parent, verdict string
	var runs, wall, rank, of int64
	var mean float64

	// 1. The largest groups and their totals.
	var judged, ok int64
	err = b.each(ctx, `SELECT name, parent, count(*), sum(verdict <> ''), sum(verdict = 'ok'), coalesce(avg(wall) FILTER (WHERE verdict <> ''), 0)
		FROM `+b.from+` GROUP BY name, parent ORDER BY 3 DESC, name, parent LIMIT 1001`,
		func() {
			if len(groups) == groupsMost {
				more = true
				return
			}
			groups = append(groups, Group{name, parent, Figures{Runs: runs, Success: ok, Failure: judged - ok, Errors: runs - judged,
				Mean: int64(math.Round(mean)), Verdicts: map[api.Verdict]int64{}}})
			at[key{name, parent}] = &groups[len(groups)-1].Figures
		}, &name, &parent, &runs, &judged, &ok, &mean)
	if err != nil {
		return nil, false, err
	}

	// 2. Their verdicts.
	err = b.each(ctx, `SELECT name, parent, verdict, count(*) FROM `+b.from+` WHERE verdict <> '' GROUP BY name, parent, verdict`,
		func() {
			if f := at[key{name, parent}]; f != nil {
				f.Verdicts[api.Verdict(verdict)] = runs
			}
		}, &name, &parent, &verdict, &runs)
	if err != nil {
		return nil, false, err
	}

	// 3. Their percentiles.
	err = b.each(ctx, `SELECT * FROM (SELECT name, parent, wall,
			row_number() OVER (PARTITION BY name, parent ORDER BY wall) AS rank, count(*) OVER (PARTITION BY name, parent) AS runs
			FROM `+b.from+` WHERE verdict <> '')
		WHERE rank = (runs + 1) / 2 OR rank = (runs * 99 + 99) / 100`,
		func() {
			f := at[key{name, parent}]
			if f == nil {
				return
			}
			if rank == (of+1)/2 {
				f.P50 = wall
			}
			if rank == (of*99+99)/100 {
				f.P99 = wall
			}
		}, &name, &parent, &wall, &rank, &of)
	return groups, more, err
}

// each runs a query and calls row with each row scanned.
func (b breakdown) each(ctx context.Context, query string, row func(), into ...any) error {
	rows, err := b.tx.QueryContext(ctx, query, b.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		row()
	}
	return errors.Join(rows.Err(), rows.Close())
}
