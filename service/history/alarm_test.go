package history

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// ran makes a run of a project that ended with a verdict.
func ran(v api.Verdict) api.Result {
	return api.Result{Run: "r", Verdict: v, Labels: api.Labels{Project: "p"}}
}

func TestAlarmForOneRun(t *testing.T) {
	segfault := ran(api.Signaled)
	segfault.Signal = sigsegv
	abort := ran(api.Signaled)
	abort.Signal = 6
	ptrace := ran(api.Denied)
	ptrace.Denial = &api.Denial{Syscall: "ptrace"}
	inTest := ran(api.Signaled)
	inTest.Tests = []api.TestResult{{Result: ran(api.OK)}, {Result: segfault}}
	deniedInTest := ran(api.Denied)
	deniedInTest.Tests = []api.TestResult{{Result: ran(api.OK)}, {Result: ptrace}}

	for _, tt := range []struct {
		name string
		r    api.Result
		kind api.AlertKind
		says string
	}{
		{"ok", ran(api.OK), "", ""},
		{"nonzero", ran(api.Nonzero), "", ""},
		{"segfault", segfault, api.Segfault, "SIGSEGV"},
		{"another signal", abort, "", ""},
		{"segfault in a test", inTest, api.Segfault, "SIGSEGV"},
		{"out of memory", ran(api.MemoryLimit), api.OOMKill, "memory limit"},
		{"a denied call is named", ptrace, api.DeniedCall, "ptrace"},
		{"denied in a test", deniedInTest, api.DeniedCall, "ptrace"},
		{"denied without a name", ran(api.Denied), api.DeniedCall, "unnamed"},
		{"canceled", ran(api.Canceled), "", ""},
		{"no verdict", ran(""), "", ""},
	} {
		var a Alarm
		got := a.Next("key", epoch, tt.r)
		if tt.kind == "" && len(got) > 0 || tt.kind != "" && len(got) != 1 {
			t.Errorf("%s: %+v; want %q", tt.name, got, tt.kind)
			continue
		}
		if tt.kind != "" {
			text := got[0].Text
			if want := (api.Alert{Time: epoch, Kind: tt.kind, Owner: "key", Project: "p", Run: "r", Text: text}); !reflect.DeepEqual(got[0], want) ||
				!strings.Contains(text, tt.says) {
				t.Errorf("%s: %+v; want %+v", tt.name, got[0], want)
			}
		}
	}
}

