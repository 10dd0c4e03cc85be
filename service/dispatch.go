package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose"
	"github.com/brig-sandbox/brig/judge/suite"
	"github.com/brig-sandbox/brig/service/events"
	"github.com/brig-sandbox/brig/service/history"
	"github.com/brig-sandbox/brig/service/queue"
)

// runs are the runs of programs: from a request to the recorded result, and the active ones.
type runs struct {
	*core
	blobs    *blobs
	permits  *permits
	installs *installations
	problems *storedProblems
	active   *activeRuns
	alarm    history.Alarm
}

func newRuns(s *core, b *blobs, pm *permits, i *installations, ps *storedProblems) *runs {
	return &runs{core: s, blobs: b, permits: pm, installs: i, problems: ps, active: newActiveRuns()}
}

// runRequest is one admitted run request, until its result is recorded.
type runRequest struct {
	id         string
	caller     caller
	run        api.Run
	sourceSize int    // of the source, in bytes
	main       string // name of the source file; empty: the name is in run
	created    time.Time
	suite      *api.Suite // the suite whose report the run writes; nil: the run is no suite
	active     *activeRun // nil: the caller waits for the result and reads no events

	maxSlotTime time.Duration // the longest time that it may keep a slot; zero: unknown

	check  checkMode
	source []byte // the text to check; its file name is main

	// fn, if set, is executed in the slot instead of the run. The run then only gives the owner and
	// the language.
	fn func(context.Context) (api.Result, error)

	releaseBlobs func() // releases the run's blobs; nil: none is held

	session string // set for an exec

	background bool // a job of a batch: it waits as long as it takes, and gets no slot that another request can have

	network *api.NetworkUsage // what the run has reached, once the agent has executed it; nil: it had no network with hosts

	callerLeft bool // the caller left while the agent executed it; the agent then returned no result
}

// dispatch dispatches a request: it waits for a slot, has the agent execute the request, and records
// the outcome in the history before the caller gets the result. ctx is canceled when the caller no
// longer wants the result.
func (rs *runs) dispatch(ctx context.Context, o *runRequest) (api.Result, error) {
	res, waited, err := rs.runWithPackages(ctx, o)
	runtime.Gosched() // let the next holder of the slot call the agent first: the slot is idle, and the rest of this function needs none
	if err == nil {
		rs.log.Debug("run executed", "run", o.id, "agent_run", res.Run)
		res.Run, res.Timing.Queued = o.id, int64(waited)
		for i := range res.Tests {
			res.Tests[i].Result.Run = o.id // callers of the gateway cannot use the agent's own run id
		}
		diagnose.Annotate(o.run.Language, o.main, o.source, &res)
	}

	var e *api.Error
	if errors.As(err, &e) && e.Code == api.CodeAgentUnreachable {
		rs.markUnreachable(err)
	}
	if err != nil && ctx.Err() != nil {
		if p, _ := problemFor(err); notBegunCodes[p.Code] {
			err = ctx.Err() // it was canceled before it began, whatever error the agent returned
		}
	}
	if cut := rs.cutOff(ctx, res, err); cut != nil {
		err = cut
	}
	if rerr := rs.record(o, res, waited, err); rerr != nil && err == nil {
		return api.Result{}, rerr
	}
	if errors.Is(err, errCutOff) {
		return res, &runError{o.id, err}
	}
	if err != nil {
		if p, _ := problemFor(err); isRecorded(p) {
			err = &runError{o.id, err}
		}
	}

	return res, err
}

// withSlot waits for a slot and has the agent execute the request. Others may use the agent as well:
// while all slots of the agent are taken, withSlot keeps its slot in the queue and tries again.
func (rs *runs) withSlot(ctx, wait context.Context, o *runRequest) (api.Result, time.Duration, error) {
	slot, err := rs.acquireSlot(wait, o)
	if err != nil {
		return api.Result{}, 0, rs.noSlotError(ctx, wait, err)
	}
	defer slot.Release()

	begun := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, maxRetryPause) {
		tried, asked := time.Now(), waitInAgent(wait)
		stopTimer := o.releaseAfterLimit(slot, asked)
		res, err := rs.executeRequest(client.WithWait(ctx, asked), o)
		stopTimer()
		var e *api.Error
		if err == nil || !errors.As(err, &e) || e.Code != api.CodeBusy && e.Code != api.CodeOverloaded {
			o.callerLeft = errors.Is(err, context.Canceled)
			return res, slot.Waited + tried.Sub(begun), err
		}

		select {
		case <-time.After(retryPause(pause, time.Since(tried), asked)):
		case <-wait.Done():
			return res, slot.Waited, rs.noSlotError(ctx, wait, err)
		}
	}
}

