// Package runs answers requests for runs: each waits for a slot, is executed by the agent, and recorded.
package runs

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/judge/suite"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/events"
	"github.com/brig-sandbox/brig/service/history"
)

// postRun executes a Run: synchronously, or in the background if the caller requests that.
func (rs *Runs) postRun(w http.ResponseWriter, r *http.Request) error {
	async, err := wantsAsync(r)
	if err != nil {
		return err
	}

	raw, release, err := rs.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer func() { release() }()

	ask, err := core.ParseBody(rs.Core, r.Context(), raw, decode.RunRequest)
	if err != nil {
		return err
	}

	return rs.runAsked(w, r, ask, async, &release, len(raw))
}

// runAsked executes what a request asks for. It takes over what *release gives back.
func (rs *Runs) runAsked(w http.ResponseWriter, r *http.Request, ask api.RunRequest, async bool, held *func(), size int) error {
	release := *held
	defer func() { *held = release }()

	var err error
	run := ask.Run
	if ask.Problem != "" {
		var free func()
		if run, free, err = rs.problems.ProblemRun(r.Context(), ask, size > core.LargeBodyMin); err != nil {
			return err
		}
		read := release
		release = func() { free(); read() }
	}

	o, err := rs.newRequest(r, run)
	if err != nil {
		return err
	}

	if ask.Problem != "" {
		o.from.Asked = rs.namedProblem(o.Caller, ask)
	}

	body := release
	release = func() { o.releaseBlobs(); body() }
	if !async {
		rs.applyWait(w, r, o)
		ctx, done, err := rs.Track(r)
		if err != nil {
			return err
		}
		defer done()
		res, err := rs.Dispatch(ctx, o)
		if err != nil {
			return err
		}
		release() // the request is no longer needed, however long sending the response takes
		rs.Reply(w, r, http.StatusOK, res)
		return nil
	}

	status, err := rs.dispatchAsync(o, release)
	if err != nil {
		return err
	}

	release = func() {} // now owned by the run
	w.Header().Set("Location", "/v1/runs/"+o.ID)
	rs.Reply(w, r, http.StatusAccepted, status)
	return nil
}

// newRequest creates a validated request of a run. The run's blobs are held until releaseBlobs is called.
func (rs *Runs) newRequest(r *http.Request, run api.Run) (*Request, error) {
	mode, err := checkModeOf(r)
	if err != nil {
		return nil, err
	}
	c := core.CallerOf(r.Context())
	o, err := rs.requestOf(c, run, mode)
	if err != nil {
		return nil, err
	}
	// The last step: an error after it would have to release the blobs.
	o.releaseBlobs, err = rs.blobs.Pin(c.Name, o.Run.Blobs())
	return o, err
}

// requestOf is attendedRequest of a run for which nobody types.
func (rs *Runs) requestOf(c core.Caller, run api.Run, mode checkMode) (*Request, error) {
	if err := run.TTY.RefuseUnstreamed(); err != nil {
		return nil, err
	}
	return rs.attendedRequest(c, run, mode)
}

// attendedRequest creates a validated request of a run that a caller may have executed, if its blobs are the caller's.
func (rs *Runs) attendedRequest(c core.Caller, run api.Run, mode checkMode) (o *Request, err error) {
	if err := run.Validate(); err != nil {
		return nil, err
	}

	run.Language = rs.Agent.ResolveAlias(run.Language)
	o = &Request{ID: core.NewID(), from: Origin{Asked: api.RunRequest{Run: run}},
		Caller: c, SourceSize: len(run.Source), main: run.SourceName, source: run.Source,
		check: mode, suite: run.Suite, Created: time.Now()}
	if o.suite != nil { // the agent runs its command, and the report is read here, without privilege
		if run, err = suite.Prepare(run); err != nil {
			return nil, err
		}
	}
	if o.Run, err = rs.permits.Run(c, run); err != nil {
		return nil, err
	}

	o.MaxSlotTime = maxSlotTimeOf(o.Run)
	return o, nil
}

