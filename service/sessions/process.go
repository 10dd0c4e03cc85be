package sessions

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/processes"
	"github.com/brig-sandbox/brig/service/quota"
)

// A process is one process of a session, from its creation until it is forgotten. It owns the stream of the agent, so
// clients come and go.
type process struct {
	pid            int
	session, owner string
	ask            api.ProcessRequest
	created        time.Time

	input   *processInput // nil: it reads nothing
	signals chan api.Signal
	sizes   chan api.TTY
	cancel  context.CancelFunc // ends the program
	over    chan struct{}      // closed when the program has ended
	gone    chan struct{}      // closed when the process is to be forgotten
	forget  func()             // closes gone

	mu       sync.Mutex
	changed  chan struct{}      // guarded by mu; closed, and replaced, at every change of what follows
	ring     processes.Ring     // guarded by mu
	memory   *quota.Reservation // guarded by mu; of the ring, in the memory for responses
	share    *quota.Reservation // guarded by mu; the same in the part of it that rings may have
	life     processes.Life     // guarded by mu
	attached *attachment        // guarded by mu; the client that is connected; nil: none
	ended    time.Time          // guarded by mu; zero: the program runs
	result   *api.Result        // guarded by mu
	problem  *api.Problem       // guarded by mu; instead of result
}

// An attachment is the connection of one client to a process.
type attachment struct {
	offset int64 // guarded by the process's mu; what is to be read next
}

var (
	errTakenOver = errors.New("another client has taken the process over")
	errAttached  = api.Refuse(api.CodeConflict, "another client is attached to this process: wait until it leaves, or add takeover=true")
)

// notify wakes all who wait for a change; p.mu is held.
func (p *process) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits for the next change; p.mu is held, but not meanwhile.
func (p *process) await(ctx context.Context) error {
	changed := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writer returns where a stream of the program goes.
func (p *process) writer(ctx context.Context, stream api.ProcessStream) io.Writer {
	return writerFunc(func(b []byte) (int, error) {
		if err := p.write(ctx, stream, b); err != nil {
			return 0, err
		}
		return len(b), nil
	})
}

// write keeps what the program wrote. A client that is attached and reads slowly holds the program back; without one, the
// oldest output is lost. Where the memory for output is used up, less is kept.
func (p *process) write(ctx context.Context, stream api.ProcessStream, b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		p.grow(len(b))

		n := min(len(b), p.ring.Size())
		if p.attached != nil {
			n = min(n, p.ring.Room(p.attached.offset))
		}
		if n == 0 {
			if err := p.await(ctx); err != nil {
				return err
			}
			continue
		}

		p.ring.Write(stream, b[:n])
		b = b[n:]
		p.notify()
	}
	return nil
}

// reserveRing gives the ring of a process the least memory; false: there is none.
func (p *process) reserveRing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grow(1)
	return p.ring.Size() > 0
}

// grow gives the ring memory for n more bytes, if there is some; p.mu is held.
func (p *process) grow(n int) {
	size := p.ring.Size()
	more := p.ring.Want(n) - size
	if more <= 0 || !p.share.TryGrow(int64(more)) {
		return
	}
	if !p.memory.TryGrow(int64(more)) {
		p.share.Shrink(int64(size))
		return
	}
	p.ring.Grow(size + more)
}

// attach connects a client, which reads from since on. With takeover, one that is connected leaves.
func (p *process) attach(since int64, takeover bool) (*attachment, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.attached != nil && !takeover {
		return nil, errAttached
	}
	a := &attachment{offset: min(since, p.ring.End())}
	p.attached = a
	p.life.Attach()
	p.notify()
	return a, nil
}

// leave ends the connection of a client, and with the last one a process that is not detached.
func (p *process) leave(a *attachment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.attached == a {
		p.attached = nil
	}
	if p.life.Leave() {
		p.cancel()
	}
	p.notify()
}

// next waits for more output for a client that is attached.
func (p *process) next(ctx context.Context, a *attachment, maximum int) (api.ProcessOutput, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.attached != a {
			return api.ProcessOutput{}, errTakenOver
		}
		if out := p.readLocked(a.offset, maximum); len(out.Pieces) > 0 || out.Ended {
			a.offset = out.Next
			p.notify()
			return out, nil
		}
		if err := p.await(ctx); err != nil {
			return api.ProcessOutput{}, err
		}
	}
}

// read reads output from an offset on. It waits for some until ctx is done.
func (p *process) read(ctx context.Context, since int64, maximum int) api.ProcessOutput {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		out := p.readLocked(since, maximum)
		if len(out.Pieces) > 0 || out.Ended || p.await(ctx) != nil {
			return out
		}
	}
}

func (p *process) readLocked(since int64, maximum int) api.ProcessOutput {
	out := p.ring.Read(since, maximum)
	out.Ended = !p.ended.IsZero() && out.Next == p.ring.End()
	return out
}

// finish notes how the program ended.
func (p *process) finish(res api.Result, problem *api.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = time.Now()
	if p.problem = problem; problem == nil {
		p.result = &res
	}
	close(p.over)
	p.notify()
}

// outcome is how the program ended.
func (p *process) outcome() (res api.Result, problem *api.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.result != nil {
		res = *p.result
	}
	return res, p.problem
}

// view is the process as its owner sees it.
func (p *process) view() api.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := api.Process{PID: p.pid, Tag: p.ask.Tag, Argv: p.ask.Argv, Command: p.ask.Command, Cwd: p.ask.Cwd, TTY: p.ask.TTY != nil,
		Detach: p.ask.Detach, State: api.ProcessRunning, Created: p.created.UTC().Format(time.RFC3339Nano),
		Result: p.result, Error: p.problem}
	if !p.ended.IsZero() {
		v.State, v.Ended = api.ProcessEnded, p.ended.UTC().Format(time.RFC3339Nano)
	}
	return processes.Describe(v, &p.ring, p.life)
}

// endIfUnclaimed ends a process to which nobody has come.
func (p *process) endIfUnclaimed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Unclaimed() {
		p.cancel()
	}
}

// release gives the memory of the output back.
func (p *process) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ring = processes.Ring{}
	p.memory.Release()
	p.share.Release()
}

// sendTo sends something to the program, if it runs.
func sendTo[T any](ctx context.Context, p *process, to chan T, v T) error {
	select {
	case to <- v:
		return nil
	case <-p.over:
		return api.Refuse(api.CodeConflict, "process %d has ended", p.pid)
	case <-ctx.Done():
		return ctx.Err()
	}
}