// retryPause is the pause after a refused attempt that took the given time and asked for a wait in the
// agent. It limits sending and parsing a large request again and again to a fifth of a processor
// (TestALargeRequestIsSentAgainLessOften). A refusal before the end of the wait came at once.
func retryPause(pause, took, asked time.Duration) time.Duration {
	if took >= asked {
		took -= asked
	}
	return max(pause, min(4*took, maxSlowRetryPause))
}

// acquireSlot waits for a slot for the request. The session of an exec counts as in use meanwhile.
func (rs *runs) acquireSlot(ctx context.Context, o *runRequest) (*queue.Slot, error) {
	if o.session == "" {
		return rs.queue.Take(ctx, o.queueOwner())
	}
	if slot := rs.queue.TryTake(o.queueOwner()); slot != nil {
		return slot, nil
	}
	waiting, stopUse := context.WithCancel(ctx)
	var useLoop sync.WaitGroup
	useLoop.Go(func() { rs.keepInUse(waiting, o.session) })
	defer useLoop.Wait()
	defer stopUse()
	return rs.queue.Take(ctx, o.queueOwner())
}

func (o *runRequest) queueOwner() queue.Owner {
	return queue.Owner{Key: o.caller.Name, Project: o.run.Labels.Project, MaxSlots: o.caller.Runs,
		MaxWaiting: o.caller.Waiting, Background: o.background}
}

// slotSlack is the time that the agent needs before and after a program.
const slotSlack = 2 * time.Second

// releaseAfterLimit releases the slot in the queue when the program's limits have certainly ended it. The
// agent has its slot back by then, but a caller that does not read the output can still delay the
// response (API-15). asked is how long the run may wait for a slot of the agent before it begins. A run with
// many tests may take hours: the agent lets other callers use its slot between two tests, so for such a run
// the slot in the queue is only lent to others.
func (o *runRequest) releaseAfterLimit(slot *queue.Slot, asked time.Duration) (stop func()) {
	after, do := asked+o.maxSlotTime+slotSlack, slot.Release
	switch {
	case len(o.run.Tests) > 0:
		after, do = lendAfter, slot.Lend
	case o.maxSlotTime == 0:
		return func() {}
	}
	t := time.AfterFunc(after, do)
	return func() { t.Stop() }
}

// lendAfter is how long a run with tests has its slot exclusively.
const lendAfter = 5 * time.Second

// maxSlotTimeOf is the longest time for which a run without tests may keep its slot.
func maxSlotTimeOf(r api.Run) time.Duration {
	if len(r.Tests) > 0 {
		return 0
	}
	unsaid := api.DefaultCeiling().Wall
	return time.Duration(cmp.Or(r.Limits.Wall, unsaid)) + time.Duration(cmp.Or(r.CompileLimits.Wall, unsaid))
}

// executeRequest has the agent execute the request. It creates events if a client may read them.
func (rs *runs) executeRequest(ctx context.Context, o *runRequest) (api.Result, error) {
	response := agentResponseOf(ctx)
	if o.fn != nil {
		response.allowThinning()
		res, err := o.fn(ctx)
		response.finish(&res)
		return res, err
	}

	findings, err := rs.checked(ctx, o)
	if err != nil {
		return api.Result{}, err
	}

	response.allowThinning()
	res, err := rs.executeRun(ctx, o)
	if o.suite != nil && err == nil {
		res = suite.Read(*o.suite, res)
	}

	response.finish(&res)
	res.Findings = findings
	return res, err
}

// executeRun executes a run whose source has passed the check.
func (rs *runs) executeRun(ctx context.Context, o *runRequest) (api.Result, error) {
	a := o.active
	switch {
	case a == nil && len(o.run.Tests) > 0:
		return rs.executeTests(ctx, o.run)
	case reachesHosts(o.run):
		return rs.executeWithNetwork(ctx, o)
	case a == nil:
		return rs.cfg.Agent.Run(ctx, o.run)
	case o.run.StdinBlob != "": // the agent has stdin: there are no events while the run lasts
		if a.markRunning() {
			a.log.Put(ctx, api.EventStarted, struct{}{})
		}
		return rs.cfg.Agent.Run(ctx, o.run)
	}

	return rs.executeWithEvents(ctx, o, nil)
}