func TestAlarmForFailureRates(t *testing.T) {
	type phase struct {
		every        time.Duration
		good, failed int // alternating as long as there are both
		alerts       int
	}

	for _, tt := range []struct {
		name   string
		phases []phase
	}{
		{"19 prove nothing, nor do canceled ones", []phase{{time.Second, 0, 19, 0}}},
		{"20 of 20", []phase{{time.Second, 0, 20, 1}}},
		{"half is not over half", []phase{{time.Second, 10, 10, 0}}},
		{"over half", []phase{{time.Second, 10, 11, 1}}},
		{"said once in five minutes", []phase{{time.Second, 0, 200, 1}}},
		{"and again after them", []phase{{time.Minute, 1000, 0, 0}, {time.Second, 0, 400, 2}}},
		{"too slowly for the window", []phase{{20 * time.Second, 0, 100, 0}}},
		{"after a good day", []phase{{time.Minute, 1000, 0, 0}, {time.Second, 0, 20, 1}}},
		{"as ever: the usual rate is over half", []phase{{2 * time.Minute, 40, 60, 0}, {time.Second, 0, 60, 0}}},
		{"twice the usual rate", []phase{{2 * time.Minute, 60, 40, 0}, {time.Second, 0, 60, 1}}},
		{"an old habit fades", []phase{{2 * time.Minute, 0, 100, 0}, {time.Minute, 2000, 0, 0}, {time.Second, 0, 60, 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var a Alarm
			now := epoch
			for i, p := range tt.phases {
				alerts := 0
				for good, failed := p.good, p.failed; good+failed > 0; now = now.Add(p.every) {
					v := api.OK
					if good == 0 || failed > 0 && failed*p.good >= good*p.failed {
						v = api.Nonzero
						failed--
					} else {
						good--
					}

					a.Next("key", now, ran(api.Canceled))
					for _, alert := range a.Next("key", now, ran(v)) {
						if alert.Kind != api.FailureRate {
							t.Errorf("%+v", alert)
						}
						alerts++
					}
				}

				if alerts != p.alerts {
					t.Errorf("phase %d: %d alerts; want %d", i, alerts, p.alerts)
				}
			}
		})
	}
}

func TestAlarmSeparatesProjects(t *testing.T) {
	var a Alarm
	for i := range 100 {
		r := ran(api.Nonzero)
		r.Labels.Project = fmt.Sprint(i % 10)
		if got := a.Next(fmt.Sprint("key", i%3), epoch, r); len(got) > 0 {
			t.Errorf("run %d: %+v", i, got)
		}
	}
}

func TestAlarmDoesNotFlood(t *testing.T) {
	var a Alarm
	n := 0
	for i := range 200 {
		n += len(a.Next("key", epoch.Add(time.Duration(i)*time.Second), ran(api.MemoryLimit)))
	}

	if n != maxAlertsPerKind+1 { // plus the alert for the failure rate
		t.Errorf("%d alerts; want %d", n, maxAlertsPerKind+1)
	}

	var first Alarm
	var said []api.Alert
	for range alarmRuns {
		said = first.Next("key", epoch, ran(api.Nonzero))
	}

	if len(said) != 1 || said[0].Text != fmt.Sprintf("%d of %d runs failed in the last five minutes", alarmRuns, alarmRuns) {
		t.Errorf("of a project that nothing is known of before: %+v", said)
	}
	if got := a.Next("key", epoch.Add(alarmWindow), ran(api.MemoryLimit)); len(got) != 1 {
		t.Errorf("after five minutes: %+v", got)
	}
}

func TestAlarmSurvivesAClockThatIsSet(t *testing.T) {
	var a Alarm
	for _, at := range []time.Time{epoch, epoch.AddDate(80, 0, 0), epoch, {}, epoch} {
		for i := range 19 {
			if got := a.Next("key", at.Add(time.Duration(i)), ran(api.Nonzero)); len(got) > 0 {
				t.Errorf("at %v: %+v", at, got)
			}
		}
	}
}

func TestAlarmForgetsTheLeastRecent(t *testing.T) {
	var a Alarm
	one := func(project string) api.Result {
		r := ran(api.Nonzero)
		r.Labels.Project = project
		return r
	}

	for i := range 10 * alarmProjects {
		a.Next("key", epoch, one(fmt.Sprint(i)))
		if i%100 == 0 {
			a.Next("key", epoch, one("kept"))
		}
	}

	if len(a.projects) != alarmProjects || a.recent.Len() != alarmProjects {
		t.Errorf("%d projects remembered, %d in order; want %d", len(a.projects), a.recent.Len(), alarmProjects)
	}
	if got := a.projects[projectKey{"key", "kept"}].Value.(*project).window().runs; got != 10*alarmProjects/100 {
		t.Errorf("%d runs of a project heard of often; want %d", got, 10*alarmProjects/100)
	}
}

// A key that keeps naming new projects does not evict the runs of another key.
func TestAlarmIsFairToKeys(t *testing.T) {
	var a Alarm
	busy, n := ran(api.OK), 0
	flood := func() {
		for range 2 * alarmProjects {
			n++
			busy.Labels.Project = fmt.Sprint(n)
			a.Next("busy", epoch, busy)
		}
	}

	for i := range alarmRuns {
		flood()
		if got := a.Next("quiet", epoch, ran(api.Nonzero)); len(got) > 0 != (i == alarmRuns-1) {
			t.Fatalf("after %d failed runs: %+v", i+1, got)
		}
	}

	a.Next("other", epoch, ran(api.OK))
	if a.owners["quiet"] != 1 || a.owners["other"] != 1 || a.owners["busy"] != alarmProjects-2 || len(a.projects) != alarmProjects ||
		a.recent.Len() != alarmProjects {
		t.Errorf("%v: %d projects remembered, %d in order", a.owners, len(a.projects), a.recent.Len())
	}
}
