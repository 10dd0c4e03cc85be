package runs

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
	"github.com/brig-sandbox/brig/service/blobs"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/events"
	"github.com/brig-sandbox/brig/service/history"
	"github.com/brig-sandbox/brig/service/packages"
	"github.com/brig-sandbox/brig/service/permits"
	"github.com/brig-sandbox/brig/service/problems"
	"github.com/brig-sandbox/brig/service/queue"
)

// Runs are the runs of programs: from a request to the recorded result, and the active ones.
type Runs struct {
	*core.Core
	blobs    *blobs.Blobs
	permits  *permits.Permits
	installs *packages.Installations
	problems *problems.Problems
	Active   *activeRuns
	labeled  labeled
	alarm    history.Alarm
}

// New makes the runs of a service.
func New(s *core.Core, b *blobs.Blobs, pm *permits.Permits, i *packages.Installations, ps *problems.Problems) *Runs {
	return &Runs{Core: s, blobs: b, permits: pm, installs: i, problems: ps, Active: newActiveRuns()}
}

// Request is one admitted run request, until its result is recorded.
type Request struct {
	ID         string
	Caller     core.Caller
	Run        api.Run
	SourceSize int    // of the source, in bytes
	main       string // name of the source file; empty: the name is in run
	Created    time.Time
	suite      *api.Suite // the suite whose report the run writes; nil: the run is no suite
	active     *activeRun // nil: the caller waits for the result and reads no events

	MaxSlotTime time.Duration // the longest time that it may keep a slot; zero: unknown

	from Origin // what the client asked for, and the job that it belongs to

	check  checkMode
	source []byte // the text to check; its file name is main

	// Fn, if set, is executed in the slot instead of the run. The run then only gives the owner and
	// the language.
	Fn func(context.Context) (api.Result, error)

	releaseBlobs func() // releases the run's blobs; nil: none is held

	Session  string // set for an exec
	Resident bool   // an exec that stays: it waits for no slot and holds none

	background bool // a job of a batch: it waits as long as it takes, and gets no slot that another request can have

	Dialect string // by which it came; empty: brig's own API

	maxWait time.Duration        // for a slot, if that is less than the service's; zero: the service's
	started func()               // called when it has a slot, maybe more than once; nil: nobody asks
	tested  func(api.TestResult) // called with each test as it ends; nil: nobody asks

	wrote func(stderr bool, bytes int) // called with each piece of its output as it arrives; nil: nobody asks

	typed api.Bytes // at the terminal of the run, at once; a run of brig's own API has none

	network *api.NetworkUsage // what the run has reached, once the agent has executed it; nil: it had no network with hosts

	ending *ending // how it is ended by its label; nil: it is not admitted yet, or cannot be

	callerLeft bool // the caller left while the agent executed it; the agent then returned no result
}

// Dispatch dispatches a request: it waits for a slot, has the agent execute the request, and records
// the outcome in the history before the caller gets the result. ctx is canceled when the caller no
// longer wants the result.
func (rs *Runs) Dispatch(ctx context.Context, o *Request) (api.Result, error) {
	ctx, leave := rs.labeled.admit(ctx, o)
	defer leave()

	res, waited, err := rs.runWithPackages(ctx, o)
	runtime.Gosched() // let the next holder of the slot call the agent first: the slot is idle, and the rest of this function needs none
	if err == nil && o.Run.Collect.Blobs {
		refused := rs.blobs.TakeCollected(o.Caller, &res)
		if o.Dialect != "" { // its client reads no res.Skipped: what it names later must be there
			err = refused
		}
	}
	if err == nil {
		rs.Log.Debug("run executed", "run", o.ID, "agent_run", res.Run)
		res.Run, res.Timing.Queued = o.ID, int64(waited)
		for i := range res.Tests {
			res.Tests[i].Result.Run = o.ID // callers of the gateway cannot use the agent's own run id
		}
		diagnose.Annotate(o.Run.Language, o.main, o.source, &res)
	}

	err = outcomeError(ctx, err)
	if api.HasCode(err, api.CodeAgentUnreachable) {
		rs.MarkUnreachable(err)
	}
	if err != nil && o.isEnded() {
		err = context.Canceled // whatever error it caused where it waited
	}
	if cut := rs.cutOff(ctx, res, err); cut != nil {
		err = cut
	}
	if rerr := rs.record(o, res, waited, err); rerr != nil && err == nil {
		return api.Result{}, rerr
	}
	if errors.Is(err, errCutOff) {
		return res, core.OfRun(o.ID, err)
	}
	if err != nil && o.isEnded() { // unlike a caller that has left, this one reads the outcome
		return o.canceledResult(), nil
	}
	if err != nil {
		if p, _ := core.ProblemFor(err); isRecorded(p) {
			err = core.OfRun(o.ID, err)
		}
	}

	return res, err
}

