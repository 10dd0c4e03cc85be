package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

func TestConcurrentAddAndRead(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	const adders, each = 16, 10
	var wg sync.WaitGroup
	for g := range adders {
		wg.Go(func() {
			owner := fmt.Sprint("key", g%4)
			for i := range each {
				r := record(fmt.Sprintf("%d-%d", g, i), func(r *api.Record) { r.Owner, r.Project = owner, "p" })
				if err := s.Add(t.Context(), r); err != nil {
					t.Error(err)
					return
				}
				if got, err := s.Get(t.Context(), Scope{Owner: owner}, r.ID); err != nil || got.Project != "p" {
					t.Errorf("added and not there: %v", err)
				}

				switch i % 10 {
				case 3:
					if _, _, err := s.List(t.Context(), Filter{Scope: Scope{Owner: owner}}); err != nil {
						t.Error(err)
					}
				case 6:
					if _, err := s.Stats(t.Context(), Filter{Scope: everyone}); err != nil {
						t.Error(err)
					}
				case 9:
					if err := s.AddAlert(t.Context(), api.Alert{Time: epoch, Kind: api.Segfault, Owner: owner}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}

	wg.Wait()
	if st, err := s.Stats(t.Context(), Filter{Scope: everyone}); err != nil || st.Runs != adders*each {
		t.Errorf("%d runs, %v; want %d", st.Runs, err, adders*each)
	}
	if alerts, _, err := s.Alerts(t.Context(), Filter{Scope: everyone}); err != nil || len(alerts) != adders*each/10 {
		t.Errorf("%d alerts, %v; want %d", len(alerts), err, adders*each/10)
	}
}

// Close under load: each Add is either refused, or its record is stored.
func TestCloseLosesNoAcknowledgedRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	s := open(t, path, RetentionLimits{})
	var stored sync.Map
	var n atomic.Int32
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d", g, i)
				if err := s.Add(t.Context(), record(id)); errors.Is(err, ErrClosed) {
					return
				} else if err != nil {
					t.Error(err)
					return
				}
				stored.Store(id, true)
				n.Add(1)
			}
		})
	}

	for n.Load() < 200 && !t.Failed() {
		time.Sleep(time.Millisecond)
	}

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	wg.Wait()
	s = open(t, path, RetentionLimits{})
	stored.Range(func(id, _ any) bool {
		if _, err := s.Get(t.Context(), Scope{}, id.(string)); err != nil {
			t.Error(err)
		}
		return true
	})
}