// executeWithEvents executes a run whose events a client may read. network gets the sockets of its
// network.
func (rs *runs) executeWithEvents(ctx context.Context, o *runRequest, network func([]*os.File)) (api.Result, error) {
	a := o.active
	a.markRunning()
	run, stdin := o.run, io.Reader(bytes.NewReader(o.run.Stdin))
	run.Stdin = nil
	out, errs := a.stream(ctx, api.EventStdout), a.stream(ctx, api.EventStderr)
	started := sync.OnceFunc(func() { a.log.Put(ctx, api.EventStarted, struct{}{}) })
	res, err := rs.cfg.Agent.RunEvents(ctx, run, stdin, client.Events{
		Stdout: out, Stderr: errs, Network: network,
		Started:  started,
		Compiled: func(c api.Compilation) { a.log.Put(ctx, api.EventCompiled, c) },
		// The first message about a run with tests may be that a test has begun.
		Test:  func(t api.TestResult) { started(); t.Result.Run = o.id; a.log.Put(ctx, api.EventTest, t) },
		Usage: func(u api.LiveUsage) { started(); a.setUsage(u); a.log.Put(ctx, api.EventUsage, u) },
	})

	finishStreams(&res, out, errs)
	return res, err
}

// executeTests reads the result of each test separately: together they can exceed the maximum size of
// one response, and then only those that do not fit are thinned.
func (rs *runs) executeTests(ctx context.Context, run api.Run) (api.Result, error) {
	res, err := rs.cfg.Agent.RunEvents(ctx, run, nil, client.Events{})
	if ctx.Err() != nil { // the caller left: return that error, as Agent.Run does
		return api.Result{}, ctx.Err()
	}
	return res, err
}

// A streamEvent is a piece of the program's output. It is cut between characters.
type streamEvent struct {
	Data api.Bytes `json:"data"`
}

// A teeStream forwards output as events and keeps the beginning of the output.
type teeStream struct {
	events.Splitter
	kept      api.Bytes
	truncated bool
}

func newTeeStream(put func(api.Bytes)) *teeStream {
	k := new(teeStream)
	k.Put = func(b api.Bytes) {
		space := int(history.MaxStream) - len(k.kept)
		if len(b) > space {
			k.truncated = true
		}
		k.kept = append(k.kept, b[:min(len(b), space)]...)
		put(b)
	}
	return k
}

// finishStreams ends the streams and puts the kept beginnings into the result. The output of a compile
// stage is in the result already, and a run that failed has no output.
func finishStreams(res *api.Result, out, errs *teeStream) {
	out.Flush()
	errs.Flush()
	if res.Stage == api.StageRun {
		res.Stdout, res.StdoutTruncated = out.kept, res.StdoutTruncated || out.truncated
		res.Stderr, res.StderrTruncated = errs.kept, res.StderrTruncated || errs.truncated
	}
}

func (a *activeRun) stream(ctx context.Context, name api.EventName) *teeStream {
	return newTeeStream(func(b api.Bytes) { a.log.Put(ctx, name, streamEvent{b}) })
}

// runWithPackages waits for a slot and has the agent execute a request, whose packages it has installed
// if they are missing.
func (rs *runs) runWithPackages(ctx context.Context,
	o *runRequest) (res api.Result, waited time.Duration, err error) {
	r := api.PackageRequest{Language: o.run.Language, Requirements: o.run.Requirements, Index: o.run.Index}
	res, err = withPackages(ctx, rs.installs, o.caller, r, func() (res api.Result, err error) {
		wait, stopWaiting := rs.slotWait(ctx, o)
		defer stopWaiting()
		res, waited, err = rs.withSlot(ctx, wait, o)
		return res, err
	})
	res.Packages = packagesView(res.Packages)
	return res, waited, err
}

// slotWait returns a context that ends when a request waits no longer for a slot.
func (rs *runs) slotWait(ctx context.Context, o *runRequest) (wait context.Context, stop func()) {
	if !o.background {
		return context.WithTimeoutCause(ctx, rs.cfg.Wait, errWaitTimeout)
	}
	wait, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(rs.stopping, func() { cancel(errStop) })
	return wait, func() { unwatch(); cancel(nil) }
}

// keepInUse marks a session as used until ctx is done: an exec that waits for its slot uses the
// session, but the agent does not know of it yet.
func (rs *runs) keepInUse(ctx context.Context, id string) {
	for {
		s, err := rs.cfg.Agent.UseSession(ctx, id)
		if err != nil {
			return // the exec gets the error
		}
		select {
		case <-time.After(time.Duration(s.Idle) / 3):
		case <-ctx.Done():
			return
		}
	}
}
