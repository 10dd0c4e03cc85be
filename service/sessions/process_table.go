package sessions

import (
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/processes"
)

// The most processes that a session keeps after their end, and that a key has running.
const (
	maxEndedProcesses = 64
	maxKeyProcesses   = 256
)

// ringsDivisor: the output of processes has at most this part of the memory for responses. It stays for an hour, and must
// leave room for the responses.
const ringsDivisor = 4

// A processTable has the processes of all sessions.
type processTable struct {
	mu      sync.Mutex
	all     map[string]map[int]*process // guarded by mu; by session and pid
	last    map[string]int              // guarded by mu; the last pid of each session
	running map[string]int              // guarded by mu; by owner
}

func newProcessTable() *processTable {
	return &processTable{all: map[string]map[int]*process{}, last: map[string]int{}, running: map[string]int{}}
}

// add gives a process its pid, and makes room for it.
func (t *processTable) add(p *process) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.running[p.owner]; n >= maxKeyProcesses {
		return api.Fail(api.CodeSessionBusy, "this key has %d processes that run, which is the maximum: end one", n)
	}

	ended := map[int]time.Time{}
	for pid, other := range t.all[p.session] {
		other.mu.Lock()
		if !other.ended.IsZero() {
			ended[pid] = other.ended
		}
		other.mu.Unlock()
	}
	if pid := processes.Evict(ended, maxEndedProcesses); pid != 0 {
		t.all[p.session][pid].forget()
		delete(t.all[p.session], pid)
	}

	t.last[p.session]++
	p.pid = t.last[p.session]
	if t.all[p.session] == nil {
		t.all[p.session] = map[int]*process{}
	}
	t.all[p.session][p.pid] = p
	t.running[p.owner]++
	return nil
}

// ended notes that the program of a process has ended.
func (t *processTable) ended(p *process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[p.owner]--; t.running[p.owner] == 0 {
		delete(t.running, p.owner)
	}
}

// remove forgets a process.
func (t *processTable) remove(p *process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[p.session][p.pid] == p {
		delete(t.all[p.session], p.pid)
	}
	if len(t.all[p.session]) == 0 {
		delete(t.all, p.session)
	}
}

// removeSession forgets the processes of a session that has ended.
func (t *processTable) removeSession(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.all[id] {
		p.forget()
	}
	delete(t.all, id)
	delete(t.last, id)
}

// find returns a process of a session; nil: there is none.
func (t *processTable) find(session string, pid int) *process {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[session][pid]
}

// of lists the processes of a session by their pids.
func (t *processTable) of(session string) []*process {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*process, 0, len(t.all[session]))
	for _, p := range t.all[session] {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *process) int { return a.pid - b.pid })
	return list
}
