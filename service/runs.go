package service

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/judge/suite"
	"github.com/brig-sandbox/brig/service/events"
	"github.com/brig-sandbox/brig/service/history"
)

// postRun executes a Run: synchronously, or in the background if the caller requests that.
func (rs *runs) postRun(w http.ResponseWriter, r *http.Request) error {
	async, err := wantsAsync(r)
	if err != nil {
		return err
	}

	raw, release, err := rs.readBody(w, r)
	if err != nil {
		return err
	}
	defer func() { release() }()

	ask, err := parseBody(rs.core, r.Context(), raw, decode.RunRequest)
	if err != nil {
		return err
	}

	run, free, err := rs.problems.problemRun(r.Context(), ask, len(raw) > largeBodyMin)
	if err != nil {
		return err
	}

	read := release
	release = func() { free(); read() }
	o, err := rs.newRequest(r, run)
	if err != nil {
		return err
	}

	body := release
	release = func() { o.releaseBlobs(); body() }
	if !async {
		ctx, done, err := rs.track(r)
		if err != nil {
			return err
		}
		defer done()
		res, err := rs.dispatch(ctx, o)
		if err != nil {
			return err
		}
		release() // the request is no longer needed, however long sending the response takes
		rs.reply(w, r, http.StatusOK, res)
		return nil
	}

	status, err := rs.dispatchAsync(o, release)
	if err != nil {
		return err
	}

	release = func() {} // now owned by the run
	w.Header().Set("Location", "/v1/runs/"+o.id)
	rs.reply(w, r, http.StatusAccepted, status)
	return nil
}

// wantsAsync reports whether the caller does not wait for the run: ?wait=false, or the header
// Prefer: respond-async (RFC 7240).
func wantsAsync(r *http.Request) (bool, error) {
	if v := r.URL.Query().Get("wait"); v != "" {
		wait, err := strconv.ParseBool(v)
		if err != nil {
			return false, api.Refuse(api.CodeBadRequest, "wait=%.20q: write true or false", v)
		}
		return !wait, nil
	}
	return strings.Contains(r.Header.Get("Prefer"), "respond-async"), nil
}

// newRequest creates a validated request of a run. The run's blobs are held until releaseBlobs is called.
func (rs *runs) newRequest(r *http.Request, run api.Run) (*runRequest, error) {
	mode, err := checkModeOf(r)
	if err != nil {
		return nil, err
	}
	c := callerOf(r.Context())
	o, err := rs.requestOf(c, run, mode)
	if err != nil {
		return nil, err
	}
	o.releaseBlobs, err = rs.blobs.pin(c.Name, o.run.Blobs()) // the last step: an error after it would have to release the blobs
	return o, err
}

// requestOf creates a validated request of a run that a caller may have executed, if its blobs are the caller's.
func (rs *runs) requestOf(c caller, run api.Run, mode checkMode) (o *runRequest, err error) {
	if err := run.Validate(); err != nil {
		return nil, err
	}

	run.Language = rs.agent.resolveAlias(run.Language)
	o = &runRequest{id: runID(), caller: c, sourceSize: len(run.Source), main: run.SourceName, source: run.Source,
		check: mode, suite: run.Suite, created: time.Now()}
	if o.suite != nil { // the agent runs its command, and the report is read here, without privilege
		if run, err = suite.Prepare(run); err != nil {
			return nil, err
		}
	}
	if o.run, err = rs.permits.run(c, run); err != nil {
		return nil, err
	}

	o.maxSlotTime = maxSlotTimeOf(o.run)
	return o, nil
}

// dispatchAsync dispatches a request in the background, and calls release when it has ended.
func (rs *runs) dispatchAsync(o *runRequest, release func()) (api.Status, error) {
	if err := rs.queue.Refuses(o.queueOwner()); err != nil {
		return api.Status{}, err
	}

	ctx, cancel := context.WithCancel(rs.kill)
	a := &activeRun{id: o.id, owner: o.caller.Name, labels: o.run.Labels, created: o.created,
		cancel: cancel, state: api.Queued,
		response: rs.newAgentResponse(o.caller.Name), eventQuota: rs.responses.reservation(o.caller.Name)}
	a.log = events.NewLog(largeResponseMin, func() bool { return a.eventQuota.TryGrow(events.MaxSize + largeResponseMin) })
	ctx = a.response.withQuota(ctx)
	o.active = a
	if !rs.enter() {
		cancel()
		return api.Status{}, errStopping()
	}
	if !rs.active.add(a) {
		rs.leave()
		cancel()
		return api.Status{}, problem(http.StatusTooManyRequests,
			api.Fail(api.CodeQueueFull, "%d runs are under way or waiting: send it again later", maxActiveRuns))
	}

	go func() {
		defer rs.leave()
		defer cancel()
		defer release()
		a.log.Put(ctx, api.EventQueued, api.Status{Run: a.id, State: api.Queued, Created: a.created, Labels: a.labels})
		res, err := rs.dispatch(ctx, o)
		a.response.shrinkTo(res)
		a.finish(rs, o, res, err)
		rs.active.finished(a)
	}()

	return a.status(), nil
}

