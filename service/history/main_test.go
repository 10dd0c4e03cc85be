package history

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// TestMain lets this binary be the child that TestKilledProcessKeepsAcknowledgedRecords kills.
func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(child(path))
	}
	os.Exit(m.Run())
}

func open(t testing.TB, path string, keep RetentionLimits) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, keep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func fresh(t testing.TB, keep RetentionLimits) *Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "history.db"), keep)
}

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// record makes a record with every required field.
func record(id string, change ...func(*api.Record)) api.Record {
	r := api.Record{ID: id, Verdict: api.OK, Stage: api.StageRun, Created: epoch}
	for _, c := range change {
		c(&r)
	}
	return r
}

func add(t testing.TB, s *Store, records ...api.Record) {
	t.Helper()
	for _, r := range records {
		if err := s.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func ids(page []api.Record) (ids []string) {
	for _, r := range page {
		ids = append(ids, r.ID)
	}
	return ids
}

var everyone = Scope{Everyone: true}
