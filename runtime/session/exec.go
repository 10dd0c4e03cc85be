package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/runtime/calls"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
	"github.com/brig-sandbox/brig/runtime/run"
)

// execContext is one exec under way in its session.
type execContext struct {
	session   *session
	leaf      *groups.Leaf
	clockWord uint32     // index of its word in the clock page
	resident  bool       // it stays, and leases no slot
	slot      *pool.Slot // the slot it leases; nil: none. Guarded by session.mu
	hits      int64      // hits of the session's memory limit before it began
	calls     filteredCalls
}

// Exec executes one program in a session and reports how its main process ended. It waits for a
// slot like a test does: the admission of the session is its admission. The error is an *api.Error.
// It is non-nil only when brig refused or failed, or when the session ended before the exec began:
// an exec that had begun is reported as canceled then.
func (r *Registry) Exec(ctx context.Context, id string, e api.Exec, io api.Streams, c api.Caller) (api.Result, error) {
	s, err := r.find(id, c)
	if err != nil {
		return api.Result{}, err
	}

	p, compile, err := r.runner.Planner.Exec(s.plan, e)
	if err != nil {
		return api.Result{}, run.APIError(err, "")
	}
	if s.volume != nil {
		p.Volume = s.volume.Size
	}

	streams := run.Streams{Streams: io, Retention: run.NewRetention(io)}
	res, err := s.exec(ctx, p, compile, streams)
	streams.Retention.Finish(&res)
	if err != nil {
		return api.Result{}, run.ToAPIError(r.log, err, p.ID)
	}
	return res, nil
}

// exec takes a plan through its stages.
func (s *session) exec(ctx context.Context, p, compile *plan.Run, streams run.Streams) (res api.Result, err error) {
	begun := linux.Monotonic()
	v, err := s.admit(p.Resident)
	if err != nil {
		return res, err
	}

	admitted := true
	finish := func() {
		if admitted {
			admitted = false
			s.finish(v)
		}
	}

	defer finish()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.over, cancel)()

	var compiled *api.Compilation
	if compile != nil {
		made, failed, err := s.registry.runner.Compile(ctx, compile, streams.Retention, begun, streams.Turn(true))
		var source *plan.InvalidSource
		if errors.As(err, &source) {
			return s.noteSessionEnd(s.registry.runner.InvalidSourceResult(compile, source)), nil
		}
		if err != nil {
			return res, s.sessionEndedError(err)
		}
		if failed != nil {
			return s.noteSessionEnd(*failed), nil
		}

		p.Built, compiled = made.Files, &made.Info
		if streams.Compiled != nil {
			streams.Compiled(made.Info)
		}
	}

	asked := linux.Monotonic()
	if len(p.NamesAt(0)) > 0 && !p.Movable() {
		select {
		case s.single <- struct{}{}:
			defer func() { <-s.single }()
		case <-ctx.Done():
			return res, s.sessionEndedError(ctx.Err())
		}
	}

	stage := streams.Retention.Stage(run.MaxRetained(p, streams.Stdout != nil))
	defer func() { stage.End(int64(res.Content())) }()

	on, err := s.workplace(ctx, p, stage, streams)
	if err != nil {
		return res, s.sessionEndedError(err)
	}
	defer func() { // after Finish, whose goroutine may wake the supervisor
		if err := on.close(); err != nil {
			s.registry.log.Warn("terminal not closed", "session", s.id, "err", err)
		}
	}()

	begun = linux.Monotonic()
	out := outputs.NewStreams(streams.Stdout, streams.Stderr, p, on.slot.Wake)
	if p.Control {
		to := streams.Streams.Control
		if to == nil {
			to = io.Discard
		}
		streams.ControlOut = outputs.NewControl(to, p, on.slot.Wake)
	}
	deliver := func() {
		out.Finish()
		streams.ControlOut.Finish() // last: its messages are of the output before
	}
	defer deliver()

	o, err := s.runExec(ctx, on, v, p, streams, out, begun)
	if err == nil && o.OutOfMemory() {
		s.awaitFreed(v.leaf)
	}

	// The exec ends in the session before the caller has taken the last of the output: a caller
	// that does not read must not keep the session from ending.
	finish()
	var artifact *plan.InvalidArtifact
	if errors.As(err, &artifact) {
		return s.noteSessionEnd(s.registry.runner.InvalidArtifactResult(compile, *compiled, artifact)), nil
	}
	if err != nil {
		return res, s.sessionEndedError(s.registry.runner.StartFailed(ctx, p, err))
	}

	deliver()
	if res, err = s.registry.runner.Result(ctx, p, o, out); err != nil {
		return res, err
	}

	res.Timing.Queued = int64(begun - asked)
	res.Compile = compiled
	if set := p.Packages; set != nil {
		about := plan.DescribePackages(*set)
		res.Packages = &about
	}
	return s.noteSessionEnd(res), nil
}

