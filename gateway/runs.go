package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/history"
)

// postRun carries out a Run: while the caller waits, or, if he asks for that, by
// itself.
func (g *Gateway) postRun(w http.ResponseWriter, r *http.Request) error {
	alone, err := wantsAlone(r)
	if err != nil {
		return err
	}
	raw, release, err := g.readBody(w, r)
	if err != nil {
		return err
	}
	defer func() { release() }()
	run, err := parsed(g, r.Context(), raw, api.ParseRun)
	if err != nil {
		return err
	}
	o, err := g.order(r, run)
	if err != nil {
		return err
	}
	body := release
	release = func() { o.letGo(); body() }
	if !alone {
		ctx, done, err := g.wanted(r)
		if err != nil {
			return err
		}
		defer done()
		res, err := g.carry(ctx, o)
		large := o.large
		defer large.leave()
		if err != nil {
			return err
		}
		release() // the request is not needed any more, however long the answer takes
		w.Header().Set("Content-Type", "application/json")
		v, had := large.answer(res)
		g.send(w, r, http.StatusOK, v, had)
		return nil
	}
	status, err := g.begin(o, release)
	if err != nil {
		return err
	}
	release = func() {} // the run's now
	w.Header().Set("Location", "/v1/runs/"+o.id)
	g.reply(w, r, http.StatusAccepted, status)
	return nil
}

// wantsAlone reports whether the caller does not want to wait: ?wait=false, or the
// header Prefer: respond-async (RFC 7240).
func wantsAlone(r *http.Request) (bool, error) {
	if v := r.URL.Query().Get("wait"); v != "" {
		wait, err := strconv.ParseBool(v)
		if err != nil {
			return false, api.Refuse(api.CodeBadRequest, "wait=%.20q: write true or false", v)
		}
		return !wait, nil
	}
	return strings.Contains(r.Header.Get("Prefer"), "respond-async"), nil
}

// order makes a checked order of a run, whose blobs are held until its letGo is called.
func (g *Gateway) order(r *http.Request, run api.Run) (*order, error) {
	mode, err := checkModeOf(r)
	if err != nil {
		return nil, err
	}
	if err := run.Validate(); err != nil {
		return nil, err
	}
	run.Language = g.agent.language(run.Language)
	c := callerOf(r.Context())
	if run, err = g.permitRun(c, run); err != nil {
		return nil, err
	}
	letGo, missing := g.blobs.hold(c.Name, blobsOf(run)) // the last step: what is held is to be let go
	if missing != "" {
		return nil, noBlob(missing)
	}
	return &order{id: runID(), letGo: letGo, caller: c, run: run, size: len(run.Source), main: run.SourceName, source: run.Source, check: mode, longest: longestOf(run), created: time.Now()}, nil
}

// begin carries an order out by itself, and then calls release.
func (g *Gateway) begin(o *order, release func()) (api.Status, error) {
	if err := g.queue.Refuses(o.who()); err != nil {
		return api.Status{}, err
	}
	ctx, cancel := context.WithCancel(g.kill)
	a := &active{id: o.id, owner: o.caller.Name, labels: o.run.Labels, created: o.created, cancel: cancel, state: api.Queued,
		arrived: g.arrival(o.caller.Name), events: &room{of: g.answers, key: o.caller.Name}}
	a.feed = newFeed(func() bool { return a.events.try(feedMax + bigAnswer) })
	ctx = a.arrived.watch(ctx)
	o.active = a
	if !g.enter() {
		cancel()
		return api.Status{}, errStopping()
	}
	if !g.runs.add(a) {
		g.wg.Done()
		cancel()
		return api.Status{}, problem(http.StatusTooManyRequests, api.Fail(api.CodeQueueFull, "%d runs are under way or waiting: send it again later", activeMax))
	}
	go func() {
		defer g.wg.Done()
		defer cancel()
		defer release()
		a.feed.put(ctx, api.EventQueued, api.Status{Run: a.id, State: api.Queued, Created: a.created, Labels: a.labels})
		res, err := g.carry(ctx, o)
		a.arrived.holds(res)
		a.done(g, o, res, err)
		g.runs.finished(a)
	}()
	return a.status(), nil
}