// outcomeError is the error of a request after which ctx may have ended. The end of ctx cuts the connection to the
// agent, and what comes of that says nothing of the agent, nor of the run.
func outcomeError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if p, _ := core.ProblemFor(err); notBegunCodes[p.Code] || p.Code == api.CodeAgentGone {
		return ctx.Err()
	}
	return err
}

// leftDuring reports whether an execution by the agent has no result because ctx ended meanwhile. It may have begun.
func leftDuring(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) || ctx.Err() != nil && api.HasCode(err, api.CodeAgentGone)
}

// withSlot waits for a slot and has the agent execute the request. Others may use the agent as well:
// while all slots of the agent are taken, withSlot keeps its slot in the queue and tries again.
func (rs *Runs) withSlot(ctx, wait context.Context, o *Request) (api.Result, time.Duration, error) {
	if o.Resident {
		res, err := rs.executeRequest(ctx, o)
		o.callerLeft = leftDuring(ctx, err)
		return res, 0, err
	}
	slot, err := rs.acquireSlot(wait, o)
	if err != nil {
		return api.Result{}, 0, rs.NoSlotError(ctx, wait, err)
	}
	defer slot.Release()

	begun := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, core.MaxRetryPause) {
		tried, asked := time.Now(), core.WaitInAgent(wait)
		stopTimer := o.releaseAfterLimit(slot, asked)
		res, err := rs.executeRequest(client.WithWait(ctx, asked), o)
		stopTimer()
		var e *api.Error
		if err == nil || !errors.As(err, &e) || e.Code != api.CodeBusy && e.Code != api.CodeOverloaded {
			o.callerLeft = leftDuring(ctx, err)
			return res, slot.Waited + tried.Sub(begun), err
		}

		select {
		case <-time.After(retryPause(pause, time.Since(tried), asked)):
		case <-wait.Done():
			return res, slot.Waited, rs.NoSlotError(ctx, wait, err)
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
	return max(pause, min(4*took, core.MaxSlowRetryPause))
}

// acquireSlot waits for a slot for the request. The session of an exec counts as in use meanwhile.
func (rs *Runs) acquireSlot(ctx context.Context, o *Request) (*queue.Slot, error) {
	if o.Session == "" {
		return rs.Queue.Take(ctx, o.queueOwner())
	}
	if slot := rs.Queue.TryTake(o.queueOwner()); slot != nil {
		return slot, nil
	}
	waiting, stopUse := context.WithCancel(ctx)
	var useLoop sync.WaitGroup
	useLoop.Go(func() { rs.keepInUse(waiting, o.Session) })
	defer useLoop.Wait()
	defer stopUse()
	return rs.Queue.Take(ctx, o.queueOwner())
}

func (o *Request) queueOwner() queue.Owner {
	return queue.Owner{Key: o.Caller.Name, Project: o.Run.Labels.Project, MaxSlots: o.Caller.Runs,
		MaxWaiting: o.Caller.Waiting, Background: o.background, Request: o.ID}
}

// SlotSlack is the time that the agent needs before and after a program.
const SlotSlack = 2 * time.Second

// releaseAfterLimit releases the slot in the queue when the program's limits have certainly ended it. The
// agent has its slot back by then, but a caller that does not read the output can still delay the
// response (API-15). asked is how long the run may wait for a slot of the agent before it begins. A run with
// many tests may take hours: the agent lets other callers use its slot between two tests, so for such a run
// the slot in the queue is only lent to others.
func (o *Request) releaseAfterLimit(slot *queue.Slot, asked time.Duration) (stop func()) {
	after, do := asked+o.MaxSlotTime+SlotSlack, slot.Release
	switch {
	case len(o.Run.Tests) > 0:
		after, do = lendAfter, slot.Lend
	case o.MaxSlotTime == 0:
		return func() {}
	}
	t := time.AfterFunc(after, do)
	return func() { t.Stop() }
}

// lendAfter is how long a run with tests has its slot exclusively.
const lendAfter = 5 * time.Second

// maxSlotTimeOf is the longest time for which a run without tests may keep its slot. A compile stage may be executed
// twice, and wait for a template in between.
func maxSlotTimeOf(r api.Run) time.Duration {
	if len(r.Tests) > 0 {
		return 0
	}
	unsaid := api.DefaultCeiling().Wall
	return time.Duration(cmp.Or(r.Limits.Wall, unsaid)) + 2*time.Duration(cmp.Or(r.CompileLimits.Wall, unsaid)) +
		api.TemplateWait
}

// executeRequest has the agent execute the request. It creates events if a client may read them.
func (rs *Runs) executeRequest(ctx context.Context, o *Request) (api.Result, error) {
	response := core.AgentResponseOf(ctx)
	if o.Fn != nil {
		response.AllowThinning()
		res, err := o.Fn(ctx)
		response.Finish(&res)
		return res, err
	}

	findings, err := rs.checked(ctx, o)
	if err != nil {
		return api.Result{}, err
	}

	if o.started != nil {
		o.started()
	}
	response.AllowThinning()
	res, err := rs.executeRun(ctx, o)
	if o.suite != nil && err == nil {
		res = suite.Read(*o.suite, res)
	}

	response.Finish(&res)
	res.Findings = findings
	return res, err
}

// executeRun executes a run whose source has passed the check.
func (rs *Runs) executeRun(ctx context.Context, o *Request) (api.Result, error) {
	a := o.active
	switch {
	case a == nil && len(o.Run.Tests) > 0:
		return rs.executeTests(ctx, o)
	case o.Run.TTY != nil:
		return rs.executeAtTerminal(ctx, o)
	case reachesHosts(o.Run):
		return rs.executeWithNetwork(ctx, o)
	case o.wrote != nil:
		return rs.executeInOrder(ctx, o)
	case a == nil:
		return rs.Config.Agent.Run(ctx, o.Run)
	case o.Run.StdinBlob != "": // the agent has stdin: there are no events while the run lasts
		if a.markRunning() {
			a.Log.Put(ctx, api.EventStarted, struct{}{})
		}
		return rs.Config.Agent.Run(ctx, o.Run)
	}

	return rs.executeWithEvents(ctx, o, nil)
}

// executeWithEvents executes a run whose events a client may read. network gets the sockets of its
// network.
func (rs *Runs) executeWithEvents(ctx context.Context, o *Request, network func([]*os.File)) (api.Result, error) {
	a := o.active
	a.markRunning()
	run, stdin := o.Run, io.Reader(bytes.NewReader(o.Run.Stdin))
	run.Stdin = nil
	out, errs := a.stream(ctx, api.EventStdout), a.stream(ctx, api.EventStderr)
	started := sync.OnceFunc(func() { a.Log.Put(ctx, api.EventStarted, struct{}{}) })
	res, err := rs.Config.Agent.RunEvents(ctx, run, stdin, client.Events{
		Stdout: out, Stderr: errs, Network: network,
		Started:  started,
		Compiled: func(c api.Compilation) { a.Log.Put(ctx, api.EventCompiled, c) },
		// The first message about a run with tests may be that a test has begun.
		Test:  func(t api.TestResult) { started(); t.Result.Run = o.ID; a.Log.Put(ctx, api.EventTest, t) },
		Usage: func(u api.LiveUsage) { started(); a.setUsage(u); a.Log.Put(ctx, api.EventUsage, u) },
	})

	FinishStreams(&res, out, errs)
	return res, err
}

// executeTests reads the result of each test separately: together they can exceed the maximum size of
// one response, and then only those that do not fit are thinned.
func (rs *Runs) executeTests(ctx context.Context, o *Request) (api.Result, error) {
	res, err := rs.Config.Agent.RunEvents(ctx, o.Run, nil, client.Events{Test: o.tested})
	if ctx.Err() != nil { // the caller left: return that error, as Agent.Run does
		return api.Result{}, ctx.Err()
	}
	return res, err
}

// A StreamEvent is a piece of the program's output. It is cut between characters.
type StreamEvent struct {
	Data api.Bytes `json:"data"`
}

// A TeeStream forwards output as events and keeps the beginning of the output.
type TeeStream struct {
	events.Splitter
	kept      api.Bytes
	truncated bool
}

// NewTeeStream makes a stream that forwards output to put.
func NewTeeStream(put func(api.Bytes)) *TeeStream {
	k := new(TeeStream)
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

// FinishStreams ends the streams and puts the kept beginnings into the result. The output of a compile
// stage is in the result already, and a run that failed has no output.
func FinishStreams(res *api.Result, out, errs *TeeStream) {
	out.Flush()
	errs.Flush()
	if res.Stage == api.StageRun {
		res.Stdout, res.StdoutTruncated = out.kept, res.StdoutTruncated || out.truncated
		res.Stderr, res.StderrTruncated = errs.kept, res.StderrTruncated || errs.truncated
	}
}

func (a *activeRun) stream(ctx context.Context, name api.EventName) *TeeStream {
	return NewTeeStream(func(b api.Bytes) { a.Log.Put(ctx, name, StreamEvent{Data: b}) })
}

// runWithPackages waits for a slot and has the agent execute a request, whose packages it has installed
// if they are missing.
func (rs *Runs) runWithPackages(ctx context.Context,
	o *Request) (res api.Result, waited time.Duration, err error) {
	r := api.PackageRequest{Language: o.Run.Language, Requirements: o.Run.Requirements, Index: o.Run.Index}
	res, err = packages.With(ctx, rs.installs, o.Caller, r, func() (res api.Result, err error) {
		wait, stopWaiting := rs.slotWait(ctx, o)
		defer stopWaiting()
		res, waited, err = rs.withSlot(ctx, wait, o)
		return res, err
	})
	res.Packages = packages.PackagesView(res.Packages)
	return res, waited, err
}

// slotWait returns a context that ends when a request waits no longer for a slot.
func (rs *Runs) slotWait(ctx context.Context, o *Request) (wait context.Context, stop func()) {
	if !o.background {
		longest := rs.Config.Wait
		if o.maxWait > 0 {
			longest = min(longest, o.maxWait)
		}
		return context.WithTimeoutCause(ctx, longest, core.WaitTimeout(longest))
	}
	wait, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(rs.Stopping, func() { cancel(core.ErrStop) })
	return wait, func() { unwatch(); cancel(nil) }
}

// keepInUse marks a session as used until ctx is done: an exec that waits for its slot uses the
// session, but the agent does not know of it yet.
func (rs *Runs) keepInUse(ctx context.Context, id string) {
	for {
		s, err := rs.Config.Agent.UseSession(ctx, id)
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