// namedProblem returns a request with the name of its problem in place of the digest.
func (rs *Runs) namedProblem(c core.Caller, ask api.RunRequest) api.RunRequest {
	if p, err := rs.problems.JobProblem(c.Name, ask.Problem); err == nil { // otherwise it has been removed since
		ask.Problem = p.Name
	}
	return ask
}

// dispatchAsync dispatches a request in the background, and calls release when it has ended.
func (rs *Runs) dispatchAsync(o *Request, release func()) (api.Status, error) {
	if err := rs.Queue.Refuses(o.queueOwner()); err != nil {
		return api.Status{}, err
	}

	ctx, cancel := context.WithCancel(rs.Kill)
	a := &activeRun{id: o.ID, owner: o.Caller.Name, labels: o.Run.Labels, created: o.Created,
		cancel: cancel, state: api.Queued,
		Response: rs.NewAgentResponse(o.Caller.Name), eventQuota: rs.Responses.Reservation(o.Caller.Name)}
	a.Log = events.NewLog(core.LargeResponseMin,
		func() bool { return a.eventQuota.TryGrow(events.MaxSize + core.LargeResponseMin) })
	ctx = a.Response.WithQuota(ctx)
	o.active = a
	if !rs.Enter() {
		cancel()
		return api.Status{}, core.ErrStopping()
	}
	if !rs.Active.add(a) {
		rs.Leave()
		cancel()
		return api.Status{}, core.Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeQueueFull, "%d runs are under way or waiting: send it again later", maxActiveRuns))
	}

	ctx, leave := rs.labeled.admit(ctx, o) // before the caller knows of the run, and may end it
	go func() {
		defer rs.Leave()
		defer leave()
		defer cancel()
		defer release()
		a.Log.Put(ctx, api.EventQueued, api.Status{Run: a.id, State: api.Queued, Created: a.created, Labels: a.labels})
		res, err := rs.Dispatch(ctx, o)
		a.Response.ShrinkTo(res)
		a.finish(rs, o, res, err)
		rs.Active.finished(a)
	}()

	return a.Status(), nil
}

// finish sets the final state of the run and adds the last event.
func (a *activeRun) finish(rs *Runs, o *Request, res api.Result, err error) {
	a.mu.Lock()
	a.state, a.usage = api.Done, nil
	if errors.Is(err, context.Canceled) {
		res, err = o.canceledResult(), nil
	}
	if err != nil {
		a.problem = rs.CountedProblem(err)
	} else {
		a.result = &res
	}

	a.mu.Unlock()
	if err != nil {
		a.Log.Put(rs.Kill, api.EventError, a.problem)
	} else {
		a.Log.Put(rs.Kill, api.EventResult, res)
	}
}

// canceledResult is the result of a run that was canceled before it began, or whose own result was lost
// because its caller left.
func (o *Request) canceledResult() api.Result {
	why := "the run never started"
	if o.callerLeft {
		why = "the run was canceled, and no client waited for its measurements"
	}
	res := api.CanceledResult(o.ID, o.Run.Labels, why)
	res.Network = o.network
	return res
}

// Status returns the state of the run, as callers see it.
func (a *activeRun) Status() api.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return api.Status{Run: a.id, State: a.state, Created: a.created, Labels: a.labels, Usage: a.usage,
		Result: a.result, Error: a.problem}
}

// getRun returns the state of a run.
func (rs *Runs) getRun(w http.ResponseWriter, r *http.Request) error {
	owner, err := core.OwnerOf(r)
	if err != nil {
		return err
	}

	with := r.URL.Query().Get("with")
	if with != "" && with != "request" {
		return api.Refuse(api.CodeBadRequest, "with=%.40q: there is only with=request", with)
	}

	id := r.PathValue("id")
	var status api.Status
	if a := rs.Active.Get(core.CallerOf(r.Context()).Name, id); a != nil {
		if status = a.Status(); status.State == api.Done {
			if status.ReplacedBy, err = rs.Config.History.ReplacedBy(r.Context(), owner, id); err != nil {
				return err
			}
		}
	} else if status, err = rs.PastRun(r.Context(), owner, id); err != nil {
		return err
	}

	if with != "" && status.State == api.Done {
		status.Request, err = rs.Config.History.Request(r.Context(), owner, id)
		if err != nil && !api.HasCode(err, api.CodeNotFound) { // some runs that never began are in no history
			return err
		}
	}

	rs.Reply(w, r, http.StatusOK, status)
	return nil
}

