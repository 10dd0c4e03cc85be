package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// of makes a record of an owner with prints bytes of output.
func of(owner string, n, prints int) api.Record {
	return record(fmt.Sprint(owner, n), func(r *api.Record) {
		r.Owner, r.Stdout, r.Created = owner, make([]byte, prints), epoch.Add(time.Duration(n))
	})
}

// owned returns the ids of an owner's runs, newest first.
func owned(t *testing.T, s *Store, owner string) string {
	t.Helper()
	page, _, err := s.List(t.Context(), Filter{Scope: Scope{Owner: owner}})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(ids(page), " ")
}

// agrees fails if a closed store's account differs from the content of its file.
func agrees(t *testing.T, s *Store) {
	t.Helper()
	db, err := sql.Open("sqlite", source(s.path, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	found := &writer{s: s, conn: conn}
	if err := found.count(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(plain(s.w.runs), plain(found.runs)) || !reflect.DeepEqual(plain(s.w.alerts), plain(found.alerts)) ||
		s.w.next != found.next || len(s.w.journal) != len(found.journal) {
		t.Errorf("the account is %d runs, %d alerts, %d arrivals, next %d; the file has %d, %d, %d, %d",
			s.w.runs.count, s.w.alerts.count, len(s.w.journal), s.w.next, found.runs.count, found.alerts.count, len(found.journal), found.next)
	}
}

func TestOneOwnerDoesNotEvictAnothersRuns(t *testing.T) {
	for _, tt := range []struct {
		name   string
		keep   RetentionLimits
		prints func(n int) int
		busy   string
	}{
		{"by runs, all small", RetentionLimits{Runs: 7}, func(int) int { return 0 }, "busy39 busy38 busy37 busy36"},
		{"by runs, all large", RetentionLimits{Runs: 7}, func(int) int { return 10_000 }, "busy39 busy38 busy37 busy36"},
		{"by runs, in turn", RetentionLimits{Runs: 7}, func(n int) int { return n % 2 * 10_000 }, "busy39 busy38 busy37 busy36"},
		{"by bytes", RetentionLimits{Bytes: api.MiB}, func(int) int { return 60_000 },
			"busy39 busy38 busy37 busy36 busy35 busy34 busy33 busy32 busy31 busy30 busy29 busy28 busy27 busy26 busy25 busy24 busy23"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history.db")
			s := open(t, path, tt.keep)
			for n := range 3 {
				add(t, s, of("quiet", n, 4000*n))
			}

			for n := range 40 {
				if n%15 == 14 { // also with usage that another process has counted
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					agrees(t, s)
					s = open(t, path, tt.keep)
				}
				add(t, s, of("busy", n, tt.prints(n)))
			}

			if got := owned(t, s, "quiet"); got != "quiet2 quiet1 quiet0" {
				t.Errorf("of the key with few runs %q stays", got)
			}
			if got := owned(t, s, "busy"); got != tt.busy {
				t.Errorf("of the key with many runs %q stays", got)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}

			agrees(t, s)
			if bodies, runs := rowsOf(t, path, "bodies"), rowsOf(t, path, "runs"); bodies != runs {
				t.Errorf("%d runs and %d bodies", runs, bodies)
			}
		})
	}
}

// rowsOf counts the rows of a table of a file that no store has open.
func rowsOf(t *testing.T, path, table string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", source(path, ""))
	if err == nil {
		err = db.QueryRow("SELECT count(*) FROM " + table).Scan(&n)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOneOwnerDoesNotEvictAnothersAlerts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	s := open(t, path, RetentionLimits{Alerts: 5})
	raise := func(owner string, from, to int) {
		for n := from; n < to; n++ {
			if err := s.AddAlert(t.Context(),
				api.Alert{Time: epoch.Add(time.Duration(n)), Kind: api.Segfault, Owner: owner, Run: fmt.Sprint(n)}); err != nil {
				t.Fatal(err)
			}
		}
	}

	left := func() (left string) {
		for _, owner := range []string{"", "busy"} {
			alerts, _, err := s.Alerts(t.Context(), Filter{Scope: Scope{Owner: owner}})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range alerts {
				left += " " + a.Owner + a.Run
			}
		}
		return left
	}

	raise("", 0, 2)
	raise("busy", 0, 30)
	if got := left(); got != " 1 0 busy29 busy28 busy27" {
		t.Errorf("stay%s", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	agrees(t, s)
	s = open(t, path, RetentionLimits{Alerts: 4}) // fewer than the stored ones
	raise("busy", 30, 31)
	if got := left(); got != " 1 0 busy30 busy29" {
		t.Errorf("reopened, stay%s", got)
	}
}

// Arrivals count for their owners before they are moved, also if another process has counted them
// and a large run was stored before they were moved.
func TestJournalEntriesCountForTheirOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	s := open(t, path, RetentionLimits{})
	add(t, s, of("busy", 0, 0), of("quiet", 1, 0))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	columns := strings.Join(runRow[2:], ", ")
	execute(t, path, `INSERT INTO arrivals (seq, id, `+columns+`) SELECT 3, 'busy3', `+columns+` FROM runs WHERE id = 'busy0';
		INSERT INTO arrivals (seq, id, `+columns+`) SELECT 4, 'quiet4', `+columns+` FROM runs WHERE id = 'quiet1';
		INSERT INTO arrivals (seq, id, `+columns+`) SELECT 5, 'busy5', `+columns+` FROM runs WHERE id = 'busy0';
		INSERT INTO runs (seq, id, `+columns+`) SELECT 6, 'busy6', `+columns+` FROM runs WHERE id = 'busy0'`)
	s = open(t, path, RetentionLimits{Runs: 4})
	if got := owned(t, s, "busy") + " " + owned(t, s, "quiet"); !sameWords(got, "busy6 busy5 quiet4 quiet1") {
		t.Errorf("stay %s", got)
	}
}

func sameWords(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// Changes of the usage by a transaction that fails at its end are undone for all owners.
func TestFailedWriteIsNotCounted(t *testing.T) {
	s := fresh(t, RetentionLimits{Runs: 10, Alerts: 3})
	alert := func(owner string) error {
		return s.AddAlert(t.Context(), api.Alert{Time: epoch, Kind: api.Segfault, Owner: owner})
	}
	for n := range 5 {
		add(t, s, of("quiet", n, 16<<10))
		if err := alert("quiet"); err != nil {
			t.Fatal(err)
		}
	}

	for n := range 5 {
		add(t, s, of("busy", n, 16<<10))
	}

	failing := func(script string) {
		t.Helper()
		if _, err := s.w.conn.ExecContext(t.Context(), script); err != nil {
			t.Fatal(err)
		}
	}

	failing("CREATE TEMP TRIGGER a BEFORE DELETE ON bodies BEGIN SELECT RAISE(ABORT, 'not now'); END;" +
		"CREATE TEMP TRIGGER b BEFORE DELETE ON alerts BEGIN SELECT RAISE(ABORT, 'not now'); END")
	for n := range 20 {
		if s.Add(t.Context(), of(fmt.Sprint("key", n%3), n, 16<<10)) == nil || alert("key") == nil {
			t.Fatal("it is stored, with nothing dropped for it")
		}
		add(t, s, of("small", n, 0)) // waits among the arrivals
	}

	failing("DROP TRIGGER a; DROP TRIGGER b")
	if err := alert("key"); err != nil {
		t.Fatal(err)
	}
	if quiet, busy, small := owned(t, s, "quiet"), owned(t, s, "busy"), owned(t, s, "small"); quiet != "quiet4 quiet3 quiet2" ||
		busy != "busy4 busy3 busy2" || small != "small19 small18 small17 small16" {
		t.Errorf("stay %s, %s, %s", quiet, busy, small)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	agrees(t, s)
}

// SQLite rolls back by itself after some errors. Statements after that would be outside of a
// transaction, so the tidying stops.
func TestFailedCompactionDropsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	s := open(t, path, RetentionLimits{Runs: 12})
	for n := range 12 {
		add(t, s, of("key", n, 16<<10))
	}

	if _, err := s.w.conn.ExecContext(t.Context(),
		"CREATE TEMP TRIGGER a BEFORE INSERT ON runs BEGIN SELECT RAISE(ROLLBACK, 'no'); END"); err != nil {
		t.Fatal(err)
	}

	add(t, s, of("key", 12, 0))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	agrees(t, s)
	if runs, arrivals := rowsOf(t, path, "runs"), rowsOf(t, path, "arrivals"); runs != 12 || arrivals != 1 {
		t.Errorf("%d runs and %d arrivals", runs, arrivals)
	}
}

// Compares with a simpler model of the same rule: the owner with the most loses its oldest run.
func TestRetentionMatchesAModel(t *testing.T) {
	type kept struct {
		id, owner string
		weight    int64
	}

	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 2))
		path := filepath.Join(t.TempDir(), "history.db")
		keep := RetentionLimits{Runs: 8 + random.IntN(25), Bytes: api.MiB}
		s := open(t, path, keep)
		var model []kept
		for n := range 250 {
			if random.IntN(40) == 0 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				agrees(t, s)
				s = open(t, path, keep)
			}

			r := of(fmt.Sprint("key", random.IntN(1+random.IntN(4))), n, 0)
			if random.IntN(2) == 0 {
				for _, part := range []*api.Bytes{&r.Stdout, &r.Stderr} {
					*part = make([]byte, random.IntN(int(MaxStream)))
				}
			}

			add(t, s, r)
			model = append(model, kept{r.ID, r.Owner, weight(&r)})
			for {
				count, weight, all := map[string]int{}, map[string]int64{}, int64(0)
				for _, k := range model {
					count[k.owner]++
					weight[k.owner] += k.weight
					all += k.weight
				}

				if len(model) <= keep.Runs && all <= int64(keep.Bytes) {
					break
				}

				goes := -1
				amount := int64(-1)
				for i, k := range model {
					has := weight[k.owner]
					if len(model) > keep.Runs {
						has = int64(count[k.owner])
					}
					if count[k.owner] == 1 {
						has = 0
					}
					if has > amount {
						goes, amount = i, has
					}
				}

				model = slices.Delete(model, goes, goes+1)
			}

			page, _, err := s.List(context.Background(), Filter{Scope: everyone})
			if err != nil {
				t.Fatal(err)
			}

			var want []string
			for _, k := range slices.Backward(model) {
				want = append(want, k.id)
			}

			if got := ids(page); !slices.Equal(got, want) {
				t.Fatalf("seed %d, after %d: stay %v; want %v", seed, n, got, want)
			}
		}
	}
}

// With many concurrent writers, an owner with few runs keeps them, and the bounds hold for every
// reader.
func TestRetentionIsFairUnderConcurrency(t *testing.T) {
	s := fresh(t, RetentionLimits{Runs: 60})
	done := make(chan error, 700)
	for n := range 600 {
		go func() { done <- s.Add(t.Context(), of("busy", n, n%3*3000)) }()
		if n%100 == 0 {
			go func() { done <- s.Add(t.Context(), of("quiet", n, 0)) }()
		}
	}

	for range 606 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}

	quiet := strings.Fields(owned(t, s, "quiet"))
	stats, err := s.Stats(t.Context(), Filter{Scope: everyone})
	if err != nil || len(quiet) != 6 || stats.Runs != 60 {
		t.Errorf("%v of the key with few runs, %d in all, %v", quiet, stats.Runs, err)
	}
}
