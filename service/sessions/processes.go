package sessions

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/processes"
	"github.com/brig-sandbox/brig/service/runs"
)

// postProcess creates a process of a session, and answers when it has started.
func (ss *Sessions) postProcess(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	s, err := ss.registry.find(core.CallerOf(r.Context()).Name, id)
	if err != nil {
		return err
	}

	raw, release, err := ss.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()

	ask, err := core.ParseBodyAs[api.ProcessRequest](ss.Core, r.Context(), raw, "process")
	if err != nil {
		return err
	}
	if err := ask.Validate(); err != nil {
		return err
	}

	p, err := ss.startProcess(r, s, ask, int64(len(raw)))
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/sessions/"+id+"/processes/"+strconv.Itoa(p.pid))
	ss.Reply(w, r, http.StatusCreated, p.view())
	return nil
}

// startProcess starts a process, and waits until it has. Its goroutine lasts until the process is forgotten; the service
// joins it when it stops. The request, of so many bytes, is in memory as long as the process.
func (ss *Sessions) startProcess(r *http.Request, s sessionEntry, ask api.ProcessRequest, size int64) (*process, error) {
	caller := core.CallerOf(r.Context())
	owner := caller.Name
	over, gone := make(chan struct{}), make(chan struct{})
	response := ss.NewAgentResponse(owner) // of its own: the request is over long before the process
	ctx, cancel := context.WithCancel(response.WithQuota(core.WithCaller(context.Background(), caller)))
	p := &process{session: r.PathValue("id"), owner: owner, ask: ask, created: time.Now(),
		signals: make(chan api.Signal), sizes: make(chan api.TTY), cancel: cancel, over: over, gone: gone,
		forget: sync.OnceFunc(func() { close(gone) }), changed: make(chan struct{}),
		memory: ss.Responses.Reservation(owner), share: ss.rings.Reserve(owner, core.LargeResponseMin),
		life: processes.Life{Detached: ask.Detach}}
	if ask.Stdin == api.ProcessStdinOpen || ask.TTY != nil {
		p.input = newProcessInput(over)
	}

	if !p.memory.TryGrow(size) || !p.reserveRing() {
		cancel()
		p.release()
		return nil, core.NoQuotaError("")
	}
	if !ss.Enter() {
		cancel()
		p.release()
		return nil, core.ErrStopping()
	}
	if err := ss.processes.add(p); err != nil {
		p.release()
		cancel()
		ss.Leave()
		return nil, err
	}

	started := make(chan error, 1)
	o := execRequest(r, p.session, s, ask.Exec())
	go func() { // ends when the process is forgotten, or the service stops; joined by Leave
		defer ss.Leave()
		defer cancel()
		defer response.Release()
		defer p.release()
		ss.runProcess(ctx, p, o, started)
	}()

	select {
	case err := <-started:
		return p, err
	case <-r.Context().Done(): // nobody knows its pid
		cancel()
		return nil, r.Context().Err()
	}
}

// runProcess has the agent execute a process, and keeps it until it is forgotten.
func (ss *Sessions) runProcess(ctx context.Context, p *process, o *runs.Request, started chan<- error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ss.Stopping, cancel)()
	claim := time.AfterFunc(processes.AttachWithin, p.endIfUnclaimed)
	defer claim.Stop()

	begun := false // known by this goroutine alone, which calls Fn
	o.Fn = func(ctx context.Context) (api.Result, error) {
		var stdin io.Reader // nil: end of file at once
		if p.input != nil {
			stdin = p.input
		}
		events := client.Events{Started: func() { begun = true; started <- nil }, Signals: p.signals, Resize: p.sizes,
			Stdout: p.writer(ctx, api.ProcessStdout), Stderr: p.writer(ctx, api.ProcessStderr)}
		res, err := ss.Config.Agent.ExecEvents(ctx, p.session, p.ask.Exec(), stdin, events)
		return ss.adaptExec(p.session, res, err)
	}

	res, err := ss.dispatchExec(ctx, o)
	var problem *api.Problem
	if err != nil {
		problem = ss.CountedProblem(err)
	}
	p.finish(res, problem)
	ss.processes.ended(p)
	if !begun && err == nil { // such as a source that does not compile
		begun = true
		started <- nil
	}

	if begun {
		keep := time.NewTimer(processes.Retention)
		defer keep.Stop()
		select {
		case <-keep.C:
		case <-p.gone:
		case <-ss.Stopping.Done():
		}
	}

	ss.processes.remove(p)
	if !begun { // its creator gets the error, and it never was
		started <- err
	}
}

