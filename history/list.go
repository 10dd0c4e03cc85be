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
	listed = "seq, " + strings.Join(runColumns, ", ") + ", diagnosis"
	whole  = listed + ", detail, findings, stdout, stderr"
)

// scan reads a row of listed columns, or of whole ones.
func scan(row interface{ Scan(...any) error }, all bool) (r api.Record, seq int64, err error) {
	var created int64
	var summary, diagnosis, detail, findings, stdout, stderr []byte
	into := []any{&seq, &r.ID, &r.Owner, &r.Project, &r.Task, &r.Language, &r.Image, &r.Verdict, &r.Code, &r.Message, &r.Stage,
		&created, &r.Queued, &r.Wall, &r.CPU, &r.Memory, &r.ExitCode, &r.Signal, &r.SourceSize,
		&r.StdoutTruncated, &r.StderrTruncated, &r.Cut, &summary, &diagnosis}
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

// Get gives one run with all that is kept of it. A run of another key is not found.
func (s *Store) Get(ctx context.Context, whose Whose, id string) (api.Record, error) {
	from, err := s.settle(ctx)
	if err != nil {
		return api.Record{}, err
	}
	where, args, err := Filter{Whose: whose}.where()
	if err != nil {
		return api.Record{}, err
	}
	row := s.reads.QueryRowContext(ctx, "SELECT "+whole+" FROM "+from+" WHERE id = ? AND "+where, append([]any{id}, args...)...)
	r, _, err := scan(row, true)
	if errors.Is(err, sql.ErrNoRows) && whose.Everyone {
		return api.Record{}, api.Refuse(api.CodeNotFound, "no run %.80q in the history: it has not ended, was never, was lost with a service that was killed, or is so old that it has gone", id)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return api.Record{}, api.Refuse(api.CodeNotFound, "no run %.80q in the history: the id is wrong, or the run is another key's, or so old that it has gone", id)
	}
	return r, s.failed("read a run", err)
}

// List gives a page of runs, newest first, without their streams, Detail and
// Findings, and the cursor of the next page; empty when this was the last. A page may
// hold fewer than the limit and yet have a next one, so that it stays below 8 MiB.
//
// A key's page is read from its index. What else is filtered for is looked up run by
// run: at worst all that the key has stored.
func (s *Store) List(ctx context.Context, f Filter) (page []api.Record, next string, err error) {
	from, err := s.settle(ctx)
	if err != nil {
		return nil, "", err
	}
	condition, args, limit, err := f.page()
	if err != nil {
		return nil, "", err
	}
	rows, err := s.reads.QueryContext(ctx, "SELECT "+listed+" FROM "+from+" WHERE "+condition, args...)
	if err != nil {
		return nil, "", s.failed("list", err)
	}
	defer rows.Close()
	page = []api.Record{}
	var last cursor
	for size := 0; rows.Next(); {
		if len(page) == limit || size > pageBytes {
			return page, last.String(), s.failed("list", rows.Close())
		}
		r, seq, err := scan(rows, false)
		if err != nil {
			return nil, "", s.failed("list", err)
		}
		page, last = append(page, r), cursor{r.Created.UnixNano(), seq}
		size += int(weight(&r))
	}
	return page, "", s.failed("list", rows.Err())
}
