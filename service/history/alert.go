package history

import (
	"context"
	"time"

	"github.com/brig-sandbox/brig/api"
)

var alertColumns = []string{"created", "kind", "owner", "project", "run", "text"}

// AddAlert stores an alert and returns when it is committed.
func (s *Store) AddAlert(ctx context.Context, a api.Alert) error {
	for _, name := range []string{string(a.Kind), a.Owner, a.Project, a.Run} {
		if len(name) > int(maxName) || a.Time.UnixNano() <= 0 {
			return api.Refuse(api.CodeBadRequest, "history: an alert without a time, or with a name of %d bytes", len(name))
		}
	}
	text, _ := cut(api.Bytes(a.Text), int(maxMessage), false)
	a.Text = string(text)
	return s.commit(ctx, job{alert: &a})
}

// Alerts returns a page of alerts, newest first, and the cursor of the next page. An alert has an
// owner, a project and a time; a filter on anything else is an error.
func (s *Store) Alerts(ctx context.Context, f Filter) (page []api.Alert, next string, err error) {
	if err := s.open(); err != nil {
		return nil, "", err
	}
	if f.Task != "" || f.Run != "" || f.Language != "" || len(f.Verdicts) > 0 || f.Failed {
		return nil, "", api.Refuse(api.CodeBadRequest,
			"history: alerts have no task, label run, language or verdict: filter by project and time")
	}

	if f.Problem != "" || f.Batch != "" {
		return nil, "", api.Refuse(api.CodeBadRequest, "history: alerts have no problem and no batch: filter by project and time")
	}
	f.Replaced = true // an alert always counts

	condition, args, limit, err := f.page()
	if err != nil {
		return nil, "", err
	}

	rows, err := s.reads.QueryContext(ctx,
		"SELECT seq, created, kind, owner, project, run, text FROM alerts WHERE "+condition, args...)
	if err != nil {
		return nil, "", s.toAPIError("list alerts", err)
	}
	defer rows.Close()

	page = []api.Alert{}
	var last cursor
	for rows.Next() {
		if len(page) == limit {
			return page, last.String(), s.toAPIError("list alerts", rows.Close())
		}
		var a api.Alert
		if err := rows.Scan(&last.seq, &last.created, &a.Kind, &a.Owner, &a.Project, &a.Run, &a.Text); err != nil {
			return nil, "", s.toAPIError("list alerts", err)
		}
		a.Time = time.Unix(0, last.created).UTC()
		page = append(page, a)
	}

	return page, "", s.toAPIError("list alerts", rows.Err())
}
