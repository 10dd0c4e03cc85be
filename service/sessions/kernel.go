package sessions

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/kernels"
)

// interruptGrace is how long a cell has to end after a SIGINT, before its interpreter is killed. Halfway it gets another:
// node loses one that comes when a cell begins to wait.
const interruptGrace = 2 * time.Second

// A kernel is an interpreter of a session, and the cells for it. Its goroutine, run, owns its state and does what
// kernels.Step says. The interpreter can end and another one start; the kernel ends with its context: when it is deleted,
// or its session or the service ends.
type kernel struct {
	ss      *Sessions
	id      string
	session string
	entry   sessionEntry
	caller  core.Caller
	ask     api.KernelRequest
	created time.Time
	owns    bool // its session was made for it, and ends with it
	ctx     context.Context
	cancel  context.CancelFunc

	events chan kernelEvent
	left   chan struct{} // closed when run reads no more events

	mu       sync.Mutex
	state    kernels.State   // guarded by mu; a copy of that of run
	used     time.Time       // guarded by mu; when state changed
	launches int             // guarded by mu; interpreters so far
	failure  error           // guarded by mu; why the last interpreter has ended
	changed  chan struct{}   // guarded by mu; closed at the next change of these
	next     int64           // guarded by mu; the number of the last cell
	cells    map[int64]*cell // guarded by mu; of clients that are connected
	current  *cell           // guarded by mu; being executed; nil: none, or its client has left
	talk     *interpreter    // guarded by mu; nil: there is none
}

// A kernelEvent is an event, with what the state machine need not know.
type kernelEvent struct {
	kernels.Event
	failure error // of Exited
}

// run carries out what happens to the kernel, until it ends with all of its processes.
func (k *kernel) run() {
	var interpreters sync.WaitGroup
	defer interpreters.Wait()
	defer close(k.left)
	defer k.cancel()

	grace := time.NewTimer(0)
	defer grace.Stop()
	<-grace.C
	var interrupted int64 // the cell that has the grace
	again := time.NewTimer(0)
	defer again.Stop()
	<-again.C
	var state kernels.State
	var kill context.CancelFunc = func() {}
	for state.Phase != kernels.Closed {
		var e kernelEvent
		select {
		case e = <-k.events:
		case <-grace.C:
			e.Event = kernels.Event{Kind: kernels.GraceOver, Cell: interrupted}
		case <-again.C:
			if state.Phase == kernels.Interrupting && state.Cell == interrupted {
				k.talking().interrupt()
			}
			continue
		case <-k.ctx.Done():
			e.Event = kernels.Event{Kind: kernels.Close}
		}

		var actions []kernels.Action
		state, actions = kernels.Step(state, e.Event)
		k.note(state, e)
		for _, a := range actions {
			switch a.Kind {
			case kernels.Launch:
				var ctx context.Context
				ctx, kill = context.WithCancel(core.WithDialect(core.WithCaller(context.Background(), k.caller), core.DialectOf(k.ctx)))
				it := k.launched()
				interpreters.Go(func() { k.interpret(ctx, it) })
			case kernels.Begin:
				k.begin(a)
			case kernels.End, kernels.Refuse, kernels.Abandon:
				k.endCell(a)
			case kernels.Interrupt:
				k.talking().interrupt()
			case kernels.Wait:
				interrupted = a.Cell
				grace.Reset(interruptGrace)
				again.Reset(interruptGrace / 2)
			case kernels.Kill:
				kill()
			}
		}
	}
	kill()
}

// post tells run of an event. It reports false if the kernel has ended.
func (k *kernel) post(e kernels.Event) bool { return k.postEvent(kernelEvent{Event: e}) }

func (k *kernel) postEvent(e kernelEvent) bool {
	select {
	case k.events <- e:
		return true
	case <-k.left:
		return false
	}
}

// note publishes the state.
func (k *kernel) note(s kernels.State, e kernelEvent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.Kind == kernels.Exited {
		k.failure, k.talk = e.failure, nil
	}
	k.state, k.used = s, time.Now().UTC()
	close(k.changed)
	k.changed = make(chan struct{})
}

func (k *kernel) launched() *interpreter {
	it := newInterpreter(k)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.launches++
	k.talk = it
	return it
}

func (k *kernel) talking() *interpreter {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.talk
}

