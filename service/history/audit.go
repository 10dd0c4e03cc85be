package history

import (
	"context"
	"time"

	"github.com/brig-sandbox/brig/api"
)

var auditColumns = []string{"created", "owner", "action", "subject"}

// AddAudit stores an entry of the audit log and returns when it is committed. Above RetentionLimits.Audit entries those of the key
// with most are removed, the oldest first: nobody can push what others did out of the log (TestAuditIsFair).
func (s *Store) AddAudit(ctx context.Context, e api.AuditEntry) error {
	if len(e.By) > int(maxName) || e.Action == "" || e.Time.UnixNano() <= 0 {
		return api.Refuse(api.CodeBadRequest, "history: an audit entry without a time or an action, or of a key of %d bytes",
			len(e.By))
	}
	subject, _ := cut(api.Bytes(e.Subject), int(maxMessage), false)
	e.Subject = string(subject)
	return s.commit(ctx, job{audit: &e})
}

// Audit returns a page of the audit log, newest first, and the cursor of the next page. An entry has a key and a time; a
// filter on anything else is an error.
func (s *Store) Audit(ctx context.Context, f Filter) (page []api.AuditEntry, next string, err error) {
	if err := s.open(); err != nil {
		return nil, "", err
	}
	if f.Project != "" || f.Task != "" || f.Run != "" || f.Language != "" || len(f.Verdicts) > 0 || f.Failed {
		return nil, "", api.Refuse(api.CodeBadRequest, "history: the audit log has no runs: filter by time")
	}
	f.Replaced = true // an entry always counts

	condition, args, limit, err := f.page()
	if err != nil {
		return nil, "", err
	}

	rows, err := s.reads.QueryContext(ctx, "SELECT seq, created, owner, action, subject FROM audit WHERE "+condition, args...)
	if err != nil {
		return nil, "", s.toAPIError("list the audit log", err)
	}
	defer rows.Close()

	page = []api.AuditEntry{}
	var last cursor
	for rows.Next() {
		if len(page) == limit {
			return page, last.String(), s.toAPIError("list the audit log", rows.Close())
		}
		var e api.AuditEntry
		if err := rows.Scan(&last.seq, &last.created, &e.By, &e.Action, &e.Subject); err != nil {
			return nil, "", s.toAPIError("list the audit log", err)
		}
		e.Time = time.Unix(0, last.created).UTC()
		page = append(page, e)
	}

	return page, "", s.toAPIError("list the audit log", rows.Err())
}

// LastAudits returns the last entry of an action for each subject that starts with prefix, by a key or by anyone.
func (s *Store) LastAudits(ctx context.Context, scope Scope, action api.AuditAction, prefix string) (map[string]api.AuditEntry, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	where, args, err := Filter{Scope: scope, Replaced: true}.where()
	if err != nil {
		return nil, err
	}

	rows, err := s.reads.QueryContext(ctx, "SELECT created, owner, subject FROM audit WHERE action = ? AND "+
		"substr(subject, 1, ?) = ? AND "+where+" ORDER BY created, seq", append([]any{string(action), len(prefix), prefix}, args...)...)
	if err != nil {
		return nil, s.toAPIError("read the audit log", err)
	}
	defer rows.Close()

	last := map[string]api.AuditEntry{}
	for rows.Next() {
		var created int64
		e := api.AuditEntry{Action: action}
		if err := rows.Scan(&created, &e.By, &e.Subject); err != nil {
			return nil, s.toAPIError("read the audit log", err)
		}
		e.Time = time.Unix(0, created).UTC()
		last[e.Subject] = e
	}

	return last, s.toAPIError("read the audit log", rows.Err())
}