// finish sets the final state of the run and adds the last event.
func (a *activeRun) finish(rs *runs, o *runRequest, res api.Result, err error) {
	a.mu.Lock()
	a.state, a.usage = api.Done, nil
	if errors.Is(err, context.Canceled) {
		res, err = o.canceledResult(), nil
	}
	if err != nil {
		a.problem = rs.countedProblem(err)
	} else {
		a.result = &res
	}

	a.mu.Unlock()
	if err != nil {
		a.log.Put(rs.kill, api.EventError, a.problem)
	} else {
		a.log.Put(rs.kill, api.EventResult, res)
	}
}

// canceledResult is the result of a run that was canceled before it began, or whose own result was lost
// because its caller left.
func (o *runRequest) canceledResult() api.Result {
	none := api.Unknown("the run never started")
	if o.callerLeft {
		none = api.Unknown("the run was canceled, and no client waited for its measurements")
	}
	return api.Result{
		Run: o.id, Verdict: api.Canceled, Stage: api.StageRun, LimitsHit: []string{},
		Labels: o.run.Labels, Network: o.network,
		Usage: api.Usage{CPU: none, User: none, System: none, Memory: none, MaxRSS: none, Pids: none,
			OOMKills: none, ForksRefused: none},
	}
}

func (a *activeRun) status() api.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return api.Status{Run: a.id, State: a.state, Created: a.created, Labels: a.labels, Usage: a.usage,
		Result: a.result, Error: a.problem}
}

// getRun returns the state of a run.
func (rs *runs) getRun(w http.ResponseWriter, r *http.Request) error {
	owner, err := ownerOf(r)
	if err != nil {
		return err
	}

	id := r.PathValue("id")
	if a := rs.active.get(callerOf(r.Context()).Name, id); a != nil {
		rs.reply(w, r, http.StatusOK, a.status())
		return nil
	}

	status, err := rs.pastRun(r.Context(), owner, id)
	if err != nil {
		return err
	}

	rs.reply(w, r, http.StatusOK, status)
	return nil
}

// pastRun returns a run from the history.
func (rs *runs) pastRun(ctx context.Context, owner history.Scope, id string) (api.Status, error) {
	rec, err := rs.cfg.History.Get(ctx, owner, id)
	if err != nil {
		return api.Status{}, err
	}

	s := api.Status{Run: rec.ID, State: api.Done, Created: rec.Created,
		Labels: api.Labels{Project: rec.Project, Task: rec.Task}}
	if rec.Code != "" {
		s.Error = problem(statusOf(rec.Code),
			&api.Error{Code: rec.Code, Message: rec.Message,
				RetrySafe: statusOf(rec.Code) >= http.StatusInternalServerError, Run: rec.ID})
		return s, nil
	}

	s.Result, err = resultOf(rec)
	return s, err
}

func statusOf(code api.Code) int {
	if s, ok := statuses[code]; ok {
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
func (rs *runs) deleteRun(w http.ResponseWriter, r *http.Request) error {
	if a := rs.active.get(callerOf(r.Context()).Name, r.PathValue("id")); a != nil {
		a.cancel()
	}
	return rs.getRun(w, r)
}

// executeJob executes a job once, with the limits that its key has now. It waits for a slot that no other request
// can have, however long that takes. That its blobs are the key's was checked when the job was taken: after a
// restart the service does not know whose they are.
func (rs *runs) executeJob(ctx context.Context, owner string, run api.Run) (api.Result, error) {
	c, err := rs.callerNamed(owner)
	if err != nil {
		return api.Result{}, err
	}

	o, err := rs.requestOf(c, run, checkOff)
	if err != nil {
		return api.Result{}, err
	}

	o.background = true
	if !rs.enter() {
		return api.Result{}, errStopping()
	}
	defer rs.leave()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(rs.kill, cancel)()

	response := rs.newAgentResponse(c.Name)
	defer response.release()

	res, err := rs.dispatch(response.withQuota(ctx), o)
	if err != nil {
		return res, jobError(err)
	}
	return res, nil
}
