package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/runtime/calls"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/netns"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// Streams are the streams of a run, with what it has reserved.
type Streams struct {
	api.Streams
	Retention  *retention
	ControlOut *outputs.Stream // of an exec with control; nil: it has none
	link       *linkEnd        // to a program in another cell; nil: stdin and stdout are the agent's
	written    *outputs.File   // that the program must leave; nil: none
}

// A Place is where a run is executed.
type Place struct {
	Slot     *pool.Slot
	Cell     *cell.Cell
	Shell    *cell.Shell
	Session  Session        // in which an exec runs; nil: a run
	Template *os.File       // that the program begins from, with a file offset of its own; nil: the ordinary start
	reporter *usageReporter // nil: no caller wants usage updates
}

// A Session has what the run steps need of the session in which they run an exec. The scratch and the
// processes belong to the session, and remain after the exec.
type Session interface {
	// Apply sets the limits of the exec's group.
	Apply(l groups.Limits) error
	// PlaceInputs puts files into /box while other processes run in the session.
	PlaceInputs(files []api.File) error
	// Denial is the exec's first call that the profile forbids; nil: none.
	Denial() *api.Denial
	// ReportedCalls are the calls that log mode allowed, and those that were refused with an error.
	ReportedCalls() ([]api.Denial, calls.Refusals)
	// Subscribe has the session call notify for each forbidden call; nil ends that.
	Subscribe(notify func())
	// LimitHits is how often the session's own memory limit was hit since the exec began.
	LimitHits() (int64, error)
	// Ended is closed when the session ends.
	Ended() <-chan struct{}
}

// An Outcome is what the steps pass to the judge.
type Outcome struct {
	ev           judge.Evidence
	usage        api.Usage
	timing       api.Timing
	timeline     *api.Timeline
	files        []api.File
	skipped      []api.Skipped
	logged       []api.Denial
	refused      []api.Refusal
	exitCode     int
	badStart     string // why the program could not begin from its template: nothing of it has run; empty: it began
	StillRunning bool   // processes of the run are still alive: neither cell nor slot may serve another run
}

// OutOfMemory reports whether the kernel killed a process for memory.
func (o *Outcome) OutOfMemory() bool { return o.ev.OOMKills > 0 }

