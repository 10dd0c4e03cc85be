package runtime

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// execContext is one exec under way in its session.
type execContext struct {
	session   *session
	leaf      *groups.Leaf
	clockWord uint32 // index of its word in the clock page
	slot      *slot  // the slot it leases; nil: none. Guarded by session.mu
	hits      int64  // hits of the session's memory limit before it began
	calls     filteredCalls
}

// Exec executes one program in a session and reports how its main process ended. It waits for a
// slot like a test does: the admission of the session is its admission. The error is an *api.Error.
// It is non-nil only when brig refused or failed, or when the session ended before the exec began:
// an exec that had begun is reported as canceled then.
func (all *sessions) Exec(ctx context.Context, id string, e api.Exec, io api.Streams, c api.Caller) (api.Result, error) {
	s, err := all.find(id, c)
	if err != nil {
		return api.Result{}, err
	}
	p, compile, err := all.runner.planner.Exec(s.plan, e)
	if err != nil {
		return api.Result{}, apiError(err, "")
	}
	if s.volume != nil {
		p.Volume = s.volume.Size
	}
	streams := runStreams{io, newRetention(io)}
	res, err := s.exec(ctx, p, compile, streams)
	streams.retention.finish(&res)
	if err != nil {
		return api.Result{}, toAPIError(all.log, err, p.ID)
	}
	return res, nil
}

// exec takes a plan through its stages.
func (s *session) exec(ctx context.Context, p, compile *plan.Run, streams runStreams) (res api.Result, err error) {
	begun := monotonic()
	v, err := s.admit()
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
		if err := streams.retention.add(compileRetention); err != nil {
			return res, err
		}
		made, failed, err := s.all.runner.compile(ctx, compile, begun, true)
		var source *plan.InvalidSource
		if errors.As(err, &source) {
			return s.noteSessionEnd(s.all.runner.invalidSourceResult(compile, source)), nil
		}
		if err != nil {
			return res, s.sessionEndedError(err)
		}
		if failed != nil {
			return s.noteSessionEnd(*failed), nil
		}
		if err := streams.retention.add(min(made.info.Size, compileRetention) - compileRetention); err != nil {
			return res, err
		}
		p.Built, compiled = made.files, &made.info
		if streams.Compiled != nil {
			streams.Compiled(made.info)
		}
	}
	asked := monotonic()
	// Reserve memory before taking the slot, which would be idle during the wait.
	if err := streams.retention.await(ctx, maxRetained(p, streams.Stdout != nil)); err != nil {
		return res, s.sessionEndedError(err)
	}
	l, err := s.all.runner.pool.acquireForExec(ctx)
	if err != nil {
		return res, s.sessionEndedError(err)
	}
	begun = monotonic()
	out := newOutputs(streams, p, l.slot().wake)
	defer out.finish()
	o, err := s.runExec(ctx, l, v, p, streams, out, begun)
	// The exec ends in the session before the caller has taken the last of the output: a caller
	// that does not read must not keep the session from ending.
	finish()
	var artifact *plan.InvalidArtifact
	if errors.As(err, &artifact) {
		return s.noteSessionEnd(s.all.runner.invalidArtifactResult(compile, *compiled, artifact)), nil
	}
	if err != nil {
		return res, s.sessionEndedError(err)
	}
	out.finish()
	res = s.all.runner.result(p, o, out)
	res.Timing.Queued = int64(begun - asked)
	res.Compile = compiled
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

// admit admits an exec.
func (s *session) admit() (*execContext, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != "" {
		return nil, endedError(s.id, s.reason)
	}
	s.removeEmptyLeaves()
	if len(s.leftLeaves) >= maxLeftLeaves {
		return nil, api.Fail(api.CodeSessionBusy, "%d execs of session %s have left processes running, which is the most: end some", maxLeftLeaves, s.id)
	}
	v := &execContext{session: s}
	for i, other := range s.running {
		if other == nil {
			v.clockWord = uint32(i)
			s.running[i] = v
			s.begun++
			s.busy++
			s.execs.Add(1)
			return v, nil
		}
	}
	return nil, api.Fail(api.CodeSessionBusy, "session %s has %d execs running, which is the most: wait until one has ended", s.id, maxExecs)
}