// done tells how it ended.
func (a *active) done(g *Gateway, o *order, res api.Result, err error) {
	a.mu.Lock()
	a.state, a.usage = api.Done, nil
	if errors.Is(err, context.Canceled) {
		res, err = o.takenBack(), nil
	}
	if err != nil {
		a.problem = g.failed(err)
	} else {
		a.result = &res
	}
	a.mu.Unlock()
	if err != nil {
		a.feed.put(g.kill, api.EventError, a.problem)
	} else {
		a.feed.put(g.kill, api.EventResult, res)
	}
}

// takenBack is the result of a run that was canceled before it began, or whose own
// result nobody waited for.
func (o *order) takenBack() api.Result {
	none := api.Unknown("the run never began")
	if o.left {
		none = api.Unknown("the run was canceled, and nobody waited for its figures")
	}
	return api.Result{
		Run: o.id, Verdict: api.Canceled, Stage: api.StageRun, LimitsHit: []string{}, Labels: o.run.Labels,
		Usage: api.Usage{CPU: none, User: none, System: none, Memory: none, MaxRSS: none, Pids: none, OOMKills: none, ForksRefused: none},
	}
}

func (a *active) status() api.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return api.Status{Run: a.id, State: a.state, Created: a.created, Labels: a.labels, Usage: a.usage, Result: a.result, Error: a.problem}
}

// getRun tells how far a run is.
func (g *Gateway) getRun(w http.ResponseWriter, r *http.Request) error {
	whose, err := whoseOf(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if a := g.runs.get(callerOf(r.Context()).Name, id); a != nil {
		g.reply(w, r, http.StatusOK, a.status())
		return nil
	}
	status, err := g.past(r.Context(), whose, id)
	if err != nil {
		return err
	}
	g.reply(w, r, http.StatusOK, status)
	return nil
}

// past is a run as the history has it.
func (g *Gateway) past(ctx context.Context, whose history.Whose, id string) (api.Status, error) {
	rec, err := g.cfg.History.Get(ctx, whose, id)
	if err != nil {
		return api.Status{}, err
	}
	s := api.Status{Run: rec.ID, State: api.Done, Created: rec.Created, Labels: api.Labels{Project: rec.Project, Task: rec.Task}}
	if rec.Code != "" {
		s.Error = problem(statusOf(rec.Code), &api.Error{Code: rec.Code, Message: rec.Message, RetrySafe: statusOf(rec.Code) >= http.StatusInternalServerError, Run: rec.ID})
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

// resultOf gives back the result that a record was made of, as far as it was kept.
func resultOf(rec api.Record) (*api.Result, error) {
	res := &api.Result{Run: rec.ID, Verdict: rec.Verdict, Stage: rec.Stage, ExitCode: rec.ExitCode, Signal: rec.Signal, LimitsHit: []string{}}
	if rec.Detail != nil {
		if err := json.Unmarshal(rec.Detail, res); err != nil {
			return nil, err
		}
	}
	if rec.Summary != nil { // also where the detail was left out
		res.Summary = rec.Summary
	}
	res.Stdout, res.StdoutTruncated = rec.Stdout, rec.StdoutTruncated
	res.Stderr, res.StderrTruncated = rec.Stderr, rec.StderrTruncated
	return res, nil
}

// deleteRun cancels a run, and tells like getRun. One that is done stays as it was.
func (g *Gateway) deleteRun(w http.ResponseWriter, r *http.Request) error {
	if a := g.runs.get(callerOf(r.Context()).Name, r.PathValue("id")); a != nil {
		a.cancel()
	}
	return g.getRun(w, r)
}
