package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

var (
	listColumns = "seq, " + strings.Join(runColumns, ", ") + ", diagnosis"
	fullColumns = listColumns + ", detail, findings, stdout, stderr"
)

// scan reads a row with the columns listed or, if all is set, whole.
func scan(row interface{ Scan(...any) error }, all bool) (r api.Record, seq int64, err error) {
	var created int64
	var summary, diagnosis, detail, findings, stdout, stderr []byte
	into := []any{&seq, &r.ID, &r.Owner, &r.Project, &r.Task, &r.Language, &r.Image, &r.Verdict,
		&r.Code, &r.Message, &r.Stage,
		&created, &r.Queued, &r.Wall, &r.CPU, &r.Memory, &r.ExitCode, &r.Signal, &r.SourceSize,
		&r.StdoutTruncated, &r.StderrTruncated, &r.Cut, &summary, &r.Dialect, &r.Run,
		&r.Problem, &r.Batch, &r.Job, &r.Trial, &r.ReplacedBy, &diagnosis}
	if all {
		into = append(into, &detail, &findings, &stdout, &stderr)
	}
	if err = row.Scan(into...); err == nil && summary != nil {
		err = json.Unmarshal(summary, &r.Summary)
	}

	r.Created = time.Unix(0, created).UTC()
	r.Diagnosis, r.Detail, r.Findings, r.Stdout, r.Stderr = diagnosis, detail, findings, stdout, stderr
	return r, seq, err
}

// Get returns one run with everything that is stored of it. A run of another key is not found.
func (s *Store) Get(ctx context.Context, scope Scope, id string) (api.Record, error) {
	return s.get(ctx, scope, id, true)
}

// Brief is Get of what a listing has of a run, without its streams, Detail and Findings.
func (s *Store) Brief(ctx context.Context, scope Scope, id string) (api.Record, error) {
	return s.get(ctx, scope, id, false)
}

func (s *Store) get(ctx context.Context, scope Scope, id string, all bool) (api.Record, error) {
	from, err := s.flushJournal(ctx)
	if err != nil {
		return api.Record{}, err
	}

	where, args, err := Filter{Scope: scope, Replaced: true}.where()
	if err != nil {
		return api.Record{}, err
	}

	columns := listColumns
	if all {
		columns = fullColumns
	}
	row := s.reads.QueryRowContext(ctx, "SELECT "+columns+" FROM "+from+" WHERE id = ? AND "+where,
		append([]any{id}, args...)...)
	r, _, err := scan(row, all)
	if errors.Is(err, sql.ErrNoRows) && scope.Everyone {
		return api.Record{}, api.Refuse(api.CodeNotFound,
			"no run %.80q in the history: it has not ended, never existed, was lost when the service was killed, or "+
				"was so old that it was removed", id)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return api.Record{}, api.Refuse(api.CodeNotFound,
			"no run %.80q in the history: the id is wrong, the run belongs to another key, or it was so old that it was removed",
			id)
	}

	return r, s.toAPIError("read a run", err)
}

// List returns a page of runs, newest first, without their streams, Detail and Findings, and the
// cursor of the next page, which is empty for the last page. To stay below 8 MiB, a page may have
// fewer runs than the limit and still have a next page.
//
// A key's page is read from its index. All other conditions are checked run by run: at worst on all
// runs that the key has stored.
func (s *Store) List(ctx context.Context, f Filter) (page []api.Record, next string, err error) {
	from, err := s.flushJournal(ctx)
	if err != nil {
		return nil, "", err
	}

	condition, args, limit, err := f.page()
	if err != nil {
		return nil, "", err
	}

	rows, err := s.reads.QueryContext(ctx, "SELECT "+listColumns+" FROM "+from+" WHERE "+condition, args...)
	if err != nil {
		return nil, "", s.toAPIError("list", err)
	}
	defer rows.Close()

	page = []api.Record{}
	var last cursor
	for size := 0; rows.Next(); {
		if len(page) == limit || size > pageBytes {
			return page, last.String(), s.toAPIError("list", rows.Close())
		}
		r, seq, err := scan(rows, false)
		if err != nil {
			return nil, "", s.toAPIError("list", err)
		}
		page, last = append(page, r), cursor{r.Created.UnixNano(), seq}
		size += int(weight(&r))
	}

	return page, "", s.toAPIError("list", rows.Err())
}