// noteSessionEnd notes in the result of a canceled exec why the session ended, if it did.
func (s *session) noteSessionEnd(res api.Result) api.Result {
	if res.Verdict == api.Canceled {
		res.SessionEnded = s.endReason()
	}
	return res
}

// sessionEndedError replaces a failure by the error session-ended when the session is ending.
func (s *session) sessionEndedError(err error) error {
	if why := s.endReason(); why != "" {
		return endedError(s.id, why)
	}
	return err
}

// admit admits an exec. Residents and others have bounds of their own: people who do not type keep no program from
// running.
func (s *session) admit(resident bool) (*execContext, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.reason != "" {
		return nil, endedError(s.id, s.reason)
	}

	s.removeEmptyLeaves()
	if len(s.leftLeaves) >= maxLeftLeaves {
		return nil, api.Fail(api.CodeSessionBusy,
			"%d execs of session %s have left processes running, which is the maximum: end some", maxLeftLeaves, s.id)
	}

	v, first, last, what := &execContext{session: s, resident: resident}, 0, maxExecs, "execs running"
	if resident {
		first, last, what = maxExecs, maxRunning, "programs that stay, at terminals or as residents"
	}
	for i, other := range s.running[first:last] {
		if other == nil {
			i += first
			v.clockWord = uint32(i)
			s.running[i] = v
			s.begun++
			s.busy++
			s.execs.Add(1)
			return v, nil
		}
	}

	return nil, api.Fail(api.CodeSessionBusy,
		"session %s has %d %s, which is the maximum: wait until one has ended", s.id, last-first, what)
}

// finish ends an exec in the session. Its leaf is removed, unless processes are in it.
func (s *session) finish(v *execContext) {
	s.mu.Lock()
	s.running[v.clockWord] = nil
	if v.leaf != nil {
		s.leftLeaves = append(s.leftLeaves, v.leaf)
		if err := v.close(); err != nil {
			s.registry.log.Warn("exec not cleaned up", "session", s.id, "err", err)
		}
	}
	s.removeEmptyLeaves()
	s.mu.Unlock()
	s.leave()
	s.execs.Done()
}

// close closes what a leaf no longer needs when its exec has ended. If a call was denied and no
// supervisor has seen it, close kills the processes of the leaf.
func (v *execContext) close() error {
	err := v.leaf.Quiesce()
	if v.calls.Denial() != nil {
		err = errors.Join(err, v.leaf.Kill())
	}
	return err
}

// removeEmptyLeaves removes the leaves of ended execs that have no process any more; s.mu is held.
func (s *session) removeEmptyLeaves() {
	kept := s.leftLeaves[:0]
	for _, leaf := range s.leftLeaves {
		empty, err := leaf.Empty()
		if err == nil && empty {
			s.releaseProgram(leaf)
			err = leaf.Remove()
		} else {
			kept = append(kept, leaf)
		}
		if err != nil { // the end of the session removes it
			s.registry.log.Warn("leaf of an exec not removed", "session", s.id, "leaf", leaf.Name(), "err", err)
		}
	}

	clear(s.leftLeaves[len(kept):])
	s.leftLeaves = kept
}