// begin tells the client of a cell that the cell begins, and sends it to the driver.
func (k *kernel) begin(a kernels.Action) {
	k.mu.Lock()
	c, it := k.cells[a.Cell], k.talk
	k.current = c
	k.mu.Unlock()
	if c == nil { // its client has left, and the event that says so follows
		return
	}

	c.begun <- api.CellEvent{Type: api.CellEventStart, Count: a.Count, Restarted: a.Restarted}
	frame, err := kernels.Execute{Cell: c.id, Count: a.Count, Silent: c.ask.Silent, Env: c.ask.Env, Code: c.ask.Code}.Append(nil)
	if err == nil {
		err = it.requests.add(frame)
	}
	if err != nil {
		k.ss.Log.Warn("cell not sent", "kernel", k.id, "err", err)
	}
}

// endCell tells the client of a cell how it has ended.
func (k *kernel) endCell(a kernels.Action) {
	k.mu.Lock()
	c := k.cells[a.Cell]
	if k.current == c {
		k.current = nil
	}
	failure := k.failure
	k.mu.Unlock()
	if c == nil {
		return
	}

	end := cellEnd{event: api.CellEvent{Type: api.CellEventEnd, Status: a.Status, Restarted: a.Restarted}}
	switch {
	case a.Kind == kernels.Refuse:
		end.refused = api.Fail(api.CodeSessionBusy,
			"%d cells of kernel %s wait, and that is the maximum: send it again when one has ended", api.KernelCells, k.id)
	case a.Kind == kernels.Abandon:
		end.refused = k.abandoned(failure)
	case a.Status == api.CellDied && k.ctx.Err() != nil:
		end.why = "the kernel was deleted, or its session has ended"
	case a.Status == api.CellDied:
		end.why = deathOf(failure)
	}
	c.ended <- end
}

// abandoned is the error for a cell that is not executed, or a kernel whose interpreter does not start.
func (k *kernel) abandoned(failure error) error {
	switch {
	case k.ctx.Err() != nil:
		return api.Refuse(api.CodeNotFound, "kernel %s was deleted, or its session has ended: make another", k.id)
	case failure == nil:
		return api.Fail(api.CodeInternal, "BUG: kernel %s did not start, without a cause", k.id)
	}
	var dead *deadError
	if errors.As(failure, &dead) {
		return api.Refuse(api.CodeBadRequest, "the %s kernel did not start: %s", k.ask.Language, dead.words)
	}
	return failure
}

// open adds a cell of a client, until leave.
func (k *kernel) open(ask api.Cell) *cell {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next++
	c := newCell(k.next, ask)
	k.cells[c.id] = c
	return c
}

// leave forgets a cell whose client has what it wanted, or has left.
func (k *kernel) leave(c *cell) {
	k.mu.Lock()
	delete(k.cells, c.id)
	if k.current == c {
		k.current = nil
	}
	k.mu.Unlock()
	close(c.gone)
}

// start starts a fresh interpreter, and waits until it is ready.
func (k *kernel) start(ctx context.Context) error {
	k.mu.Lock()
	want := k.launches + 1
	if k.state.Phase == kernels.Starting {
		want = k.launches
	}
	k.mu.Unlock()
	if !k.post(kernels.Event{Kind: kernels.Restart}) {
		return k.abandoned(nil)
	}

	for {
		k.mu.Lock()
		phase, launches, failure, changed := k.state.Phase, k.launches, k.failure, k.changed
		k.mu.Unlock()
		switch {
		case phase == kernels.Closed, launches >= want && phase == kernels.Absent:
			return k.abandoned(failure)
		case launches >= want && phase != kernels.Starting && phase != kernels.Killed:
			return nil
		}

		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// describe is the kernel as it is now.
func (k *kernel) describe() api.Kernel {
	k.mu.Lock()
	defer k.mu.Unlock()
	states := map[kernels.Phase]api.KernelState{kernels.Absent: api.KernelDead, kernels.Starting: api.KernelStarting,
		kernels.Idle: api.KernelIdle, kernels.Busy: api.KernelBusy, kernels.Interrupting: api.KernelBusy,
		kernels.Killed: api.KernelBusy, kernels.Closed: api.KernelDead}
	cwd := k.ask.Cwd
	if cwd == "" {
		cwd = "/box"
	}
	return api.Kernel{ID: k.id, Session: k.session, Language: k.ask.Language, Cwd: cwd, Tag: k.ask.Tag, State: states[k.state.Phase],
		Count: k.state.Count, Waiting: len(k.state.Waiting), Created: k.created, Used: k.used}
}