// ExecuteSteps executes the steps of a run; no other code acts on a plan. It uses up the shell, however it
// ends. An error means that brig failed; the cell is then in doubt unless the error is the caller's
// to fix.
func ExecuteSteps(ctx context.Context, at Place, p *plan.Run, streams Streams, out *outputs.Streams,
	begun time.Duration) (o *Outcome, err error) {
	s, c, sh := at.Slot, at.Cell, at.Shell
	w := &supervisor{Place: at, link: streams.link, limits: p.Limits, filter: c.Filter, stdin: p.PipedStdin(),
		resident: p.Resident, out: out, quotas: NewQuotas()}
	out[0].File, out[1].File = sh.Stdout, sh.Stderr

	// 1. limits: the group has its limits and is empty, and its counters are reset.
	if err := c.Step("run limits"); err != nil {
		return nil, err
	}
	if at.Session == nil { // in a session inputs count against its limits, not the exec's
		w.placed = plan.InputMemory(p.Files)
	}

	limits := cell.GroupLimits(withoutInputs(p.Limits, w.placed), s.CpusetFor(p.Limits))
	if p.Network != nil {
		limits.SocketBytes = int64(plan.SocketMemory)
	}
	apply := sh.Leaf.Apply
	if at.Session != nil {
		apply = at.Session.Apply
	}
	if err := apply(limits); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	if err := sh.Leaf.Begin(); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	if err := c.ShowMachine(limits.Cpuset, p.Limits); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}

	// 2. files: inputs and artifacts are in /box, written by us and charged to us, and no handle of
	// them is open any more. The memory limit of step 1 is reduced by what the inputs take.
	if err := c.Step("run files"); err != nil {
		return nil, err
	}

	placed, err := at.PlaceInputs(p)
	if err != nil {
		return nil, err
	}

	// 3. network: the caller has the sockets at which the program's connections arrive. They are there
	// before the program, so that its first connection finds them.
	if p.Network != nil {
		if err := c.Step("run network"); err != nil {
			return nil, err
		}
		if err := netns.Hand(sh.Pidfd, p.Network.Ports, streams.Network); err != nil {
			return nil, fmt.Errorf("network: %w", err)
		}
	}

	// 4. stdio: our ends of the pipes are polled; as much of stdin as fits is in its pipe.
	if err := c.Step("run stdio"); err != nil {
		return nil, err
	}

	completed := false
	defer func() {
		if !completed { // the slot's next run must get no event of this one, nor compete with it
			err = errors.Join(err, w.disconnect(), sh.Kill())
		}
	}()

	slave, err := w.openTerminal(p)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	if slave != nil {
		defer slave.Close() // a second time, unless the program was not started
	}

	piped, err := w.openControl(p, streams.ControlOut)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	defer closeAll(piped)

	to := &signals{shell: sh}
	if slave != nil {
		to.terminal = sh.Stdout
	}
	defer to.end()

	if err := w.connect(streams, to); err != nil {
		return nil, fmt.Errorf("stdio: %w", err)
	}
	if p.Timeline != nil {
		if w.timeline, err = newTimelineTimer(s.Poller, p.Timeline.Interval()); err != nil {
			return nil, fmt.Errorf("timeline: %w", err)
		}
		defer func() { err = errors.Join(err, w.timeline.close(s.Poller)) }()
	}

	// 5. start: the shell has the one message that it waited for.
	if err := c.Step("run start"); err != nil {
		return nil, err
	}

	linked, named, err := streams.link.files(ctx)
	if err != nil {
		return nil, err
	}

	how := cell.Start{Template: at.Template != nil, Linked: len(linked) > 0, Named: len(named),
		Paired: streams.link != nil, Merged: p.MergeStderr, TTY: slave != nil, Control: p.Control}
	msg, err := cell.StartMessage(p.Dir, p.Argv, p.Env, plan.RLimits(p.Limits, p.Backstop, p.Volume), how)
	if err != nil {
		return nil, err
	}

	wallStart := time.Now()
	w.started = linux.Monotonic()
	files := slices.Concat(at.templateFiles(), linked, named)
	if slave != nil {
		files = append(files, slave)
	}
	files = append(files, piped...)
	if err := sh.Start(msg, files...); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	if slave != nil { // a copy of it here would keep the end of the program's output from being seen
		if err := slave.Close(); err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
	}

	closeAll(piped)
	streams.link.begun()

	// 6. watch: the program has ended, by itself or by a limit.
	if err := c.Step("run watch"); err != nil {
		return nil, err
	}
	if err := w.run(ctx); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}

	w.reportEnd()
	if w.endedBySession() {
		w.ev.Canceled, w.stopped = true, true
	}

	// 7. stop: no process of the run is alive. The empty group proves that, not the exit.
	if err := c.Step("run stop"); err != nil {
		return nil, err
	}

	stillRunning := false
	if err := w.ensureEmpty(); err != nil {
		if stillRunning = w.verdictKnown() && errors.Is(err, cell.ErrStillRunning); !stillRunning {
			return nil, fmt.Errorf("stop: %w", err)
		}
	}
	if err := errors.Join(s.Wall.Set(0), s.CPU.Set(0)); err != nil {
		return nil, fmt.Errorf("stop: %w", err)
	}

	// 8. collect: output, files and measurements, from handles that no other process has.
	if err := c.Step("run collect"); err != nil {
		return nil, err
	}
	if err := w.drain(); err != nil {
		return nil, fmt.Errorf("collect: %w", err)
	}
	if v := at.Session; v != nil {
		w.logged, w.refused = v.ReportedCalls()
	}

	usage, err := sh.Leaf.Usage()
	if err != nil {
		return nil, fmt.Errorf("collect: %w", err)
	}

	usage = withInputs(usage, w.placed)
	badStart, err := w.badStart()
	if err != nil {
		return nil, err
	}
	if badStart != "" {
		completed = true
		return &Outcome{badStart: badStart, StillRunning: stillRunning}, nil
	}
	if err := w.conclude(p, usage); err != nil {
		return nil, err
	}

	o = &Outcome{ev: w.ev, usage: w.usage(usage), logged: w.logged, refused: w.refused, exitCode: w.ev.ExitCode}
	o.StillRunning = stillRunning

	switch {
	case w.ev.Canceled || w.ev.SetupOOM || p.Collect.None:
	case stillRunning: // living processes may write to the files, and exchange names
		o.skipped = []api.Skipped{outputs.Uncollected(fmt.Sprintf("not collected: processes of the run were alive %s after "+
			"they were killed", cell.KillTimeout))}
	default:
		o.files, o.skipped, err = outputs.Collect(ctx, sh.Scratch.Box, p.Collect, p.Artifacts, placed)
		switch {
		case err != nil && errors.Is(err, ctx.Err()): // the caller does not wait for the rest any more
			o.ev.Canceled = true
		case err != nil:
			return nil, err
		}
	}

	o.timing, o.timeline = w.timing(begun, wallStart), w.timeline.result()
	completed = true
	return o, nil
}

