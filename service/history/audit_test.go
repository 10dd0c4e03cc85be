package history

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A key that does much cannot push what others did out of the log, and the log survives a restart.
func TestAuditIsFair(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	limits := RetentionLimits{Audit: 10}
	s, err := Open(t.Context(), path, limits)
	if err != nil {
		t.Fatal(err)
	}

	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	note := func(s *Store, by, subject string) {
		t.Helper()
		at = at.Add(time.Second)
		e := api.AuditEntry{Time: at, By: by, Action: api.AuditProblemStored, Subject: subject}
		if err := s.AddAudit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	note(s, "ann", "first")
	for i := range 50 {
		note(s, "ben", fmt.Sprint(i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s, err = Open(t.Context(), path, limits)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	note(s, "ben", "last")

	page, next, err := s.Audit(t.Context(), Filter{Scope: Scope{Everyone: true}, Limit: 9})
	if err != nil || len(page) != 9 || next == "" || page[0].Subject != "last" || page[8].Subject != "42" || page[0].Time != at {
		t.Fatalf("%+v, %q, %v", page, next, err)
	}
	page, next, err = s.Audit(t.Context(), Filter{Scope: Scope{Everyone: true}, After: next})
	if err != nil || len(page) != 1 || next != "" || page[0].By != "ann" || page[0].Subject != "first" {
		t.Errorf("the last page: %+v, %q, %v", page, next, err)
	}

	if _, _, err := s.Audit(t.Context(), Filter{Language: "python"}); !api.HasCode(err, api.CodeBadRequest) {
		t.Errorf("a filter of runs: %v", err)
	}
	if err := s.AddAudit(t.Context(), api.AuditEntry{Time: at, By: "ann"}); err == nil {
		t.Error("an entry without an action was stored")
	}
	last, err := s.LastAudits(t.Context(), Scope{Owner: "ben"}, api.AuditProblemStored, "4")
	if err != nil || len(last) != 8 || last["49"].By != "ben" {
		t.Errorf("the last ones that start with 4: %+v, %v", last, err)
	}
}

// Failures are grouped by code; those before an acknowledgement are no longer open, and another key has its own.
func TestFailuresByCode(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 30 {
		add(t, s, api.Record{ID: fmt.Sprint("i", i), Owner: "ann", Code: api.CodeInternal, Message: fmt.Sprint("m", i),
			Created: at.Add(time.Duration(i) * time.Second)})
	}
	add(t, s, api.Record{ID: "b", Owner: "ben", Code: api.CodeHostMemory, Message: "m", Created: at})
	add(t, s, api.Record{ID: "ok", Owner: "ann", Verdict: api.OK, Created: at})

	acked := map[api.Code]time.Time{api.CodeInternal: at.Add(9 * time.Second)}
	all, err := s.Failures(t.Context(), Filter{Scope: Scope{Everyone: true}}, acked)
	if err != nil || all.Total != 31 || all.Runs != 32 || len(all.Failures) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if g := all.Failures[0]; g.Code != api.CodeInternal || g.Count != 30 || g.Open != 20 || g.Message != "m29" || len(g.Runs) != 20 ||
		g.Runs[0] != "i29" || g.First != at || g.Last != at.Add(29*time.Second) || g.Keys["ann"] != 30 {
		t.Errorf("%+v", g)
	}

	ann, err := s.Failures(t.Context(), Filter{Scope: Scope{Owner: "ann"}}, nil)
	if err != nil || ann.Total != 30 || ann.Runs != 31 || len(ann.Failures) != 1 || ann.Failures[0].Keys != nil {
		t.Errorf("ann sees %+v, %v", ann, err)
	}

	counts, err := s.Owners(t.Context(), at.Add(time.Second))
	if err != nil || counts["ann"] != (OwnerCount{29, 29}) || counts["ben"].Runs != 0 {
		t.Errorf("%+v, %v", counts, err)
	}
}
