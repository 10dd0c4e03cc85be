package history

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// count counts the rows of a table without the store, as an operator's tool would.
func count(t *testing.T, s *Store, table string) (n int) {
	t.Helper()
	if err := s.reads.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A small run is committed as an arrival. Many arrivals, or a second without a new one, cause them
// to be moved to the tables for readers.
func TestJournalIsMovedToTheTables(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	add(t, s, record("first"))
	if n := count(t, s, "arrivals") + count(t, s, "runs"); n != 1 {
		t.Errorf("%d rows of one run", n)
	}

	add(t, s, record("large", func(r *api.Record) { r.Stdout = make([]byte, maxJournalRun) }))
	if n := count(t, s, "runs"); n < 1 {
		t.Errorf("a large run was not stored in its place")
	}

	all := 2
	for ; count(t, s, "runs") < 1+journalBatch; all++ {
		if all > 2*journalMax {
			t.Fatalf("%d runs in their place, of %d", count(t, s, "runs"), all)
		}
		add(t, s, record(fmt.Sprint(all)))
	}

	for end := time.Now().Add(time.Minute); count(t, s, "arrivals") > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d arrivals stay", count(t, s, "arrivals"))
		}
	}

	if runs, bodies := count(t, s, "runs"), count(t, s, "bodies"); runs != all || bodies != runs {
		t.Errorf("%d runs and %d bodies; want %d", runs, bodies, all)
	}
}

// Arrivals that a killed process left are read, in their order, and their ids are taken. A closed
// store leaves no arrivals.
func TestJournalOfAKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	s := open(t, path, RetentionLimits{})
	add(t, s, record("old"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	execute(t, path, `INSERT INTO arrivals SELECT 2, 'left', owner, project, task, language, image, verdict, code, message, stage,
		created, queued, wall, cpu, memory, exit_code, signal, source_size, stdout_truncated, stderr_truncated, cut, weight,
		NULL, NULL, NULL, x'6869', NULL, summary, dialect, run, NULL, '', '', '', 0, '' FROM runs`)
	s = open(t, path, RetentionLimits{})
	for _, id := range []string{"old", "left"} {
		var e *api.Error
		if err := s.Add(t.Context(), record(id)); !errors.As(err, &e) || e.Code != api.CodeBadRequest {
			t.Errorf("a second record of %s: %v", id, err)
		}
	}

	add(t, s, record("new"))
	if r, err := s.Get(t.Context(), Scope{}, "left"); err != nil || string(r.Stdout) != "hi" {
		t.Errorf("%q, %v", r.Stdout, err)
	}

	page, _, err := s.List(t.Context(), Filter{})
	got := ids(page)
	slices.Sort(got)
	if err != nil || strings.Join(got, " ") != "left new old" {
		t.Errorf("%v, %v", got, err)
	}

	add(t, s, record("last"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, path, RetentionLimits{})
	if arrivals, runs := count(t, s, "arrivals"), count(t, s, "runs"); arrivals != 0 || runs != 4 {
		t.Errorf("a closed store left %d arrivals and %d runs", arrivals, runs)
	}
}