// ownProcess finds the process of a request. One of another key is not found, as its session is not.
func (ss *Sessions) ownProcess(r *http.Request) (*process, error) {
	id := r.PathValue("id")
	if _, err := ss.registry.find(core.CallerOf(r.Context()).Name, id); err != nil {
		return nil, err
	}
	if pid, err := strconv.Atoi(r.PathValue("pid")); err == nil {
		if p := ss.processes.find(id, pid); p != nil {
			return p, nil
		}
	}
	return nil, api.Refuse(api.CodeNotFound, "session %s has no process %.20q: it never had, or it ended more than %v ago", id,
		r.PathValue("pid"), api.Duration(processes.Retention))
}

func (ss *Sessions) getProcesses(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if _, err := ss.registry.find(core.CallerOf(r.Context()).Name, id); err != nil {
		return err
	}
	page := api.Page[api.Process]{Items: []api.Process{}}
	for _, p := range ss.processes.of(id) {
		page.Items = append(page.Items, p.view())
	}
	ss.Reply(w, r, http.StatusOK, page)
	return nil
}

func (ss *Sessions) getProcess(w http.ResponseWriter, r *http.Request) error {
	p, err := ss.ownProcess(r)
	if err != nil {
		return err
	}
	ss.Reply(w, r, http.StatusOK, p.view())
	return nil
}

// postStdin sends the body to a process, and answers when it was taken.
func (ss *Sessions) postStdin(w http.ResponseWriter, r *http.Request) error {
	p, err := ss.ownProcess(r)
	if err != nil {
		return err
	}
	eof, err := core.Flag(r.URL.Query(), "eof")
	switch {
	case err != nil:
		return err
	case p.input == nil:
		return api.Refuse(api.CodeConflict, "process %d reads nothing: create it with stdin: open", p.pid)
	}

	raw, release, err := ss.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()

	ctx, cancel := context.WithTimeout(r.Context(), inputWait)
	defer cancel()
	taken, err := p.input.write(ctx, raw)
	switch {
	case err != nil && r.Context().Err() == nil && ctx.Err() != nil:
		return api.Fail(api.CodeConflict, "process %d has not read its stdin for %v: %d bytes of these %d were taken: send the rest later",
			p.pid, inputWait, taken, len(raw))
	case err != nil:
		return err
	case eof:
		p.input.end()
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// postSignal sends a signal to a process.
func (ss *Sessions) postSignal(w http.ResponseWriter, r *http.Request) error {
	return sendParsed(ss, w, r, "signal", func(p *process, s api.SignalRequest) error {
		if err := s.Signal.Validate(); err != nil {
			return err
		}
		return sendTo(r.Context(), p, p.signals, s.Signal)
	})
}

// postResize changes the size of a terminal.
func (ss *Sessions) postResize(w http.ResponseWriter, r *http.Request) error {
	return sendParsed(ss, w, r, "size", func(p *process, size api.TTY) error {
		if p.ask.TTY == nil {
			return api.Refuse(api.CodeBadRequest, "process %d has no terminal: create it with tty", p.pid)
		}
		if err := size.Validate(); err != nil {
			return err
		}
		return sendTo(r.Context(), p, p.sizes, size)
	})
}

// sendParsed parses a body for a process, and sends it there.
func sendParsed[T any](ss *Sessions, w http.ResponseWriter, r *http.Request, what string, send func(*process, T) error) error {
	p, err := ss.ownProcess(r)
	if err != nil {
		return err
	}
	ask, err := readBodyAs[T](ss, w, r, what)
	if err != nil {
		return err
	}
	if err := send(p, ask); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// The most output of one answer, and the longest time that a request waits for some.
const (
	outputChunk   = 1 << 20
	maxOutputWait = time.Minute
)

// getOutput returns output from an offset on.
func (ss *Sessions) getOutput(w http.ResponseWriter, r *http.Request) error {
	p, err := ss.ownProcess(r)
	if err != nil {
		return err
	}
	since, err := sinceOf(r.URL.Query())
	if err != nil {
		return err
	}
	wait, err := waitOf(r.URL.Query())
	if err != nil {
		return err
	}

	ctx, done := ss.UntilStop(r.Context())
	defer done()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ss.Reply(w, r, http.StatusOK, p.read(ctx, since, outputChunk))
	return nil
}

// sinceOf is the offset that a query has; without one, what is kept is read from its beginning.
func sinceOf(q url.Values) (int64, error) {
	if !q.Has("since") {
		return 0, nil
	}
	n, err := strconv.ParseInt(q.Get("since"), 10, 64)
	if err != nil || n < 0 {
		return 0, api.Refuse(api.CodeBadRequest, "since=%.40q: use the offset of a byte, 0 or more", q.Get("since"))
	}
	return n, nil
}

func waitOf(q url.Values) (time.Duration, error) {
	if !q.Has("wait") {
		return 0, nil
	}
	d, err := time.ParseDuration(q.Get("wait"))
	if err != nil || d < 0 || d > maxOutputWait {
		return 0, api.Refuse(api.CodeBadRequest, "wait=%.40q: use a time such as 10s, at most %v", q.Get("wait"), api.Duration(maxOutputWait))
	}
	return d, nil
}
