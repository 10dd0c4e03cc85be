package history

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// Whose says whose runs are asked for: those of one key, or, for an administrator,
// everyone's. The zero value is the runs of a service without keys.
type Whose struct {
	Owner    string
	Everyone bool // Owner is then empty
}

// A Filter chooses runs. Every field that is set must be met.
type Filter struct {
	Whose
	Project  string
	Task     string
	Language string
	Verdicts []api.Verdict // any of these; empty: every run
	Failed   bool          // those that are no success, beside Verdicts: wrong answers and our failures too
	Since    time.Time     // created then or later
	Until    time.Time     // created before

	Limit int    // zero means 1,000; the most is 10,000
	After string // the cursor that the page before gave; empty: from the newest
}

const (
	pageLimit = 1_000
	pageMost  = 10_000
	pageBytes = 8 << 20 // of diagnoses and texts; a page is complete below that
)

// where is the filter as a condition on a table with the runs' columns.
func (f Filter) where() (condition string, args []any, err error) {
	if f.Everyone && f.Owner != "" {
		return "", nil, api.Refuse(api.CodeBadRequest, "history: everyone's runs are asked for and those of %q: choose one", f.Owner)
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
	and("language = ?", f.Language != "", f.Language)
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

// nanoseconds since 1970, for a time that may lie beyond what 63 bits hold.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Year() < 1970:
		return 0
	case t.Year() > 2261:
		return 1<<63 - 1
	}
	return t.UnixNano()
}

// page adds what makes a page of it: newest first, and one row more than asked for,
// which shows whether there is a next one.
func (f Filter) page() (condition string, args []any, limit int, err error) {
	condition, args, err = f.where()
	if err != nil {
		return "", nil, 0, err
	}
	limit = f.Limit
	switch {
	case limit < 0 || limit > pageMost:
		return "", nil, 0, api.Refuse(api.CodeBadRequest, "history: limit %d: the most of a page is %d", limit, pageMost)
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

// A cursor is the last row of a page. The next page begins behind it whatever was
// added or dropped meanwhile.
type cursor struct{ created, seq int64 }

func (c cursor) String() string { return fmt.Sprintf("%x.%x", c.created, c.seq) }

func parseCursor(s string) (c cursor, err error) {
	created, seq, _ := strings.Cut(s, ".")
	var errs [2]error
	c.created, errs[0] = strconv.ParseInt(created, 16, 64)
	c.seq, errs[1] = strconv.ParseInt(seq, 16, 64)
	if errs[0] != nil || errs[1] != nil || c.String() != s {
		return c, api.Refuse(api.CodeBadRequest, "history: %.80q is no cursor: send back what the page before gave", s)
	}
	return c, nil
}
