package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// runStreams are the streams of a run, with what it has reserved.
type runStreams struct {
	api.Streams
	retention *retention
}

// A place is where a run is executed.
type place struct {
	slot     *slot
	cell     *cell
	shell    *shell
	session  execSession    // in which an exec runs; nil: a run
	reporter *usageReporter // nil: no caller wants usage updates
}

// An execSession is what the run steps need of the session in which they run an exec. Its scratch
// and its processes are the session's, and remain.
type execSession interface {
	// placeInputs puts files into /box while other processes run in the session.
	placeInputs(files []api.File) error
	// denial is the exec's first call that the profile forbids; nil: none.
	denial() *api.Denial
	// reportedCalls are the calls that log mode allowed, and those that were refused with an error.
	reportedCalls() ([]api.Denial, refusals)
	// subscribe calls notify for each forbidden call; nil ends that.
	subscribe(notify func())
	// limitHits is how often the session's own memory limit was hit since the exec began.
	limitHits() (int64, error)
	// ended is closed when the session ends.
	ended() <-chan struct{}
}

// An outcome is what the steps pass to the judge.
type outcome struct {
	ev           api.Evidence
	usage        api.Usage
	timing       api.Timing
	files        []api.File
	skipped      []api.Skipped
	logged       []api.Denial
	refused      []api.Refusal
	exitCode     int
	stillRunning bool // processes of the run are still alive: neither cell nor slot may serve another run
}

// executeSteps executes the steps of a run; no other code acts on a plan. It uses up the shell, however it
// ends. An error means that brig failed; the cell is then in doubt unless the error is the caller's
// to fix.
func executeSteps(ctx context.Context, at place, p *plan.Run, streams runStreams, out *outputs, begun time.Duration) (o *outcome, err error) {
	s, c, sh := at.slot, at.cell, at.shell
	w := &supervisor{place: at, limits: p.Limits, filter: c.filter, stdin: p.Stdin, out: out}
	out[0].file, out[1].file = sh.stdout, sh.stderr

	// 1. limits: the group has its limits and is empty, and its counters are reset.
	if err := c.step("run limits"); err != nil {
		return nil, err
	}
	if at.session == nil { // in a session inputs count against its limits, not the exec's
		w.placed = plan.InputMemory(p.Files)
	}
	if err := sh.leaf.Apply(groupLimits(withoutInputs(p.Limits, w.placed), s.cpusetFor(p.Limits))); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	if err := sh.leaf.Begin(); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}

	// 2. files: inputs and artifacts are in /box, written by us and charged to us, and no handle of
	// them is open any more. The memory limit of step 1 is reduced by what the inputs take.
	if err := c.step("run files"); err != nil {
		return nil, err
	}
	placed, err := at.placeInputs(p)
	if err != nil {
		return nil, err
	}

	// 3. stdio: our ends of the pipes are polled; as much of stdin as fits is in its pipe.
	if err := c.step("run stdio"); err != nil {
		return nil, err
	}
	completed := false
	defer func() {
		if !completed { // the slot's next run must get no event of this one, nor compete with it
			err = errors.Join(err, w.disconnect(), sh.kill())
		}
	}()
	if err := w.connect(streams); err != nil {
		return nil, fmt.Errorf("stdio: %w", err)
	}

	// 4. start: the shell has the one message that it waited for.
	if err := c.step("run start"); err != nil {
		return nil, err
	}
	msg, err := startMessage(p.Argv, p.Env, plan.RLimits(p.Limits, p.Backstop, p.Volume))
	if err != nil {
		return nil, err
	}
	wallStart := time.Now()
	w.started = monotonic()
	if err := sh.start(msg); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}

	// 5. watch: the program has ended, by itself or by a limit.
	if err := c.step("run watch"); err != nil {
		return nil, err
	}
	if err := w.run(ctx); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	if w.endedBySession() {
		w.ev.Canceled, w.stopped = true, true
	}

	// 6. stop: no process of the run is alive. The empty group proves that, not the exit.
	if err := c.step("run stop"); err != nil {
		return nil, err
	}
	stillRunning := false
	if err := w.ensureEmpty(); err != nil {
		if stillRunning = w.verdictKnown() && errors.Is(err, errStillRunning); !stillRunning {
			return nil, fmt.Errorf("stop: %w", err)
		}
	}
	if err := errors.Join(s.wall.set(0), s.cpu.set(0)); err != nil {
		return nil, fmt.Errorf("stop: %w", err)
	}

	// 7. collect: output, files and measurements, from handles that no other process has.
	if err := c.step("run collect"); err != nil {
		return nil, err
	}
	if err := w.drain(); err != nil {
		return nil, fmt.Errorf("collect: %w", err)
	}
	if v := at.session; v != nil {
		w.logged, w.refused = v.reportedCalls()
	}
	usage, err := sh.leaf.Usage()
	if err != nil {
		return nil, fmt.Errorf("collect: %w", err)
	}
	usage = withInputs(usage, w.placed)
	if err := w.conclude(p, usage); err != nil {
		return nil, err
	}
	o = &outcome{ev: w.ev, usage: w.usage(usage), logged: w.logged, refused: w.refused, exitCode: w.ev.ExitCode}
	o.stillRunning = stillRunning
	switch {
	case w.ev.Canceled || w.ev.SetupOOM || p.Collect.None:
	case stillRunning: // living processes may write to the files, and exchange names
		o.skipped = []api.Skipped{uncollected(fmt.Sprintf("not collected: processes of the run were alive %s after they were killed", killTimeout))}
	default:
		o.files, o.skipped, err = collect(ctx, sh.scratch.box, p.Collect, p.Artifacts, placed)
		switch {
		case err != nil && errors.Is(err, ctx.Err()): // the caller does not wait for the rest any more
			o.ev.Canceled = true
		case err != nil:
			return nil, err
		}
	}
	o.timing = w.timing(begun, wallStart)
	completed = true
	return o, nil
}

