package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

func TestFilters(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	for i, f := range []string{ // owner project task language verdict accepted/tests
		"a p t python ok",
		"a p u python nonzero",
		"a q t c ok",
		"b p t python ok",
		"- p t python ok",
		"b p v python ok 3/3",
		"b p v python ok 2/3",
		"b p v python wall-limit",
		"b p v python -",
	} {
		c := strings.Fields(f)
		add(t, s, record(fmt.Sprint(i), func(r *api.Record) {
			r.Owner, r.Project, r.Task, r.Language, r.Verdict = strings.Trim(c[0], "-"), c[1], c[2], c[3], api.Verdict(c[4])
			r.Created, r.Run = epoch.Add(time.Duration(i)*time.Minute), fmt.Sprint("run", i%2)
			if r.Verdict == "-" {
				r.Verdict, r.Code = "", api.CodeInternal
			}
			if len(c) > 5 {
				r.Summary = &api.Summary{Tests: int(c[5][2] - '0'), Accepted: int(c[5][0] - '0')}
			}
		}))
	}

	a := Scope{Owner: "a"}
	at := func(i int) time.Time { return epoch.Add(time.Duration(i) * time.Minute) }
	for _, tt := range []struct {
		name string
		f    Filter
		want string
	}{
		{"a key sees its own", Filter{Scope: a}, "2 1 0"},
		{"without keys, what has no owner", Filter{}, "4"},
		{"no name is everyone", Filter{Scope: Scope{Owner: "*"}}, ""},
		{"an administrator sees all", Filter{Scope: everyone}, "8 7 6 5 4 3 2 1 0"},
		{"project", Filter{Scope: a, Project: "p"}, "1 0"},
		{"task", Filter{Scope: a, Task: "t"}, "2 0"},
		{"run", Filter{Scope: a, Run: "run0"}, "2 0"},
		{"run of everyone", Filter{Scope: everyone, Run: "run1"}, "7 5 3 1"},
		{"language", Filter{Scope: a, Language: "c"}, "2"},
		{"verdict", Filter{Scope: everyone, Verdicts: []api.Verdict{api.OK}}, "6 5 4 3 2 0"},
		{"several verdicts", Filter{Scope: everyone, Verdicts: []api.Verdict{api.WallLimit, api.Nonzero}}, "7 1"},
		{"no success", Filter{Scope: everyone, Failed: true}, "8 7 6 1"},
		{"no success, of a key", Filter{Scope: a, Failed: true}, "1"},
		{"no success, or a verdict", Filter{Scope: Scope{Owner: "b"}, Failed: true, Verdicts: []api.Verdict{api.OK}}, "8 7 6 5 3"},
		{"all together", Filter{Scope: a, Project: "p", Task: "t", Language: "python", Verdicts: []api.Verdict{api.OK}}, "0"},
		{"since is inside, until is not", Filter{Scope: everyone, Since: at(1), Until: at(3)}, "2 1"},
		{"times beyond 63 bits",
			Filter{Scope: a, Since: time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), Until: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, "2 1 0"},
		{"limit", Filter{Scope: everyone, Limit: 2}, "8 7"},
		{"nothing", Filter{Scope: a, Project: "x"}, ""},
	} {
		page, _, err := s.List(t.Context(), tt.f)
		if got := strings.Join(ids(page), " "); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
		if tt.f.Limit > 0 {
			continue
		}
		st, err := s.Stats(t.Context(), tt.f)
		if err != nil || int(st.Runs) != len(page) {
			t.Errorf("%s: statistics of %d runs, %v; want %d", tt.name, st.Runs, err, len(page))
		}
	}

	for whose, there := range map[Scope]bool{a: true, {Owner: "b"}: false, {}: false, everyone: true, {Owner: "*"}: false} {
		_, err := s.Get(t.Context(), whose, "0")
		var e *api.Error
		if (err == nil) != there || err != nil && (!errors.As(err, &e) || e.Code != api.CodeNotFound) {
			t.Errorf("%+v gets a's run: %v; want %v", whose, err, there)
		}
	}
}

