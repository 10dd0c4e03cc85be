package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/kernels"
	"github.com/brig-sandbox/brig/service/kernels/drivers"
	"github.com/brig-sandbox/brig/service/quota"
	"github.com/brig-sandbox/brig/service/runs"
)

// An interpreter is one process of a kernel. What it writes arrives in the one goroutine of its exec, in order.
type interpreter struct {
	kernel   *kernel
	requests *outbox
	signals  chan api.Signal
	frames   kernels.Frames
	memory   *quota.Reservation // of frames
	stdout   textStream
	stderr   textStream
	early    strings.Builder // the start of stderr before the first cell
	failed   error           // why it is ended: what it has said is no event
	ready    bool
}

// maxEarly is how much of stderr says why an interpreter has not started.
const maxEarly = 2000

func newInterpreter(k *kernel) *interpreter {
	it := &interpreter{kernel: k, requests: newOutbox(), signals: make(chan api.Signal, 1),
		memory: k.ss.Responses.Reservation(k.caller.Name)}
	it.frames.Reserve = it.reserve
	it.stdout.typ, it.stderr.typ = api.CellEventStdout, api.CellEventStderr
	return it
}

// interrupt sends SIGINT to the process group of the interpreter.
func (it *interpreter) interrupt() {
	if it == nil {
		return
	}
	select {
	case it.signals <- "SIGINT":
	default: // one is on its way
	}
}

// reserve counts the memory of an event that arrives among that of responses: a program sends them as large as it likes
// (API-15).
func (it *interpreter) reserve(n int64) error {
	if n < it.memory.Size() {
		it.memory.Shrink(n)
		return nil
	}
	err := it.memory.Grow(it.kernel.ctx, n-it.memory.Size(), quotaWait)
	if err != nil {
		return errors.New("the memory for large responses is full")
	}
	return nil
}

// quotaWait is how long an event waits for memory, and holds the program back.
const quotaWait = 2 * time.Second

// interpret executes an interpreter until it ends.
func (k *kernel) interpret(ctx context.Context, it *interpreter) {
	defer it.memory.Release()
	defer it.requests.close()

	exec := api.Exec{Argv: drivers.Argv(k.ask.Language, k.ask.Cwd), Env: k.ask.Env, Resident: true, Control: true}
	o := &runs.Request{
		ID: core.NewID(), Session: k.session, Caller: k.caller, Dialect: core.DialectOf(k.ctx), Created: time.Now(),
		Run: api.Run{Language: k.entry.language, Labels: k.entry.labels}, Resident: true,
	}
	o.Fn = func(ctx context.Context) (api.Result, error) {
		res, err := k.ss.Config.Agent.ExecEvents(ctx, k.session, exec, nil, client.Events{
			Stdout: writerFunc(it.writeStdout), Stderr: writerFunc(it.writeStderr), Control: writerFunc(it.writeControl),
			Requests: it.requests, Signals: it.signals})
		return k.ss.adaptExec(k.session, res, err)
	}

	res, err := k.ss.dispatchExec(ctx, o)
	if res.SessionEnded != "" || ended(err) {
		k.cancel()
	}
	if err == nil || it.failed != nil {
		err = &deadError{it.death(res)}
	}
	k.postEvent(kernelEvent{Event: kernels.Event{Kind: kernels.Exited}, failure: err})
}

// A deadError says how an interpreter has ended.
type deadError struct{ words string }

func (e *deadError) Error() string { return e.words }

// death is how the interpreter has ended, for the client.
func (it *interpreter) death(res api.Result) string {
	words := "the interpreter has ended"
	switch {
	case it.failed != nil:
		words = "the interpreter was killed: " + it.failed.Error()
	case res.Verdict == api.OK, res.ExitCode > 0:
		words += fmt.Sprintf(" with exit status %d", res.ExitCode)
	default:
		words += fmt.Sprintf(": %s", res.Verdict)
	}
	if early := strings.TrimSpace(it.early.String()); early != "" && !it.ready {
		words += ": " + early
	}
	return words
}

