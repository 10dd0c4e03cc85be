package history

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// Scope selects runs by owner: those of one key or, for an administrator, everyone's. The zero
// value selects the runs of a service without keys.
type Scope struct {
	Owner    string
	Everyone bool // Owner is then empty
}

// A Filter selects runs. A run must match every field that is set.
type Filter struct {
	Scope
	Project  string
	Task     string
	Run      string // the label
	Language string
	Problem  string        // by which they were judged
	Batch    string        // of which they were jobs
	Replaced bool          // also runs that do not count: of a rejudge that is not applied, or replaced by one
	Verdicts []api.Verdict // any of these; empty: every run
	Failed   bool          // in addition to Verdicts, runs that are no success: also wrong answers and failures of brig
	Since    time.Time     // created at this time or later
	Until    time.Time     // created before this time

	Limit int    // zero means 1,000; the maximum is 10,000
	After string // the cursor from the previous page; empty: start with the newest
}

const (
	pageLimit = 1_000
	maxPage   = 10_000
	pageBytes = 8 << 20 // of diagnoses and texts; a page ends when it exceeds this
)

// where returns the filter as an SQL condition on a table with the columns of runs.
func (f Filter) where() (condition string, args []any, err error) {
	if f.Everyone && f.Owner != "" {
		return "", nil, api.Refuse(api.CodeBadRequest,
			"history: both everyone's runs and those of %q are requested: choose one", f.Owner)
	}

	parts := []string{"true"}
	and := func(part string, set bool, arg any) {
		if set {
			parts, args = append(parts, part), append(args, arg)
		}
	}

	and("owner = ?", !f.Everyone, f.Owner)
	and("project = ?", f.Project != "", f.Project)
	and("task = ?", f.Task != "", f.Task)
	and("run = ?", f.Run != "", f.Run)
	and("language = ?", f.Language != "", f.Language)
	and("problem = ?", f.Problem != "", f.Problem)
	and("batch = ?", f.Batch != "", f.Batch)
	if !f.Replaced {
		parts = append(parts, "trial = 0 AND replaced_by = ''")
	}
	if len(f.Verdicts) > 0 || f.Failed {
		var either []string
		if f.Failed {
			either = append(either, "NOT "+passed)
		}
		for _, v := range f.Verdicts {
			either, args = append(either, "verdict = ?"), append(args, string(v))
		}
		parts = append(parts, "("+strings.Join(either, " OR ")+")")
	}

	and("created >= ?", !f.Since.IsZero(), nanoseconds(f.Since))
	and("created < ?", !f.Until.IsZero(), nanoseconds(f.Until))
	return strings.Join(parts, " AND "), args, nil
}

// nanoseconds returns the nanoseconds since 1970, limited to the range of 63 bits.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Year() < 1970:
		return 0
	case t.Year() > 2261:
		return 1<<63 - 1
	}
	return t.UnixNano()
}

// page is where with the clauses for one page: newest first, and one row more than requested, which
// shows whether there is a next page.
func (f Filter) page() (condition string, args []any, limit int, err error) {
	condition, args, err = f.where()
	if err != nil {
		return "", nil, 0, err
	}

	limit = f.Limit
	switch {
	case limit < 0 || limit > maxPage:
		return "", nil, 0, api.Refuse(api.CodeBadRequest, "history: limit %d: the most for a page is %d", limit, maxPage)
	case limit == 0:
		limit = pageLimit
	}

	if f.After != "" {
		at, err := parseCursor(f.After)
		if err != nil {
			return "", nil, 0, err
		}
		condition += " AND (created, seq) < (?, ?)"
		args = append(args, at.created, at.seq)
	}

	return condition + " ORDER BY created DESC, seq DESC LIMIT " + strconv.Itoa(limit+1), args, limit, nil
}

// A cursor is the last row of a page. The next page begins after it, even if rows were added or
// dropped meanwhile.
type cursor struct{ created, seq int64 }

func (c cursor) String() string { return fmt.Sprintf("%x.%x", c.created, c.seq) }

func parseCursor(s string) (c cursor, err error) {
	created, seq, _ := strings.Cut(s, ".")
	var errs [2]error
	c.created, errs[0] = strconv.ParseInt(created, 16, 64)
	c.seq, errs[1] = strconv.ParseInt(seq, 16, 64)
	if errs[0] != nil || errs[1] != nil || c.String() != s {
		return c, api.Refuse(api.CodeBadRequest, "history: %.80q is not a cursor: send the next of the previous page", s)
	}
	return c, nil
}