// A record that cannot be stored does not make the others in its transaction fail.
func TestBadRecordFailsAlone(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	add(t, s, record("twice"))
	var wg sync.WaitGroup
	var refused atomic.Int32
	for i := range 60 {
		wg.Go(func() {
			id := fmt.Sprint(i)
			if i%10 == 0 {
				id = "twice"
			}

			err := s.Add(t.Context(), record(id))
			if i%10 == 0 {
				var e *api.Error
				if !errors.As(err, &e) || e.Code != api.CodeBadRequest {
					t.Errorf("a second record: %v", err)
				}
				refused.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		})
	}

	wg.Wait()
	if page, _, err := s.List(t.Context(), Filter{}); err != nil || len(page) != 55 || refused.Load() != 6 {
		t.Errorf("%d stored, %d refused, %v", len(page), refused.Load(), err)
	}
}

// limited lets the file grow to that many pages only, like a full device.
func limited(t *testing.T, s *Store, pages int) {
	t.Helper()
	if _, err := s.w.conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
}

func TestFullDeviceIsATemporaryError(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	limited(t, s, 50)
	big := func(id string) api.Record {
		return record(id, func(r *api.Record) { r.Stdout = []byte(strings.Repeat("x", 16<<10)) })
	}
	var stored []string
	var full error
	for i := 0; full == nil && i < 100; i++ {
		id := fmt.Sprint(i)
		if full = s.Add(t.Context(), big(id)); full == nil {
			stored = append(stored, id)
		}
	}

	var e *api.Error
	if !errors.As(full, &e) || e.Code != api.CodeHostExhausted || !strings.Contains(e.Message, "no space") {
		t.Fatalf("%v; want %s", full, api.CodeHostExhausted)
	}

	var wg sync.WaitGroup // in one batch they fail too, each on its own
	for i := range 8 {
		wg.Go(func() {
			var e *api.Error
			if err := s.Add(t.Context(), big(fmt.Sprint("no", i))); !errors.As(err, &e) || e.Code != api.CodeHostExhausted {
				t.Errorf("%v; want %s", err, api.CodeHostExhausted)
			}
		})
	}

	wg.Wait()
	limited(t, s, 1_000_000)
	add(t, s, big("later"))
	page, _, err := s.List(t.Context(), Filter{})
	if err != nil || len(page) != len(stored)+1 || page[0].ID != "later" {
		t.Errorf("%v, %v; want later and %v", ids(page), err, stored)
	}
}

func TestOldestRunsAreEvicted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	s := open(t, path, RetentionLimits{Runs: 10, Alerts: 5})
	for i := range 57 {
		// A clock that goes backwards does not make new runs old.
		add(t, s, record(fmt.Sprint(i), func(r *api.Record) { r.Created = epoch.Add(-time.Duration(i) * time.Hour) }))
		if err := s.AddAlert(t.Context(), api.Alert{Time: epoch.Add(time.Duration(i)), Kind: api.Segfault, Run: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}

	page, _, err := s.List(t.Context(), Filter{})
	if got := strings.Join(ids(page), " "); err != nil || got != "47 48 49 50 51 52 53 54 55 56" {
		t.Errorf("kept %s, %v", got, err)
	}
	if _, err := s.Get(t.Context(), Scope{}, "46"); err == nil {
		t.Error("a run that is too old can still be read")
	}

	alerts, _, err := s.Alerts(t.Context(), Filter{})
	if err != nil || len(alerts) != 5 || alerts[0].Run != "56" || alerts[4].Run != "52" {
		t.Errorf("alerts %+v, %v", alerts, err)
	}

	var bodies int
	if err := s.reads.QueryRow("SELECT count(*) FROM bodies").Scan(&bodies); err != nil || bodies != 10 {
		t.Errorf("%d bodies, %v; want 10", bodies, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// With a smaller bound, the rest is dropped while no caller waits.
	s = open(t, path, RetentionLimits{Runs: 3})
	for len(page) != 3 && t.Context().Err() == nil {
		if page, _, err = s.List(t.Context(), Filter{}); err != nil {
			t.Fatal(err)
		}
	}

	if got := strings.Join(ids(page), " "); got != "54 55 56" {
		t.Errorf("kept %s", got)
	}
}

// The file grows to its bound and no further, whatever programs print: freed pages are reused.
func TestFileDoesNotGrowWithoutBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	for _, keep := range []RetentionLimits{{Runs: 50}, {Bytes: 2 * api.MiB}} {
		s := open(t, path, keep)
		size := func() (sum int64) {
			for _, suffix := range []string{"", "-wal"} {
				if info, err := os.Stat(path + suffix); err != nil {
					t.Fatal(err)
				} else {
					sum += info.Size()
				}
			}
			return sum
		}

		var after300 int64
		for i := range 900 {
			add(t, s, record(fmt.Sprint(keep.Runs, "-", i), func(r *api.Record) { r.Stdout = make([]byte, i*7919%int(MaxStream)) }))
			if i == 300 {
				after300 = size()
			}
		}

		if end := size(); end > after300+after300/2 {
			t.Errorf("%+v: %d bytes after 300 runs, %d after 900", keep, after300, end)
		} else {
			t.Logf("%+v: %d bytes after 300 runs, %d after 900", keep, after300, end)
		}

		var weight int64
		if err := s.reads.QueryRow("SELECT sum(weight) FROM runs").Scan(&weight); err != nil || keep.Bytes > 0 && weight > int64(keep.Bytes) {
			t.Errorf("%d bytes of runs, %v; want at most %d", weight, err, keep.Bytes)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func benchmarkAdd(b *testing.B, goroutines int) {
	s := fresh(b, RetentionLimits{Runs: 20_000})
	result := result(0, 0)
	result.Stdout, result.Compile = api.Bytes(strings.Repeat("4\n", 100)), nil
	var n atomic.Int64
	var wg sync.WaitGroup
	took := make([]time.Duration, b.N)
	b.ReportAllocs()
	b.ResetTimer()

	for range goroutines {
		wg.Go(func() {
			for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
				r := NewRecord(result)
				r.ID, r.Created = fmt.Sprintf("%010d", i), epoch.Add(time.Duration(i))
				began := time.Now()
				if err := s.Add(context.Background(), r); err != nil {
					b.Error(err)
					return
				}
				took[i-1] = time.Since(began)
			}
		})
	}

	wg.Wait()
	b.StopTimer()
	slices.Sort(took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(took[(b.N*p+99)/100-1].Microseconds()), fmt.Sprintf("p%d-µs", p))
	}

	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

func BenchmarkAdd(b *testing.B) {
	for _, goroutines := range []int{1, 64} {
		b.Run(fmt.Sprint("goroutines=", goroutines), func(b *testing.B) { benchmarkAdd(b, goroutines) })
	}
}

// BenchmarkRead reads a full history of one key, with a rare project.
func BenchmarkRead(b *testing.B) {
	s := fresh(b, RetentionLimits{})
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := g; i < 100_000; i += 64 {
				r := record(fmt.Sprint("run", i), func(r *api.Record) {
					r.Owner, r.Language, r.Project, r.Task = "key", fmt.Sprint("l", i%10), fmt.Sprint("p", i%100), fmt.Sprint("t", i%1000)
					r.Created, r.Wall = epoch.Add(time.Duration(i)*time.Second), int64(i*7919%100_003)
					if i == 5 {
						r.Project = "rare"
					}
				})
				if err := s.Add(context.Background(), r); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}

	wg.Wait()
	key := Scope{Owner: "key"}
	for _, bb := range []struct {
		name string
		do   func() error
	}{
		{"get", func() error { _, err := s.Get(b.Context(), key, "run500"); return err }},
		{"list", func() error { _, _, err := s.List(b.Context(), Filter{Scope: key}); return err }},
		{"list-rare", func() error { _, _, err := s.List(b.Context(), Filter{Scope: key, Project: "rare"}); return err }},
		{"stats", func() error { _, err := s.Stats(b.Context(), Filter{Scope: key}); return err }},
		{"stats-1h", func() error {
			_, err := s.Stats(b.Context(), Filter{Scope: key, Since: epoch.Add(99_000 * time.Second)})
			return err
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				if err := bb.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