// connect registers this shell's descriptors with the poller and feeds stdin.
func (w *supervisor) connect(streams runStreams) error {
	p, sh := w.slot.poller, w.shell
	err := errors.Join(
		p.add(sh.sock.file, pollIn, tagReply),
		p.add(sh.pidfd, pollIn, tagShell),
		p.add(sh.stdout, pollIn, tagStdout),
		p.add(sh.stderr, pollIn, tagStderr),
	)
	oom, events := sh.leaf.OOMEvent()
	err = errors.Join(err, p.add(oom, uint32(events), tagOOM)) // poll and epoll use the same bits
	if w.cell.listener != nil {
		w.locks.calls = lockBatch // its group is empty: it holds no locks
		if w.cell.key.SharesFiles() {
			own, oerr := ownFilesOf(sh.scratch.root)
			w.own, err = own, errors.Join(err, oerr)
		}
		w.calls = callListener{listener: w.cell.listener, poller: p, tag: tagNotify, timer: w.slot.callTimer}
		w.calls.budget.start(monotonic())
		err = errors.Join(err, p.add(w.cell.listener, pollIn, tagNotify))
	}
	if v := w.session; v != nil { // the session's goroutine listens for all of its execs
		v.subscribe(w.slot.wake.wake)
	}
	if err != nil {
		return err
	}
	if streams.Attach != nil {
		stdin, err := polledCopy(sh.stdin)
		if err != nil {
			return err
		}
		streams.Attach(stdin)
		return nil
	}
	if err := w.writeStdin(); err != nil {
		return err
	}
	if len(w.stdin) == 0 {
		return sh.stdin.Close()
	}
	return p.add(sh.stdin, unix.EPOLLOUT, tagStdin)
}

// disconnect undoes what connect did and Close alone would not: it removes handles that stay open
// after the run.
func (w *supervisor) disconnect() error {
	p, sh := w.slot.poller, w.shell
	err := errors.Join(p.remove(sh.sock.file), p.remove(sh.pidfd), p.remove(sh.stdin), p.remove(sh.stdout), p.remove(sh.stderr))
	oom, _ := sh.leaf.OOMEvent()
	err = errors.Join(err, p.remove(oom))
	if v := w.session; v != nil {
		v.subscribe(nil)
	}
	if w.cell.listener != nil {
		err = errors.Join(err, w.calls.close())
	}
	return err
}