// finish ends an exec in the session. Its leaf is removed, unless processes are in it.
func (s *session) finish(v *execContext) {
	s.mu.Lock()
	s.running[v.clockWord] = nil
	if v.leaf != nil {
		s.leftLeaves = append(s.leftLeaves, v.leaf)
		if err := v.close(); err != nil {
			s.all.log.Warn("exec not cleaned up", "session", s.id, "err", err)
		}
	}
	s.removeEmptyLeaves()
	s.mu.Unlock()
	s.leave()
	s.execs.Done()
}

// close closes what a leaf no longer needs when its exec has ended. If a call was denied and no
// supervisor has seen it, settle kills the leaf.
func (v *execContext) close() error {
	err := v.leaf.Quiesce()
	if v.calls.denial() != nil {
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
			err = leaf.Remove()
		} else {
			kept = append(kept, leaf)
		}
		if err != nil { // the end of the session removes it
			s.all.log.Warn("leaf of an exec not removed", "session", s.id, "leaf", leaf.Name(), "err", err)
		}
	}
	clear(s.leftLeaves[len(kept):])
	s.leftLeaves = kept
}

// runExec runs the steps on a leased slot and gives the slot back. A failure here that is not the
// caller's fault costs the exec and, if the processes of the exec cannot be ended, the session.
func (s *session) runExec(ctx context.Context, l *lease, v *execContext, p *plan.Run, streams runStreams, out *outputs, begun time.Duration) (o *outcome, err error) {
	defer l.pool.release(l)
	sh, err := s.newShell(ctx, v)
	if err != nil {
		return nil, err
	}
	if err := s.useSlot(v, l.slot()); err != nil {
		return nil, errors.Join(err, sh.killProcesses(emptyTimeout), sh.destroy())
	}
	defer s.releaseSlot(v) // before another lease gets the slot
	reusable := false
	defer func() {
		var doubt error
		if !reusable {
			doubt = sh.killProcesses(emptyTimeout)
		}
		if doubt = errors.Join(doubt, sh.destroy(), s.cell.step("exec destroy")); doubt != nil {
			s.all.log.Error("session failed", "session", s.id, "err", doubt)
			s.end("the agent could not end one of its execs")
		}
	}()
	at := place{slot: l.slot(), cell: s.cell, shell: sh, session: v}
	o, err = executeSteps(ctx, at, p, streams, out, begun)
	reusable = err == nil && !o.stillRunning
	return o, err
}

// newShell has the session's shell make a shell for an exec.
func (s *session) newShell(ctx context.Context, v *execContext) (_ *shell, err error) {
	s.spawnMu.Lock()
	defer s.spawnMu.Unlock()
	if err := s.cell.step("exec leaf"); err != nil {
		return nil, err
	}
	s.cell.leaves++
	leaf, err := s.group.NewLeaf("exec-" + strconv.Itoa(s.cell.leaves))
	if err != nil {
		return nil, fmt.Errorf("group of an exec: %w", err)
	}
	if err := s.registerLeaf(v, leaf); err != nil {
		return nil, errors.Join(err, leaf.Remove())
	}
	// If the context ended this wait, the answer would stay in the socket and the next exec would
	// take it for its own.
	sh, err := s.cell.newExecShell(context.WithoutCancel(ctx), s.sock, leaf, s.scratch, v.clockWord)
	var step *StepError
	if err != nil && sh.requested && !errors.As(err, &step) {
		s.end("the agent could not continue it")
	}
	return sh, err
}

// registerLeaf registers the exec's leaf, by which denied calls find the exec.
func (s *session) registerLeaf(v *execContext, leaf *groups.Leaf) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.group.Usage()
	if err == nil {
		v.leaf, v.hits = leaf, u.LimitHits
	}
	return err
}

func (v *execContext) placeInputs(files []api.File) error      { return v.session.placeInputs(files) }
func (v *execContext) denial() *api.Denial                     { return v.calls.denial() }
func (v *execContext) subscribe(notify func())                 { v.calls.subscribe(notify) }
func (v *execContext) reportedCalls() ([]api.Denial, refusals) { return v.calls.reported() }
func (v *execContext) ended() <-chan struct{}                  { return v.session.over.Done() }

// limitHits is how often the session's own memory limit was hit since the exec began.
func (v *execContext) limitHits() (int64, error) {
	s := v.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, endedError(s.id, s.reason)
	}
	u, err := s.group.Usage()
	return u.LimitHits - v.hits, err
}
