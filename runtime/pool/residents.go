package pool

import (
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// A resident is a program of a session that stays: one at a terminal, or one that its caller talks with through pipes. It
// waits for a person or a request nearly all the time, and nobody knows how long a person thinks. So it leases no slot:
// its supervisor waits with a slot that is none of the pool's. Its session gives it processor time as it does to
// processes that an exec has left running (docs/adr/0056).

// MaxResidents is how many residents of sessions an agent has at most. Each has a thread of the agent, files, and, with
// a terminal, a part of the kernel's pseudo terminals, of which one host has 3,072 apart from its own (kernel.pty.max, .reserve).
const MaxResidents = 256

// residents are those of all sessions together.
type residents struct {
	mu   sync.Mutex
	open int           // guarded by mu
	next time.Duration // guarded by mu; when the output that was read is paid for, see pace
}

// MaxResidents is how many residents of sessions may be open at once.
func (p *Pool) MaxResidents() int { return p.capacity.Residents }

// OpenResident makes the slot of a resident: it has no processors of its own. The caller closes it by CloseResident.
func (p *Pool) OpenResident() (*Slot, error) {
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return nil, api.Fail(api.CodeStopping, "the agent is stopping: send the request again later")
	}

	t := &p.residents
	t.mu.Lock()
	defer t.mu.Unlock()
	if maximum := p.capacity.Residents; t.open >= maximum {
		return nil, api.Fail(api.CodeSessionBusy,
			"%d programs of sessions stay on this agent, at terminals or as residents, which is the maximum: end one, or send the "+
				"request again later", maximum)
	}

	cpus := p.slots[0].slot.all // a pool has a slot
	s, err := (&Slot{index: -1, all: cpus, Chunk: make([]byte, residentChunk), residents: t}).open()
	if err == nil {
		t.open++
	}
	return s, err
}

// CloseResident closes the slot of a resident.
func (p *Pool) CloseResident(s *Slot) error {
	t := &p.residents
	t.mu.Lock()
	t.open--
	t.mu.Unlock()
	return s.Close()
}

// The agent reads what a resident writes, and the kernel's workers copy it at a terminal: neither is charged to the
// program, whose low weight says nothing about them then. So all residents of sessions together have an allowance:
// one chunk in readTime. A person who reads gets a screen at once (readAhead); those who write without end share the
// rest, each a chunk in turn (TestHostileResidentsLeaveTheRunsAlone).
const (
	residentChunk = 4 << 10 // what the kernel gives at once of a terminal (N_TTY_BUF_SIZE)
	readTime      = 250 * time.Microsecond
	readAhead     = 20 * time.Millisecond
)

// Pause is how long nothing more of a stream is to be read, after a chunk was: zero for a slot of the pool.
func (s *Slot) Pause() (pause time.Duration) {
	t := s.residents
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next, pause = pace(t.next, linux.Monotonic())
	return pause
}

// pace takes the time of one chunk from the allowance, which is used up until next. The pause is zero as long as no
// more than readAhead is taken in advance.
func pace(next, now time.Duration) (after, pause time.Duration) {
	after = max(next, now) + readTime
	return after, max(after-now-readAhead, 0)
}
