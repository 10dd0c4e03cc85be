package history

import (
	"container/list"
	"fmt"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// The rule of failure rates, and how much an Alarm says and remembers.
const (
	alarmWindow   = 5 * time.Minute
	alarmRuns     = 20    // fewer in a window prove nothing
	alarmRepeat   = 10    // alerts of one kind about single runs, per project and window
	alarmBefore   = 1_000 // runs before the window that weigh in a project's usual rate
	alarmProjects = 1_000 // remembered; of who has most the one not heard of for longest is forgotten
	alarmSlot     = 10 * time.Second
	alarmSlots    = int64(alarmWindow / alarmSlot)
)

// An Alarm decides which runs call for an alert. It knows no clock but the times it
// is given. The zero value is ready; it is safe for use by many goroutines and takes
// some half a MiB at most, beside the names.
//
// A segfault, an OOM kill and a denied call are alerts each, up to ten of a kind in
// five minutes of one project. A failure rate is one if, of at least 20 runs of a
// project in the last five minutes (to ten seconds), more than half failed, and at
// least twice as many in a hundred as of its last thousand or so runs before; then
// not again for five minutes. Canceled runs prove nothing and do not count.
type Alarm struct {
	mu       sync.Mutex
	projects map[projectKey]*list.Element // guarded by mu
	owners   map[string]int               // guarded by mu; how many of them each has
	recent   list.List                    // guarded by mu; of *project, the last heard of in front
}

type projectKey struct{ owner, name string }

type project struct {
	key    projectKey
	slots  [alarmSlots]tally // a ring: the runs of each ten seconds
	newest int64             // number of the slot of the latest run, since 1970
	before tally             // what has left the ring; halved when it is twice alarmBefore
	said   map[api.AlertKind]*saying
}

type tally struct{ runs, failed int32 }

// saying is how often an alert was given since a moment.
type saying struct {
	since time.Time
	times int
}

// Next takes in a run that ended with a verdict at a time and gives the alerts that
// it calls for. owner is the key's name.
func (a *Alarm) Next(owner string, at time.Time, r api.Result) []api.Alert {
	if r.Verdict == "" || r.Verdict == api.Canceled {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.project(projectKey{owner, r.Labels.Project})
	p.count(at, r.Verdict != api.OK)
	var alerts []api.Alert
	say := func(kind api.AlertKind, most int, text string) {
		n := p.say(kind, at, most)
		if n > most {
			return
		}
		if n == most && most > 1 {
			text += "; further ones of these five minutes are not listed"
		}
		alerts = append(alerts, api.Alert{Time: at, Kind: kind, Owner: owner, Project: r.Labels.Project, Run: r.Run, Text: text})
	}
	switch {
	case r.Verdict == api.Signaled && r.Decisive().Signal == sigsegv:
		say(api.Segfault, alarmRepeat, "the program died of SIGSEGV")
	case r.Verdict == api.MemoryLimit:
		say(api.OOMKill, alarmRepeat, "the program was killed at its memory limit")
	case r.Verdict == api.Denied:
		say(api.DeniedCall, alarmRepeat, "the program was stopped for the system call "+denied(r))
	}
	now := p.window()
	usual := 0.0
	if p.before.runs > 0 {
		usual = p.before.rate()
	}
	if now.runs >= alarmRuns && now.rate() > 0.5 && now.rate() >= 2*usual {
		text := fmt.Sprintf("%d of %d runs failed in the last five minutes", now.failed, now.runs)
		if p.before.runs > 0 {
			text += fmt.Sprintf("; before, %.0f of 100 did", 100*usual)
		}
		say(api.FailureRate, 1, text)
	}
	return alerts
}

const sigsegv = 11 // on every Linux

func (t tally) rate() float64 { return float64(t.failed) / float64(t.runs) }

// denied names the call; of tests, that of the first so ended.
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
		a.forget()
	}
	p := &project{key: key, said: map[api.AlertKind]*saying{}}
	a.projects[key] = a.recent.PushFront(p)
	a.owners[key.owner]++
	return p
}

// forget forgets a project of the owner of whom most are remembered: one that names many
// must not have the counts of another's forgotten.
func (a *Alarm) forget() {
	most := 0
	for _, n := range a.owners {
		most = max(most, n)
	}
	e := a.recent.Back()
	for a.owners[e.Value.(*project).key.owner] < most {
		e = e.Prev()
	}
	key := a.recent.Remove(e).(*project).key
	delete(a.projects, key)
	if a.owners[key.owner]--; a.owners[key.owner] == 0 {
		delete(a.owners, key.owner)
	}
}

// count moves the ring on to a time and adds a run there. One that comes a little late
// counts as of the latest time known; a clock that was set back far begins a new ring.
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
		p.before.runs += old.runs
		p.before.failed += old.failed
		*old = tally{}
	}
	for p.before.runs >= 2*alarmBefore {
		p.before.runs /= 2
		p.before.failed /= 2
	}
	t := p.slot(p.newest)
	t.runs++
	if failed {
		t.failed++
	}
}

// slot is the place of a number in the ring, before 1970 too.
func (p *project) slot(n int64) *tally { return &p.slots[(n%alarmSlots+alarmSlots)%alarmSlots] }

func (p *project) window() (sum tally) {
	for _, t := range p.slots {
		sum.runs += t.runs
		sum.failed += t.failed
	}
	return sum
}

// say counts an alert and gives which one it is of its five minutes, from 1.
func (p *project) say(kind api.AlertKind, at time.Time, most int) int {
	s := p.said[kind]
	if s == nil || at.Sub(s.since) >= alarmWindow || at.Before(s.since) {
		s = &saying{since: at}
		p.said[kind] = s
	}
	s.times = min(s.times+1, most+1)
	return s.times
}
