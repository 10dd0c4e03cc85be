package runtime

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
)

// A visit is one exec under way in its session.
type visit struct {
	session *session
	leaf    *groups.Leaf
	clock   uint32 // word of the clock page
	slot    *slot  // that it is leased; nil: none. Guarded by session.mu
	hits    int64  // on the session's memory limit when it began
	calls   calls
}

// Exec executes one program in a session and reports how its main process ended. It
// waits for a slot like a test does: that the session was admitted is its admission.
// The error is an *api.Error, and non-nil only when brig refused or failed, or the
// session ended before the exec began: what had begun is canceled then.
func (h *Host) Exec(ctx context.Context, id string, e api.Exec, streams Streams, c Caller) (api.Result, error) {
	s, err := h.sessions.find(id, c)
	if err != nil {
		return api.Result{}, err
	}
	run, compile, err := h.planExec(s.plan, e)
	if err != nil {
		return api.Result{}, apiError(err, "")
	}
	if s.volume != nil {
		run.volume = s.volume.size
	}
	streams.kept = newKeeping(streams)
	res, err := s.exec(ctx, run, compile, streams)
	streams.kept.settle(&res)
	if err != nil {
		return api.Result{}, h.told(err, run.id)
	}
	return res, nil
}

// exec takes a plan through its stages.
func (s *session) exec(ctx context.Context, run, compile *plan, streams Streams) (res api.Result, err error) {
	begun := monotonic()
	v, err := s.arrive()
	if err != nil {
		return res, err
	}
	present := true
	depart := func() {
		if present {
			present = false
			s.depart(v)
		}
	}
	defer depart()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.over, cancel)()

	var compiled *api.Compilation
	if compile != nil {
		if err := streams.kept.add(compileKeeps); err != nil {
			return res, err
		}
		made, failed, err := s.host.compile(ctx, compile, begun, true)
		var source *unfitSource
		if errors.As(err, &source) {
			return s.cutOff(s.host.unread(compile, source)), nil
		}
		if err != nil {
			return res, s.excuse(err)
		}
		if failed != nil {
			return s.cutOff(*failed), nil
		}
		if err := streams.kept.add(min(made.info.Size, compileKeeps) - compileKeeps); err != nil {
			return res, err
		}
		run.made, compiled = made.files, &made.info
		if streams.Compiled != nil {
			streams.Compiled(made.info)
		}
	}
	asked := monotonic()
	// Room before the slot, which would stand idle until there is some.
	if err := streams.kept.await(ctx, run.keeps(streams.Stdout != nil)); err != nil {
		return res, s.excuse(err)
	}
	l, err := s.host.pool.turn(ctx)
	if err != nil {
		return res, s.excuse(err)
	}
	begun = monotonic()
	out := newOutputs(streams, run, l.stall.slot.wake)
	defer out.finish()
	o, err := s.carryOut(ctx, l, v, run, streams, out, begun)
	// The session is left before the caller has taken the last of the output: one who
	// takes nothing must not keep it from ending.
	depart()
	var artifact *unfitArtifact
	if errors.As(err, &artifact) {
		return s.cutOff(s.host.refusal(compile, *compiled, artifact)), nil
	}
	if err != nil {
		return res, s.excuse(err)
	}
	out.finish()
	res = s.host.result(run, o, out)
	res.Timing.Queued = int64(begun - asked)
	res.Compile = compiled
	return s.cutOff(res), nil
}

// cutOff says in the result of an exec that the end of the session ended what did.
func (s *session) cutOff(res api.Result) api.Result {
	if res.Verdict == api.Canceled {
		res.SessionEnded = s.ending()
	}
	return res
}

// cutOff reports that the end of its session ended an exec: it kills everything at once,
// and our own wake may come to tell of it only when nothing is left to stop. A cell that
// was killed from outside takes all its shells with it, and the session's own goroutine may
// hear of it after us.
func (w *watch) cutOff() bool {
	v := w.shell.visit
	if v == nil || w.stopped || w.failed != nil || w.replied && unix.WaitStatus(w.reply.Status).Signal() != unix.SIGKILL {
		return false
	}
	if !w.replied {
		select {
		case <-v.session.over.Done():
		case <-time.After(cellDeath):
		}
	}
	return v.session.over.Err() != nil
}

// cellDeath is how long the death of a cell takes at most from one of its processes to
// its init, which the session watches.
const cellDeath = time.Second

// excuse tells a failure that the end of the session explains by that.
func (s *session) excuse(err error) error {
	if why := s.ending(); why != "" {
		return endedError(s.id, why)
	}
	return err
}

// arrive admits an exec.
func (s *session) arrive() (*visit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != "" {
		return nil, endedError(s.id, s.why)
	}
	s.sweep()
	if len(s.stay) >= maxStay {
		return nil, api.Fail(api.CodeSessionBusy, "%d execs of session %s have left processes running and that is the most: end some", maxStay, s.id)
	}
	v := &visit{session: s}
	for i, other := range s.visits {
		if other == nil {
			v.clock = uint32(i)
			s.visits[i] = v
			s.begun++
			s.busy++
			s.execs.Add(1)
			return v, nil
		}
	}
	return nil, api.Fail(api.CodeSessionBusy, "session %s has %d execs under way and that is the most: wait for one", s.id, maxExecs)
}