func deathOf(failure error) string {
	if failure == nil {
		return "the interpreter has ended"
	}
	var dead *deadError
	if errors.As(failure, &dead) {
		return dead.words
	}
	p, _ := core.ProblemFor(failure)
	return p.Detail
}

func (it *interpreter) writeStdout(p []byte) (int, error) { return it.output(&it.stdout, p) }

func (it *interpreter) writeStderr(p []byte) (int, error) {
	if !it.ready {
		it.early.Write(p[:min(len(p), maxEarly-min(it.early.Len(), maxEarly))])
	}
	return it.output(&it.stderr, p)
}

// output passes on what the program wrote. What it writes while no cell is executed is nobody's.
func (it *interpreter) output(s *textStream, p []byte) (int, error) {
	c := it.kernel.currentCell()
	if c == nil {
		s.rest = nil
		return len(p), nil
	}
	c.give(s.event(p, false))
	return len(p), nil
}

// writeControl takes what the driver says: it, or the program.
func (it *interpreter) writeControl(p []byte) (int, error) {
	if err := it.frames.Write(p, it.heard); err != nil {
		it.failed = err
		return 0, err // ends the exec
	}
	return len(p), nil
}

func (it *interpreter) heard(body []byte) error {
	k := it.kernel
	c := k.currentCell()
	if c == nil && it.ready && !k.executing() {
		return nil // no cell, no event: this costs a forger more than the service
	}
	said, err := kernels.Understand(body)
	switch {
	case err != nil:
		c.give(api.CellEvent{Type: api.CellEventError, Name: "BadEvent", Value: err.Error(), Traceback: []string{}})
	case said.Kind == kernels.SaidReady:
		it.ready = true
		k.post(kernels.Event{Kind: kernels.Ready})
	case said.Kind == kernels.SaidDone:
		for _, s := range []*textStream{&it.stdout, &it.stderr} {
			c.give(s.event(nil, true))
		}
		k.post(kernels.Event{Kind: kernels.Finished, Cell: said.Cell, Status: said.Status})
	case said.Event.Type == api.CellEventAsk && !c.asks(said.Event.ID):
		c.give(api.CellEvent{Type: api.CellEventError, Name: "BadEvent", Value: "too many calls wait for an answer", Traceback: []string{}})
	default:
		c.give(said.Event)
	}
	return nil
}

// A textStream makes text of one of the streams. A character that arrives in two parts stays whole.
type textStream struct {
	typ  api.CellEventType
	rest []byte // of a character
}

func (s *textStream) event(p []byte, last bool) api.CellEvent {
	text := append(s.rest, p...)
	s.rest = nil
	if !last {
		if n := incomplete(text); n > 0 {
			s.rest = append([]byte(nil), text[len(text)-n:]...)
			text = text[:len(text)-n]
		}
	}
	return api.CellEvent{Type: s.typ, Text: strings.ToValidUTF8(string(text), "\uFFFD")}
}

// incomplete returns how many bytes at the end begin a character whose rest may follow.
func incomplete(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(text)); n++ {
		if b := text[len(text)-n]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// An outbox has what is to be sent to a driver. Read waits for more.
type outbox struct {
	mu     sync.Mutex
	filled *sync.Cond
	data   []byte
	closed bool
}

// maxOutbox is the most that may wait: one that is executed, and one that a program has not read because it forged the
// end of the one before.
const maxOutbox = 4 << 20

func newOutbox() *outbox {
	b := &outbox{}
	b.filled = sync.NewCond(&b.mu)
	return b
}

func (b *outbox) add(data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return errEnded
	case len(b.data)+len(data) > maxOutbox:
		return core.Problem(http.StatusTooManyRequests, api.Fail(api.CodeSessionBusy, "the program does not read what the kernel gets"))
	}
	b.data = append(b.data, data...)
	b.filled.Signal()
	return nil
}

func (b *outbox) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) == 0 && !b.closed {
		b.filled.Wait()
	}
	if len(b.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.data)
	if b.data = b.data[n:]; len(b.data) == 0 {
		b.data = nil
	}
	return n, nil
}

// close ends a Read, whose goroutine the client of the agent has left.
func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.filled.Broadcast()
}

var errEnded = errors.New("the interpreter has ended")
