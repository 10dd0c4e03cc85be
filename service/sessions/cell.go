package sessions

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/kernels"
)

// keepAliveEvery is the time between signs of life while a cell is executed.
const keepAliveEvery = 5 * time.Second

// maxAsks is the number of calls of a cell that may wait for an answer.
const maxAsks = 16

// A cell is one that a client has sent, as long as the client is connected.
type cell struct {
	id  int64
	ask api.Cell

	begun chan api.CellEvent // gets one event at most
	out   chan api.CellEvent // a client that reads slowly holds the program back
	ended chan cellEnd       // gets one at most
	gone  chan struct{}      // closed when the client is not told any more

	mu    sync.Mutex
	calls map[string]bool // guarded by mu; ids of calls that wait for an answer
}

// A cellEnd is the end of a cell.
type cellEnd struct {
	event   api.CellEvent
	why     string // of CellDied
	refused error  // instead: it is not executed
}

func newCell(id int64, ask api.Cell) *cell {
	return &cell{id: id, ask: ask, begun: make(chan api.CellEvent, 1), out: make(chan api.CellEvent), ended: make(chan cellEnd, 1),
		gone: make(chan struct{}), calls: map[string]bool{}}
}

// give hands an event to the client, if it is there.
func (c *cell) give(e api.CellEvent) {
	if c == nil || e.Text == "" && (e.Type == api.CellEventStdout || e.Type == api.CellEventStderr) {
		return
	}
	select {
	case c.out <- e:
	case <-c.gone:
	}
}

// asks notes a call that waits for an answer. It reports false if there are too many.
func (c *cell) asks(id string) bool {
	if c == nil {
		return true // nobody is asked
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) >= maxAsks {
		return false
	}
	c.calls[id] = true
	return true
}

// answered forgets a call. It reports whether the call had waited.
func (c *cell) answered(id string) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	waited := c.calls[id]
	delete(c.calls, id)
	return waited
}

func (k *kernel) currentCell() *cell {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current
}

// executing reports whether a cell is executed, whoever is told of it.
func (k *kernel) executing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state.Cell != 0
}

// A cellStream sends the events of a cell to its client.
type cellStream struct {
	core    *core.Core
	send    func(api.CellEvent) error // instead of to w; nil: as lines of JSON
	w       http.ResponseWriter
	lines   core.LineStream
	key     string
	started bool
}

// put sends an event. A client that reads nothing for a while has left.
func (s *cellStream) put(ctx context.Context, e api.CellEvent) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	release, ok := s.core.Responses.Reserve(ctx, s.key, int64(len(line)))
	if !ok {
		return s.put(ctx, api.CellEvent{Type: api.CellEventError, Name: "ServiceBusy", Traceback: []string{},
			Value: "an event was dropped: the memory for large responses is full of responses that clients have not read yet"})
	}
	defer release()

	if s.send != nil {
		s.started = true
		return s.send(e)
	}
	if !s.started {
		s.w.Header().Set("Content-Type", core.JSONLines)
		s.w.Header().Set("Cache-Control", "no-store")
		s.w.Header().Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
		s.lines, s.started = core.NewLineStream(s.w), true
	}
	if _, err := s.lines.Write(append(line, '\n')); err != nil {
		return err
	}
	return s.lines.Flush()
}

// tell sends a client the events of its cell until the end. If the client leaves, the cell is interrupted. An error means
// that nothing was sent yet.
func (k *kernel) tell(ctx context.Context, s *cellStream, c *cell) error {
	defer k.leave(c)
	if !k.post(kernels.Event{Kind: kernels.Submitted, Cell: c.id, Silent: c.ask.Silent}) {
		return k.abandoned(nil)
	}

	beat := time.NewTicker(keepAliveEvery)
	defer beat.Stop()
	var limit <-chan time.Time
	for {
		var err error
		select {
		case e := <-c.begun:
			if c.ask.Timeout > 0 {
				timer := time.NewTimer(time.Duration(c.ask.Timeout))
				defer timer.Stop()
				limit = timer.C
			}
			err = s.put(ctx, e)
		case e := <-c.out:
			err = s.put(ctx, e)
		case end := <-c.ended:
			return k.tellEnd(ctx, s, c, end)
		case <-beat.C:
			err = s.put(ctx, api.CellEvent{Type: api.CellEventKeepAlive})
		case <-limit:
			k.post(kernels.Event{Kind: kernels.TimedOut, Cell: c.id})
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			k.post(kernels.Event{Kind: kernels.Left, Cell: c.id})
			return nil
		}
	}
}

// tellEnd sends the last events of a cell.
func (k *kernel) tellEnd(ctx context.Context, s *cellStream, c *cell, end cellEnd) error {
	select {
	case e := <-c.begun: // it has ended at once
		if err := s.put(ctx, e); err != nil {
			return nil
		}
	default:
	}

	if end.refused != nil {
		if !s.started {
			return end.refused
		}
		end.why, end.event.Status = deathOf(end.refused), api.CellDied
	}
	if end.why != "" {
		if err := s.put(ctx, api.CellEvent{Type: api.CellEventError, Name: "died", Value: end.why, Traceback: []string{}}); err != nil {
			return nil
		}
	}
	_ = s.put(ctx, end.event) // a client that has left needs no end
	return nil
}