// conclude completes the evidence, and separates the program's outcome from our failures.
func (w *supervisor) conclude(p *plan.Run, u groups.Usage) error {
	ev := &w.ev
	if v := w.session; v != nil { // the memory limit that was hit may be the session's
		sessionHits, err := v.limitHits()
		if err != nil {
			return err
		}
		u.LimitHits += sessionHits
	}
	ev.OOMKills, ev.MemoryHits, ev.PidsHits = uint64(u.OOMKills), uint64(u.LimitHits), uint64(u.PidsHits)
	ev.CPU, ev.Peak = api.Duration(u.CPU), api.Size(u.MemoryPeak)
	ev.Signal = int(unix.SIGKILL) // unless the shell reports otherwise
	exec, exit := w.span()
	ev.Wall = api.Duration(exit - exec)
	if w.replied {
		ws := unix.WaitStatus(w.reply.Status)
		ev.Signal, ev.ExitCode = 0, 0
		if ws.Signaled() {
			ev.Signal = int(ws.Signal())
		} else {
			ev.ExitCode = ws.ExitStatus()
		}
	}
	if ev.Signal != 0 {
		ev.ExitCode = -1
	}
	ev.OutOfHeap = p.OutOfHeap(*ev, w.out[1].tail)
	ev.ScratchHit = ev.Signal == int(unix.SIGXFSZ) // RLIMIT_FSIZE is the limit of scratch
	full, inodes, err := w.shell.scratch.full()
	if err != nil {
		return err
	}
	ev.ScratchHit, ev.InodesHit = ev.ScratchHit || full, inodes
	if w.cell.key.Writable {
		bytes, inodes, err := w.cell.layerFull()
		if err != nil {
			return err
		}
		ev.ScratchHit, ev.InodesHit = ev.ScratchHit || bytes, ev.InodesHit || inodes
	}
	switch {
	case u.OOMKills > 0 && u.LimitHits == 0:
		return api.Fail(api.CodeHostMemory, "the kernel killed the run because memory ran out above its own group: lower the load on this host, or the number of slots")
	case w.failed != nil && u.LimitHits > 0 && errors.Is(w.failed, unix.ENOMEM):
		ev.SetupOOM = true
	case w.failed != nil:
		return w.startFailure(p)
	case !w.replied && !w.stopped && u.OOMKills > 0:
		ev.SetupOOM = true // killed between clone and exec, while shell and program share their memory
	case !w.replied && !w.stopped:
		return errors.New("the shell ended without a report")
	}
	return nil
}

// usage gives every measurement its source.
func (w *supervisor) usage(u groups.Usage) api.Usage {
	measured := func(v int64, source string) api.Measurement {
		if source == "" {
			return api.Unknown("this kernel has no such counter")
		}
		return api.Known(v, source)
	}
	pids := api.Unknown("pids.peak cannot be reset between runs")
	if u.PidsPeakKnown {
		pids = api.Known(u.PidsPeak, u.Sources.PidsPeak)
	}
	out := api.Usage{
		CPU:          measured(int64(u.CPU), u.Sources.CPU),
		Memory:       measured(u.MemoryPeak, u.Sources.MemoryPeak),
		Pids:         pids,
		OOMKills:     measured(u.OOMKills, u.Sources.OOMKills),
		ForksRefused: measured(u.PidsHits, u.Sources.PidsHits),
		StdoutBytes:  w.out[0].total,
		StderrBytes:  w.out[1].total,
	}
	const source = "wait4"
	if w.replied {
		out.User = api.Known(int64(w.reply.UserUs)*1000, source)
		out.System = api.Known(int64(w.reply.SystemUs)*1000, source)
		out.MaxRSS = api.Known(int64(w.reply.MaxRSSKiB)<<10, source)
	} else {
		gone := api.Unknown("the run was killed before its exit status could be read")
		out.User, out.System, out.MaxRSS = gone, gone, gone
	}
	return out
}
