package history

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestFileIsReadableByItsOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a b?c=1%41#d;.db") // nothing in a name is an option
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}

	s := open(t, path, RetentionLimits{})
	add(t, s, record("one"))
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range files {
		info, err := f.Info()
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}

	if len(files) != 3 {
		t.Errorf("%d files; want the database, its log and its index", len(files))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if files, err = os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("after Close there is more than the file: %v, %v", files, err)
	}

	s = open(t, path, RetentionLimits{})
	if _, err := s.Get(t.Context(), Scope{}, "one"); err != nil {
		t.Error(err)
	}
}

func TestBoundsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, k := range []RetentionLimits{{Runs: -1}, {Alerts: -1}, {Stream: -1}, {Stream: MaxStream + 1}, {Bytes: -1}, {Bytes: 1000}} {
		path := filepath.Join(t.TempDir(), "history.db")
		if _, err := Open(t.Context(), path, k); err == nil {
			t.Errorf("%+v is taken", k)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%+v: a file was made", k)
		}
	}
}

// execute runs SQL on a file that no store has open.
func execute(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", source(path, ""))
	if err == nil {
		_, err = db.Exec(script)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestForeignFilesAreLeftUnchanged(t *testing.T) {
	ours := func(t *testing.T, path string) {
		s := open(t, path, RetentionLimits{})
		for i := range 300 {
			add(t, s, record(fmt.Sprint("run", i)))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}

	spoil := func(from, to int64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			ours(t, path)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err == nil {
				_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, int(to-from)), from)
			}
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}

	for _, tt := range []struct {
		name string
		make func(*testing.T, string)
		says string
	}{
		{"text", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("not a database\n", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "damaged"},
		{"damaged head", spoil(0, 100), "damaged"},
		{"damaged schema", spoil(100, 4096), "damaged"},
		{"damaged tables", spoil(4096, 60000), "damaged"},
		{"cut off", func(t *testing.T, path string) {
			ours(t, path)
			if err := os.Truncate(path, 40960); err != nil {
				t.Fatal(err)
			}
		}, "damaged"},
		{"another program's", func(t *testing.T, path string) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			execute(t, path, "CREATE TABLE contacts (name TEXT)")
		}, "another program's"},
		{"another application", func(t *testing.T, path string) {
			ours(t, path)
			execute(t, path, "PRAGMA application_id = 1")
		}, "another program's"},
		{"of a newer brig", func(t *testing.T, path string) {
			ours(t, path)
			execute(t, path, "PRAGMA user_version = 99")
		}, "use a newer brig"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history.db")
			tt.make(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			_, err = Open(t.Context(), path, RetentionLimits{})
			var e *api.Error
			if !errors.As(err, &e) || e.Code != api.CodeInternal || !strings.Contains(e.Message, tt.says) || !strings.Contains(e.Message, path) {
				t.Errorf("%v; want %q and the name", err, tt.says)
			}
			if tt.says == "damaged" && !strings.Contains(fmt.Sprint(err), "move it away") {
				t.Errorf("%v: no cure", err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

// Uses a schema of version 0, which was never released, to show that a migration keeps the data.
func TestOlderFileIsMigrated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	s := open(t, path, RetentionLimits{})
	add(t, s, record("old"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	saved := migrations
	defer func() { migrations = saved }()

	migrations = append(saved[:len(saved):len(saved)],
		"ALTER TABLE runs ADD COLUMN a INTEGER; ALTER TABLE runs ADD COLUMN nothing;;; SELECT wrong;")
	if _, err := Open(t.Context(), path, RetentionLimits{}); err == nil {
		t.Fatal("a migration that fails is no error")
	}

	migrations[len(saved)] = "ALTER TABLE runs ADD COLUMN a INTEGER NOT NULL DEFAULT 7;"
	s = open(t, path, RetentionLimits{})
	add(t, s, record("new"))
	if _, err := s.Get(t.Context(), Scope{}, "new"); err != nil {
		t.Fatal(err)
	}

	var sum, version int
	if err := s.reads.QueryRow("SELECT sum(a), (SELECT user_version FROM pragma_user_version) FROM runs").Scan(&sum, &version); err != nil ||
		sum != 14 || version != len(migrations) {
		t.Errorf("sum %d, version %d, %v", sum, version, err)
	}
}

func TestClosedStoreRefuses(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	add(t, s, record("one"))
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}

	_, get := s.Get(t.Context(), Scope{}, "one")
	_, _, list := s.List(t.Context(), Filter{})
	_, _, alerts := s.Alerts(t.Context(), Filter{})
	_, stats := s.Stats(t.Context(), Filter{})
	_, overtaken := s.reads.QueryContext(t.Context(), "SELECT 1") // as a reader that found the store open a moment ago
	for _, err := range []error{s.Add(t.Context(), record("two")), s.AddAlert(t.Context(), api.Alert{Time: epoch}), get, list, alerts, stats,
		s.toAPIError("list", overtaken)} {
		var e *api.Error
		if !errors.Is(err, ErrClosed) || !errors.As(err, &e) || e.Code != api.CodeStopping {
			t.Errorf("%v; want %v", err, ErrClosed)
		}
	}
}

func TestCanceledCallerIsNotServed(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.List(ctx, Filter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("list: %v", err)
	}
	if _, err := s.Stats(ctx, Filter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("statistics: %v", err)
	}
	if err := s.Add(ctx, record("maybe")); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("add: %v", err)
	}
}

// Files from before runs had summaries get them from the stored details.
func TestMigrationAddsSummaries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	row := func(seq int, detail string) string {
		return fmt.Sprintf("(%d, 'run%d', '', '', '', '', '', 'ok', '', '', 'run', 1, 0, 0, NULL, NULL, 0, 0, 0, 0, "+
			"0, 0, 1%s)", seq, seq, detail)
	}
	const with, without = `, NULL, CAST('{"summary":{"tests":2,"ran":2,"accepted":1,"first_failed":"b"}}' AS BLOB), NULL, NULL, NULL`,
		`, NULL, CAST('{"verdict":"ok"}' AS BLOB), NULL, NULL, NULL`

	execute(t, path, migrations[0]+migrations[1]+fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 2;", application)+
		"INSERT INTO runs VALUES "+row(1, "")+", "+row(2, "")+", "+row(3, "")+", "+row(4, "")+
		"; INSERT INTO bodies VALUES (1"+with+"), (2"+without+"), (4, NULL, CAST('{' AS BLOB), NULL, NULL, NULL)"+
		"; INSERT INTO arrivals VALUES "+row(5, with)+", "+row(6, without))
	page, _, err := open(t, path, RetentionLimits{}).List(t.Context(), Filter{})
	if err != nil || len(page) != 6 {
		t.Fatalf("%v, %v", ids(page), err)
	}

	for _, r := range page {
		if has := r.ID == "run1" || r.ID == "run5"; (r.Summary != nil) != has ||
			has && !reflect.DeepEqual(*r.Summary, api.Summary{Tests: 2, Ran: 2, Accepted: 1, FirstFailed: "b"}) {
			t.Errorf("%s: %+v", r.ID, r.Summary)
		}
	}
}