func TestFiltersThatMakeNoSenseAreRefused(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	for _, f := range []Filter{
		{Limit: -1}, {Limit: 10_001}, {After: "x"}, {After: "1"}, {After: "1.2.3"}, {After: "1.+2"}, {After: "01.2"},
		{After: "1.ffffffffffffffffff"}, {After: "1.2; DROP TABLE runs"},
		{Scope: Scope{Everyone: true, Owner: "a"}},
	} {
		_, _, list := s.List(t.Context(), f)
		_, _, alerts := s.Alerts(t.Context(), f)
		_, stats := s.Stats(t.Context(), f)
		for _, err := range []error{list, alerts, stats} {
			var e *api.Error
			if !errors.As(err, &e) || e.Code != api.CodeBadRequest {
				t.Errorf("%+v: %v", f, err)
			}
		}
	}

	for _, f := range []Filter{{Task: "t"}, {Language: "c"}, {Verdicts: []api.Verdict{api.OK}}} {
		if _, _, err := s.Alerts(t.Context(), f); err == nil {
			t.Errorf("alerts by %+v", f)
		}
	}

	if _, err := s.Get(t.Context(), Scope{Everyone: true, Owner: "a"}, "x"); err == nil {
		t.Error("a run of everyone and of a")
	}
}

// Without a limit, a caller gets the thousand newest runs and a cursor to the rest.
func TestDefaultPageIsAThousand(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	const maximum = 1000
	var wg sync.WaitGroup
	for from := range 8 { // at once, so that they share commits
		wg.Go(func() {
			for i := from; i <= maximum; i += 8 {
				if err := s.Add(t.Context(), record(fmt.Sprint(i), func(r *api.Record) { r.Created = epoch.Add(time.Duration(i)) })); err != nil {
					t.Error(err)
				}
			}
		})
	}

	wg.Wait()
	page, next, err := s.List(t.Context(), Filter{Scope: everyone})
	if err != nil || len(page) != maximum || next == "" || page[0].ID != fmt.Sprint(maximum) {
		t.Fatalf("%d runs, then %q, %v; want the newest %d", len(page), next, err, maximum)
	}
	if page, next, err = s.List(t.Context(), Filter{Scope: everyone, After: next}); err != nil || len(page) != 1 ||
		next != "" || page[0].ID != "0" {
		t.Errorf("then %q, and then %q, %v; want the oldest alone", ids(page), next, err)
	}
}

// Pages fit together, whatever is added or dropped between them, and runs of the same moment are
// neither lost nor listed twice.
func TestPagesFitTogether(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	for i := range 100 {
		add(t, s, record(fmt.Sprint(i), func(r *api.Record) { r.Created = epoch.Add(time.Duration(i / 10)) }))
		if err := s.AddAlert(t.Context(), api.Alert{Time: epoch.Add(time.Duration(i / 10)), Kind: api.OOMKill, Run: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}

	var got, alerts []string
	for f, more := (Filter{Limit: 7}), true; more; more = f.After != "" {
		page, next, err := s.List(t.Context(), f)
		if err != nil || len(page) > 7 || next != "" && len(page) < 7 {
			t.Fatalf("page of %d, %v", len(page), err)
		}
		got, f.After = append(got, ids(page)...), next
		add(t, s, record("new"+next, func(r *api.Record) { r.Created = epoch.Add(time.Hour) }))
	}

	for f, more := (Filter{Limit: 10}), true; more; more = f.After != "" {
		page, next, err := s.Alerts(t.Context(), f)
		if err != nil || len(page) != 10 {
			t.Fatalf("page of %d alerts, %v", len(page), err)
		}
		for _, a := range page {
			alerts = append(alerts, a.Run)
		}
		f.After = next
	}

	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint(99-i))
	}

	for name, got := range map[string][]string{"runs": got, "alerts": alerts} {
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPageOfLongReportsIsCut(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	report := json.RawMessage(`"` + strings.Repeat("x", 15<<10) + `"`)
	for i := range 600 {
		add(t, s, record(fmt.Sprint(i), func(r *api.Record) { r.Diagnosis = report }))
	}

	page, next, err := s.List(t.Context(), Filter{})
	if err != nil || next == "" || len(page) < 500 || len(page) >= 600 {
		t.Fatalf("%d runs, next %q, %v", len(page), next, err)
	}

	rest, next, err := s.List(t.Context(), Filter{After: next})
	if err != nil || next != "" || len(page)+len(rest) != 600 || rest[0].ID != fmt.Sprint(599-len(page)) {
		t.Errorf("%d runs and %d, next %q, %v", len(page), len(rest), next, err)
	}
}

// Any text is either refused as a cursor or encodes to itself again.
func FuzzCursor(f *testing.F) {
	f.Add("1.2")
	f.Add("-1.7fffffffffffffff")
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := parseCursor(s); err == nil && c.String() != s {
			t.Errorf("%q is read as %v", s, c)
		}
	})
}