// PastRun returns a run from the history.
func (rs *Runs) PastRun(ctx context.Context, owner history.Scope, id string) (api.Status, error) {
	rec, err := rs.Config.History.Get(ctx, owner, id)
	if err != nil {
		return api.Status{}, err
	}

	s := api.Status{Run: rec.ID, State: api.Done, Created: rec.Created, ReplacedBy: rec.ReplacedBy, Trial: rec.Trial,
		Labels: api.Labels{Project: rec.Project, Task: rec.Task, Run: rec.Run}}
	if rec.Code != "" {
		s.Error = core.Problem(statusOf(rec.Code),
			&api.Error{Code: rec.Code, Message: rec.Message,
				RetrySafe: statusOf(rec.Code) >= http.StatusInternalServerError, Run: rec.ID})
		return s, nil
	}

	s.Result, err = resultOf(rec)
	return s, err
}

func statusOf(code api.Code) int {
	if s, ok := core.Statuses[code]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// resultOf restores the result from a record, as far as it was kept.
func resultOf(rec api.Record) (*api.Result, error) {
	res := &api.Result{Run: rec.ID, Verdict: rec.Verdict, Stage: rec.Stage, ExitCode: rec.ExitCode,
		Signal: rec.Signal, LimitsHit: []string{}}
	if rec.Detail != nil {
		if err := json.Unmarshal(rec.Detail, res); err != nil {
			return nil, err
		}
	}
	if rec.Summary != nil { // even if the detail was left out
		res.Summary = rec.Summary
	}

	res.Stdout, res.StdoutTruncated = rec.Stdout, rec.StdoutTruncated
	res.Stderr, res.StderrTruncated = rec.Stderr, rec.StderrTruncated
	return res, nil
}

// deleteRun cancels a run and answers like getRun. A run that is done stays as it was.
func (rs *Runs) deleteRun(w http.ResponseWriter, r *http.Request) error {
	if a := rs.Active.Get(core.CallerOf(r.Context()).Name, r.PathValue("id")); a != nil {
		a.cancel()
	}
	return rs.getRun(w, r)
}

// ExecuteJob executes a job once, with the limits that its key has now. It waits for a slot that no other request
// can have, however long that takes. That its blobs are the key's was checked when the job was taken: after a
// restart the service does not know whose they are.
func (rs *Runs) ExecuteJob(ctx context.Context, owner string, run api.Run) (api.Result, error) {
	return rs.ExecuteJobOf(ctx, owner, run, Origin{Asked: api.RunRequest{Run: run}})
}

// ExecuteJobOf is ExecuteJob for a job of a batch, which the history remembers with the run.
func (rs *Runs) ExecuteJobOf(ctx context.Context, owner string, run api.Run, from Origin) (api.Result, error) {
	c, err := rs.CallerNamed(owner)
	if err != nil {
		return api.Result{}, err
	}

	o, err := rs.requestOf(c, run, checkOff)
	if err != nil {
		return api.Result{}, err
	}

	if from.Asked.Problem != "" {
		from.Asked = rs.namedProblem(c, from.Asked)
	}
	o.from, o.background = from, true
	if !rs.Enter() {
		return api.Result{}, core.ErrStopping()
	}
	defer rs.Leave()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(rs.Kill, cancel)()

	response := rs.NewAgentResponse(c.Name)
	defer response.Release()

	res, err := rs.Dispatch(response.WithQuota(ctx), o)
	if err != nil {
		return res, core.JobError(err)
	}
	return res, nil
}