// runExec runs the steps and gives a leased slot back. A failure here that is not the
// caller's fault costs the exec and, if the processes of the exec cannot be ended, the session.
func (s *session) runExec(ctx context.Context, on *workplace, v *execContext, p *plan.Run, streams run.Streams,
	out *outputs.Streams, begun time.Duration) (o *run.Outcome, err error) {
	defer on.release()

	sh, err := s.newShell(ctx, v)
	if err != nil {
		return nil, err
	}

	p, err = s.placeProgram(v.leaf, p)
	if err == nil {
		err = s.useSlot(v, on.leased())
	}
	if err != nil {
		return nil, errors.Join(err, sh.KillProcesses(cell.EmptyTimeout), sh.Destroy())
	}
	defer s.releaseSlot(v) // before another lease gets the slot

	reusable := false
	defer func() {
		var doubt error
		if !reusable {
			doubt = sh.KillProcesses(cell.EmptyTimeout)
		}
		if doubt = errors.Join(doubt, sh.Destroy(), s.cell.Step("exec destroy")); doubt != nil {
			s.registry.log.Error("session failed", "session", s.id, "err", doubt)
			s.end("the agent could not end one of its execs")
		}
	}()

	at := run.Place{Slot: on.slot, Cell: s.cell, Shell: sh, Session: v}
	o, err = run.ExecuteSteps(ctx, at, p, streams, out, begun)
	reusable = err == nil && !o.StillRunning
	return o, err
}

// newShell has the session's shell make a shell for an exec.
func (s *session) newShell(ctx context.Context, v *execContext) (_ *cell.Shell, err error) {
	s.spawnMu.Lock()
	defer s.spawnMu.Unlock()

	if err := s.cell.Step("exec leaf"); err != nil {
		return nil, err
	}

	s.cell.Leaves++
	leaf, err := s.group.NewLeaf("exec-" + strconv.Itoa(s.cell.Leaves))
	if err != nil {
		return nil, fmt.Errorf("group of an exec: %w", err)
	}
	if err := s.registerLeaf(v, leaf); err != nil {
		return nil, errors.Join(err, leaf.Remove())
	}

	// If the context ended this wait, the answer would stay in the socket and the next exec would
	// take it for its own.
	sh, err := s.cell.NewExecShell(context.WithoutCancel(ctx), s.sock, leaf, s.scratch, v.clockWord)
	var step *cell.StepError
	if err != nil && sh.Requested && !errors.As(err, &step) {
		s.end("the agent could not continue it")
	}
	return sh, err
}

// registerLeaf registers the exec's leaf, by which denied calls find the exec.
func (s *session) registerLeaf(v *execContext, leaf *groups.Leaf) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	hits, err := s.group.LimitHits()
	if err == nil {
		v.leaf, v.hits = leaf, hits
	}
	return err
}

// The methods of run.Session.

// Apply gives the group of the exec its limits. Other execs of the session may move a resident to their processors
// meanwhile, so the session decides about processors after that.
func (v *execContext) Apply(l groups.Limits) error {
	s := v.session
	s.mu.Lock()
	defer s.mu.Unlock()
	err := v.leaf.Apply(l)
	if err == nil && v.resident {
		err = s.applyCPUShare()
	}
	return err
}

func (v *execContext) PlaceInputs(files []api.File) error            { return v.session.PlaceInputs(files) }
func (v *execContext) Denial() *api.Denial                           { return v.calls.Denial() }
func (v *execContext) Subscribe(notify func())                       { v.calls.Subscribe(notify) }
func (v *execContext) ReportedCalls() ([]api.Denial, calls.Refusals) { return v.calls.reported() }
func (v *execContext) Ended() <-chan struct{}                        { return v.session.over.Done() }

// LimitHits is how often the session's own memory limit was hit since the exec began.
func (v *execContext) LimitHits() (int64, error) {
	s := v.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, endedError(s.id, s.reason)
	}
	hits, err := s.group.LimitHits()
	return hits - v.hits, err
}