// connect registers this shell's descriptors with the poller and feeds stdin.
func (w *supervisor) connect(streams Streams, to *signals) error {
	p, sh := w.Slot.Poller, w.Shell
	err := errors.Join(
		p.Add(sh.Sock.File, linux.PollIn, tagReply),
		p.Add(sh.Pidfd, linux.PollIn, tagShell),
		p.Add(sh.Stderr, linux.PollIn, tagStderr),
	)

	oom, events := sh.Leaf.OOMEvent()
	err = errors.Join(err, p.Add(oom, uint32(events), tagOOM)) // poll and epoll use the same bits
	if w.Cell.Listener != nil {
		if w.Cell.Key.SharesFiles() {
			own, oerr := calls.OwnFilesOf(sh.Scratch.Root)
			w.own, err = own, errors.Join(err, oerr)
		}
		w.calls = calls.CallListener{Listener: w.Cell.Listener, Poller: p, Tag: tagNotify, Timer: w.Slot.CallTimer}
		w.calls.Budget.Start(linux.Monotonic())
		err = errors.Join(err, p.Add(w.Cell.Listener, linux.PollIn, tagNotify))
	}

	if v := w.Session; v != nil { // the session's goroutine listens for all of its execs
		v.Subscribe(w.Slot.Wake.Wake)
	}
	if err != nil {
		return err
	}

	w.link.attach(w)
	if w.link.hasStdio() { // the pipes of the program are those of the interactor, too
		w.parked[0] = true
		return nil
	}
	if err := p.Add(sh.Stdout, linux.PollIn, tagStdout); err != nil {
		return err
	}

	if c := w.control; c != nil {
		if err := p.Add(c.File, linux.PollIn, tagControl); err != nil {
			return err
		}
	}

	if streams.Attach != nil {
		signal := to.send
		if w.Session == nil {
			signal = nil // a run's end is its own, which a verdict tells
		}
		a, err := w.attached(signal)
		if err != nil {
			return err
		}
		streams.Attach(a)
		return nil
	}

	if err := w.writeStdin(); err != nil {
		return err
	}
	if len(w.stdin) == 0 {
		return sh.Stdin.Close()
	}
	return p.Add(sh.Stdin, unix.EPOLLOUT, tagStdin)
}

// disconnect undoes what connect did and Close alone would not: it removes handles that stay open
// after the run.
func (w *supervisor) disconnect() error {
	p, sh := w.Slot.Poller, w.Shell
	err := errors.Join(p.Remove(sh.Sock.File), p.Remove(sh.Pidfd), p.Remove(sh.Stdin), p.Remove(sh.Stdout),
		p.Remove(sh.Stderr), w.link.detach(p))
	if sh.ControlOut != nil {
		err = errors.Join(err, p.Remove(sh.ControlOut))
	}
	oom, _ := sh.Leaf.OOMEvent()
	err = errors.Join(err, p.Remove(oom))
	if v := w.Session; v != nil {
		v.Subscribe(nil)
	}
	if w.Cell.Listener != nil {
		err = errors.Join(err, w.calls.Close())
	}
	return err
}

// conclude completes the evidence, and separates the program's outcome from our failures.
func (w *supervisor) conclude(p *plan.Run, u groups.Usage) error {
	ev := &w.ev
	if v := w.Session; v != nil { // the memory limit that was hit may be the session's
		sessionHits, err := v.LimitHits()
		if err != nil {
			return err
		}
		u.LimitHits += sessionHits
	}

	ev.OOMKills, ev.MemoryHits, ev.PidsHits = uint64(u.OOMKills), uint64(u.LimitHits), uint64(u.PidsHits)
	ev.CPU, ev.Peak = api.Duration(u.CPU), api.Size(u.MemoryPeak)
	ev.Signal = int(unix.SIGKILL) // unless the shell reports otherwise
	exec, exit := w.span()
	uncounted, err := w.link.uncounted()
	if err != nil {
		return err
	}

	ev.Wall = api.Duration(exit - exec - uncounted)
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

	ev.OutOfHeap = p.OutOfHeap(*ev, w.errorsOf(p).Tail)
	if ev.Signal == int(unix.SIGXFSZ) { // a process that ignores the signal is told by an error, which nobody counts
		_, ev.SizeHit = plan.MaxFile(p.Limits, p.Volume)
		ev.ScratchHit = !ev.SizeHit
	}
	full, inodes, err := w.Shell.Scratch.Full()
	if err != nil {
		return err
	}

	ev.ScratchHit, ev.InodesHit = ev.ScratchHit || full, inodes
	if w.Cell.Key.Writable {
		bytes, inodes, err := w.Cell.LayerFull()
		if err != nil {
			return err
		}
		ev.ScratchHit, ev.InodesHit = ev.ScratchHit || bytes, ev.InodesHit || inodes
	}

	switch {
	case u.OOMKills > 0 && u.LimitHits == 0:
		return api.Fail(api.CodeHostMemory,
			"the kernel killed the run because memory ran out above its own group: lower the load on this host, or the number of slots")
	case w.failed != nil && u.LimitHits > 0 && errors.Is(w.failed, unix.ENOMEM):
		ev.SetupOOM = true
	case w.failed != nil:
		return w.startFailure(p)
	case !w.replied && !w.stopped && u.OOMKills > 0:
		ev.SetupOOM = true // killed between clone and exec, while shell and program share their memory
	case !w.replied && !w.stopped:
		return errors.New("the shell ended without a report")
	}

	return stoppedError(*ev, w.limits, w.late)
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
		StdoutBytes:  w.out[0].Total,
		StderrBytes:  w.out[1].Total,
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
