package history

import (
	"container/list"
	"fmt"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// The rule for failure rates, and how many alerts and projects an Alarm allows.
const (
	alarmWindow      = 5 * time.Minute
	alarmRuns        = 20    // fewer runs in a window prove nothing
	maxAlertsPerKind = 10    // alerts of one kind about single runs, per project and window
	alarmHistory     = 1_000 // runs before the window that count in a project's usual rate
	alarmProjects    = 1_000 // projects in memory; beyond it, the least recent one of the owner with the maximum is evicted
	alarmSlot        = 10 * time.Second
	alarmSlots       = int64(alarmWindow / alarmSlot)
)

// An Alarm decides which runs cause an alert. It reads no clock and uses only the times that it is
// given. The zero value is ready to use. It is safe for use by many goroutines and uses about half
// a MiB at most, not counting the names.
//
// Each segfault, OOM kill and denied call causes an alert, up to ten of one kind per project in
// five minutes. A failure rate causes one if, of at least 20 runs of a project in the last five
// minutes (accurate to ten seconds), more than half failed, and the percentage is at least twice
// that of the project's last thousand or so runs before; then not again for five minutes. Canceled
// runs prove nothing and do not count.
type Alarm struct {
	mu       sync.Mutex
	projects map[projectKey]*list.Element // guarded by mu
	owners   map[string]int               // guarded by mu; the number of projects of each owner
	recent   list.List                    // guarded by mu; of *project, the most recent in front
}

type projectKey struct{ owner, name string }

type project struct {
	key         projectKey
	slots       [alarmSlots]runCount // a ring: the runs of each ten seconds
	newest      int64                // number of the slot of the latest run, since 1970
	older       runCount             // runs that have left the ring; halved when there are twice alarmHistory
	alertStates map[api.AlertKind]*alertState
}

type runCount struct{ runs, failed int32 }

// alertState counts the alerts of one kind since a time.
type alertState struct {
	since time.Time
	count int
}

// Next records a run that ended with a verdict at a time and returns the alerts that it causes.
// owner is the key's name.
func (a *Alarm) Next(owner string, at time.Time, r api.Result) []api.Alert {
	if r.Verdict == "" || r.Verdict == api.Canceled {
		return nil
	}

	a.mu.Lock()
	defer a.mu.Unlock()

	p := a.project(projectKey{owner, r.Labels.Project})
	p.count(at, r.Verdict != api.OK)
	var alerts []api.Alert
	alert := func(kind api.AlertKind, maximum int, text string) {
		// A project that fails in a loop would otherwise cause an alert with each run (TestAlarmDoesNotFlood).
		n := p.countAlert(kind, at, maximum)
		if n > maximum {
			return
		}
		if n == maximum && maximum > 1 {
			text += "; further alerts in these five minutes are not listed"
		}
		alerts = append(alerts,
			api.Alert{Time: at, Kind: kind, Owner: owner, Project: r.Labels.Project, Run: r.Run, Text: text})
	}

	switch {
	case r.Verdict == api.Signaled && r.Decisive().Signal == sigsegv:
		alert(api.Segfault, maxAlertsPerKind, "the program died of SIGSEGV")
	case r.Verdict == api.MemoryLimit:
		alert(api.OOMKill, maxAlertsPerKind, "the program was killed at its memory limit")
	case r.Verdict == api.Denied:
		alert(api.DeniedCall, maxAlertsPerKind, "the program was stopped because of the system call "+denied(r))
	}

	// The usual rate is that of the runs before the window: a project whose runs always fail, as some
	// exercises do, causes none once it has runs before the window.
	now := p.window()
	usual := 0.0
	if p.older.runs > 0 {
		usual = p.older.rate()
	}
	if now.runs >= alarmRuns && now.rate() > 0.5 && now.rate() >= 2*usual {
		text := fmt.Sprintf("%d of %d runs failed in the last five minutes", now.failed, now.runs)
		if p.older.runs > 0 {
			text += fmt.Sprintf("; before that, %.0f of 100 failed", 100*usual)
		}
		alert(api.FailureRate, 1, text)
	}

	return alerts
}

const sigsegv = 11 // on every Linux

func (t runCount) rate() float64 { return float64(t.failed) / float64(t.runs) }

// denied names the denied call; with tests, that of the first test with a denial.
func denied(r api.Result) string {
	for _, t := range r.Tests {
		if r.Denial == nil {
			r.Denial = t.Result.Denial
		}
	}
	if r.Denial == nil {
		return "(unnamed)"
	}
	return r.Denial.Syscall
}

func (a *Alarm) project(key projectKey) *project {
	if e := a.projects[key]; e != nil {
		a.recent.MoveToFront(e)
		return e.Value.(*project)
	}
	if a.projects == nil {
		a.projects, a.owners = map[projectKey]*list.Element{}, map[string]int{}
	}
	if len(a.projects) >= alarmProjects {
		a.evict()
	}

	p := &project{key: key, alertStates: map[api.AlertKind]*alertState{}}
	a.projects[key] = a.recent.PushFront(p)
	a.owners[key.owner]++
	return p
}

// evict evicts the least recent project of the owner with the most projects: an owner that names
// many projects must not cause the eviction of another owner's counts.
func (a *Alarm) evict() {
	maximum := 0
	for _, n := range a.owners {
		maximum = max(maximum, n)
	}

	e := a.recent.Back()
	for a.owners[e.Value.(*project).key.owner] < maximum {
		e = e.Prev()
	}

	key := a.recent.Remove(e).(*project).key
	delete(a.projects, key)
	if a.owners[key.owner]--; a.owners[key.owner] == 0 {
		delete(a.owners, key.owner)
	}
}

// count advances the ring to a time and adds a run there. A run that comes a little late counts
// at the latest time known; if the clock was set back far, a new ring begins.
func (p *project) count(at time.Time, failed bool) {
	slot := at.Unix() / int64(alarmSlot/time.Second)
	if p.newest-slot >= alarmSlots {
		p.newest = slot - alarmSlots
	}

	for ; p.newest < slot; p.newest++ {
		if slot-p.newest > alarmSlots { // every slot is emptied once
			p.newest = slot - alarmSlots
		}
		old := p.slot(p.newest + 1)
		p.older.runs += old.runs
		p.older.failed += old.failed
		*old = runCount{}
	}

	for p.older.runs >= 2*alarmHistory {
		p.older.runs /= 2
		p.older.failed /= 2
	}

	t := p.slot(p.newest)
	t.runs++
	if failed {
		t.failed++
	}
}

// slot returns the slot of a number in the ring; the number may be negative (before 1970).
func (p *project) slot(n int64) *runCount { return &p.slots[(n%alarmSlots+alarmSlots)%alarmSlots] }

func (p *project) window() (sum runCount) {
	for _, t := range p.slots {
		sum.runs += t.runs
		sum.failed += t.failed
	}
	return sum
}

// countAlert counts an alert and returns its number, from 1, in the current five minutes.
func (p *project) countAlert(kind api.AlertKind, at time.Time, maximum int) int {
	s := p.alertStates[kind]
	if s == nil || at.Sub(s.since) >= alarmWindow || at.Before(s.since) {
		s = &alertState{since: at}
		p.alertStates[kind] = s
	}
	s.count = min(s.count+1, maximum+1)
	return s.count
}