// depart ends an exec's stay. Its leaf goes, unless processes are in it.
func (s *session) depart(v *visit) {
	s.mu.Lock()
	s.visits[v.clock] = nil
	if v.leaf != nil {
		s.stay = append(s.stay, v.leaf)
		if err := v.settle(); err != nil {
			s.host.log.Warn("exec not tidied", "session", s.id, "err", err)
		}
	}
	s.sweep()
	s.mu.Unlock()
	s.leave()
	s.execs.Done()
}

// settle closes what a leaf needs no more when its exec has ended. A call that was
// forbidden and that no watch has seen ends what made it.
func (v *visit) settle() error {
	err := v.leaf.Rest()
	if v.calls.denial() != nil {
		err = errors.Join(err, v.leaf.Kill())
	}
	return err
}

// sweep removes the leaves of ended execs whose processes have ended; s.mu is held.
func (s *session) sweep() {
	kept := s.stay[:0]
	for _, leaf := range s.stay {
		empty, err := leaf.Empty()
		if err == nil && empty {
			err = leaf.Remove()
		} else {
			kept = append(kept, leaf)
		}
		if err != nil { // the end of the session removes it
			s.host.log.Warn("leaf of an exec not removed", "session", s.id, "leaf", leaf.Name(), "err", err)
		}
	}
	clear(s.stay[len(kept):])
	s.stay = kept
}

// carryOut climbs the ladder on a leased slot and gives that back. What fails here and
// is not the caller's to mend costs the exec, and where its processes cannot be ended
// the session.
func (s *session) carryOut(ctx context.Context, l *lease, v *visit, p *plan, streams Streams, out *outputs, begun time.Duration) (o *outcome, err error) {
	defer l.pool.release(l)
	sh, err := s.newShell(ctx, v)
	if err != nil {
		return nil, err
	}
	if err := s.lend(v, l.stall.slot); err != nil {
		return nil, errors.Join(err, sh.clear(emptyTimeout), sh.bury())
	}
	defer s.lapse(v) // before the slot is another's
	sound := false
	defer func() {
		var doubt error
		if !sound {
			doubt = sh.clear(emptyTimeout)
		}
		if doubt = errors.Join(doubt, sh.bury(), s.host.step("exec bury")); doubt != nil {
			s.host.log.Error("session in doubt", "session", s.id, "err", doubt)
			s.end("the agent could not end an exec of it")
		}
	}()
	l.offer = offer{cell: s.cell, shell: sh}
	o, err = climb(ctx, l, p, streams, out, begun)
	sound = err == nil && !o.outlived
	return o, err
}

// newShell has the session's shell make one for an exec.
func (s *session) newShell(ctx context.Context, v *visit) (_ *shell, err error) {
	s.making.Lock()
	defer s.making.Unlock()
	if err := s.host.step("exec leaf"); err != nil {
		return nil, err
	}
	s.cell.leafs++
	leaf, err := s.group.NewLeaf("exec-" + strconv.Itoa(s.cell.leafs))
	if err != nil {
		return nil, fmt.Errorf("group of an exec: %w", err)
	}
	if err := s.known(v, leaf); err != nil {
		return nil, errors.Join(err, leaf.Remove())
	}
	sh := &shell{cell: s.cell, leaf: leaf, scratch: s.scratch, clock: s.cell.clock.clock(v.clock), visit: v}
	// Whoever hangs up now would leave an answer that the next exec took for its own.
	err = sh.park(context.WithoutCancel(ctx), s.sock, wireSpawn{Flags: spawnExec, Clock: v.clock})
	var step *StepError
	if err != nil && sh.asked && !errors.As(err, &step) {
		s.end("the agent could not go on with it")
	}
	return sh, err
}

// known lets calls that are forbidden find the exec by its leaf.
func (s *session) known(v *visit, leaf *groups.Leaf) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.group.Usage()
	if err == nil {
		v.leaf, v.hits = leaf, u.LimitHits
	}
	return err
}

// limitHits counts the times that the session's own memory limit was met since the
// exec began.
func (v *visit) limitHits() (int64, error) {
	s := v.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return 0, endedError(s.id, s.why)
	}
	u, err := s.group.Usage()
	return u.LimitHits - v.hits, err
}

// clear ends every process of an exec.
func (s *shell) clear(patience time.Duration) error {
	if empty, err := s.leaf.Empty(); err != nil || empty {
		return err
	}
	if err := s.leaf.Kill(); err != nil {
		return err
	}
	s.hasten()
	return untilEmpty(s.leaf, patience)
}

// furnish puts the inputs of a plan into /box: of a run before anybody else has
// touched it, of an exec beside all that runs in the session.
func (s *shell) furnish(p *plan) (map[string]input, error) {
	if s.visit != nil {
		err := s.visit.session.furnish(p.files)
		if err == nil {
			err = s.visit.session.furnish(p.made)
			var e *api.Error
			if errors.As(err, &e) && (e.Code == api.CodeBadFile || e.Code == api.CodeTooLarge) {
				err = tooLarge("the program", e.Message)
			}
		}
		return nil, err
	}
	if err := s.scratch.resize(p.limits.Scratch, p.limits.Inodes); err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	base := slotIDs(s.cell.slot)
	return s.scratch.place(p.files, p.made, p.source, base+runUID, base+runGID)
}
