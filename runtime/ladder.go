package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
)

// Streams connect a run to a caller who is there while it runs. The zero value is
// for one who waits for the result: stdin is the Run's, output is the Result's.
type Streams struct {
	// Attach, when set, is called once before the program starts with the write
	// end of its stdin, which is then the callee's to write and close. Run.Stdin
	// is not used.
	Attach func(stdin *os.File)

	// Stdout and Stderr, when set, get the program's output as it comes and the
	// Result carries none. A Write that waits makes the program wait. A compile
	// stage and tests keep theirs in the Result.
	Stdout, Stderr interface{ Write([]byte) (int, error) }

	// Compiled, when set, is called when the artifacts are there; Test with each
	// test's result as it comes, one call at a time.
	Compiled func(api.Compilation)
	Test     func(api.TestResult)

	// Usage, when set, is told twice a second what a run uses, of tests what all of them
	// have used; one call at a time.
	Usage func(api.LiveUsage)

	// Hold, when set, is told before memory is used for the run that lasts until it is
	// answered: so many bytes more, or fewer. An error of it refuses the run.
	Hold func(bytes int64) error
	kept *keeping // what it was told

	// Again is how soon the caller comes again if no slot is free, if that is later than
	// a caller usually does.
	Again time.Duration
}

// An outcome is what the ladder hands to the judge.
type outcome struct {
	ev       api.Evidence
	usage    api.Usage
	timing   api.Timing
	files    []api.File
	skipped  []api.Skipped
	logged   []api.Denial
	refused  []api.Refusal
	exitCode int
	outlived bool // processes of it are there still: neither cell nor slot may have another run
}

// climb is the ladder: the one place that acts on a plan. The shell is used up by
// it, however it ends. An error means that we failed; the cell is then in doubt
// unless the error is the caller's to mend.
func climb(ctx context.Context, l *lease, p *plan, streams Streams, out *outputs, begun time.Duration) (o *outcome, err error) {
	s, c, sh := l.stall.slot, l.offer.cell, l.offer.shell
	w := &watch{slot: s, cell: c, shell: sh, limits: p.limits, filter: p.cell.filter, stdin: p.stdin, out: out, live: l.live}
	out[0].file, out[1].file = sh.stdout, sh.stderr

	// 1. limits: the group holds them, is empty, and its counters have a beginning.
	if err := c.step("run limits"); err != nil {
		return nil, err
	}
	if sh.visit == nil { // in a session they count against its limits, not the exec's
		w.placed = counted(p.files)
	}
	if err := sh.leaf.Apply(groupLimits(lessPlaced(p.limits, w.placed), s.cpusetFor(p.limits))); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	if err := sh.leaf.Begin(); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}

	// 2. files: inputs and artifacts lie in /box, written by us and charged to us, and no
	// handle on them is open any more. The limit of 1 is less what the inputs take.
	if err := c.step("run files"); err != nil {
		return nil, err
	}
	placed, err := sh.furnish(p)
	if err != nil {
		return nil, err
	}

	// 3. stdio: our ends of the pipes are watched; what fits of stdin is in its pipe.
	if err := c.step("run stdio"); err != nil {
		return nil, err
	}
	whole := false
	defer func() {
		if !whole { // the slot's next run must hear nothing of this one, nor compete with it
			err = errors.Join(err, w.disconnect(), sh.kill())
		}
	}()
	if err := w.connect(streams); err != nil {
		return nil, fmt.Errorf("stdio: %w", err)
	}

	// 4. start: the shell has the one message it waited for.
	if err := c.step("run start"); err != nil {
		return nil, err
	}
	var affinity [16]uint64
	msg, err := encodeStart(p.argv, p.env, rlimits(p.limits, p.backstop, p.volume), affinity)
	if err != nil {
		return nil, err
	}
	wallStart := time.Now()
	sh.clock.reset()
	w.started = monotonic()
	// A shell that is gone already has said why; the watch hears it.
	if err := sh.sock.send(msg); err != nil && !errors.Is(err, unix.EPIPE) {
		return nil, fmt.Errorf("start: %w", err)
	}

	// 5. watch: the program has ended, by itself or because a limit said so.
	if err := c.step("run watch"); err != nil {
		return nil, err
	}
	if err := w.run(ctx); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	if w.cutOff() {
		w.ev.Canceled, w.stopped = true, true
	}

	// 6. stop: nothing of the run is alive. The group is the proof, not the exit.
	if err := c.step("run stop"); err != nil {
		return nil, err
	}
	outlived := false
	if err := w.empty(); err != nil {
		if outlived = w.endKnown() && errors.Is(err, errOutlived); !outlived {
			return nil, fmt.Errorf("stop: %w", err)
		}
	}
	if err := errors.Join(s.wall.set(0), s.cpu.set(0)); err != nil {
		return nil, fmt.Errorf("stop: %w", err)
	}

	// 7. collect: output, files and figures, from handles nobody else holds.
	if err := c.step("run collect"); err != nil {
		return nil, err
	}
	if err := w.drain(); err != nil {
		return nil, fmt.Errorf("collect: %w", err)
	}
	if v := sh.visit; v != nil {
		w.logged, w.refused = v.calls.told()
	}
	usage, err := sh.leaf.Usage()
	if err != nil {
		return nil, fmt.Errorf("collect: %w", err)
	}
	usage = withPlaced(usage, w.placed)
	if err := w.conclude(p, usage); err != nil {
		return nil, err
	}
	o = &outcome{ev: w.ev, usage: w.usage(usage), logged: w.logged, refused: w.refused, exitCode: w.ev.ExitCode}
	o.outlived = outlived
	switch {
	case w.ev.Canceled || w.ev.SetupOOM || p.collect.None:
	case outlived: // what is alive may write to them, and exchange names
		o.skipped = []api.Skipped{uncollected(fmt.Sprintf("not collected: processes of the run were alive %s after they were killed", deathTime))}
	default:
		o.files, o.skipped, err = collect(ctx, sh.scratch.box, p.collect, p.artifacts, placed)
		switch {
		case err != nil && errors.Is(err, ctx.Err()): // nobody waits for the rest of it
			o.ev.Canceled = true
		case err != nil:
			return nil, err
		}
	}
	o.timing = w.timing(begun, wallStart)
	whole = true
	return o, nil
}

// connect arms the poller for this shell and feeds stdin.
func (w *watch) connect(streams Streams) error {
	p, sh := w.slot.poller, w.shell
	err := errors.Join(
		p.add(sh.sock.file, pollIn, tagReply),
		p.add(sh.pidfd, pollIn, tagShell),
		p.add(sh.stdout, pollIn, tagStdout),
		p.add(sh.stderr, pollIn, tagStderr),
	)
	oom, events := sh.leaf.OOMEvent()
	err = errors.Join(err, p.add(oom, uint32(events), tagOOM)) // poll's and epoll's bits are the same
	if w.cell.listener != nil {
		w.locks.calls = lockBatch // its group is empty: it holds none
		if w.cell.key.sharesFiles() {
			own, oerr := ownFilesOf(sh.scratch.root)
			w.own, err = own, errors.Join(err, oerr)
		}
		w.calls = listening{listener: w.cell.listener, poller: p, tag: tagNotify, timer: w.slot.pace}
		w.calls.pace.start(monotonic())
		err = errors.Join(err, p.add(w.cell.listener, pollIn, tagNotify))
	}
	if v := sh.visit; v != nil { // the session listens for all of its execs
		v.calls.watched(w.slot.wake.wake)
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
	if err := w.feed(); err != nil {
		return err
	}
	if len(w.stdin) == 0 {
		return sh.stdin.Close()
	}
	return p.add(sh.stdin, unix.EPOLLOUT, tagStdin)
}

// disconnect takes back what connect armed and Close alone would not: handles
// that stay open after the run.
func (w *watch) disconnect() error {
	p, sh := w.slot.poller, w.shell
	err := errors.Join(p.drop(sh.sock.file), p.drop(sh.pidfd), p.drop(sh.stdin), p.drop(sh.stdout), p.drop(sh.stderr))
	oom, _ := sh.leaf.OOMEvent()
	err = errors.Join(err, p.drop(oom))
	if v := sh.visit; v != nil {
		v.calls.watched(nil)
	}
	if w.cell.listener != nil {
		err = errors.Join(err, w.calls.end())
	}
	return err
}

// conclude completes the evidence, and separates the program's fate from ours.
func (w *watch) conclude(p *plan, u groups.Usage) error {
	ev := &w.ev
	if v := w.shell.visit; v != nil { // the memory limit that was met may be the session's
		above, err := v.limitHits()
		if err != nil {
			return err
		}
		u.LimitHits += above
	}
	ev.OOMKills, ev.MemoryHits, ev.PidsHits = uint64(u.OOMKills), uint64(u.LimitHits), uint64(u.PidsHits)
	ev.CPU, ev.Peak = api.Duration(u.CPU), api.Size(u.MemoryPeak)
	ev.Signal = int(unix.SIGKILL) // unless the shell says otherwise
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
	ev.OutOfHeap = p.outOfHeap(*ev, w.out[1].tail)
	ev.ScratchHit = ev.Signal == int(unix.SIGXFSZ) // RLIMIT_FSIZE is the limit of scratch
	full, inodes, err := w.shell.scratch.full()
	if err != nil {
		return err
	}
	ev.ScratchHit, ev.InodesHit = ev.ScratchHit || full, inodes
	if w.cell.key.writable {
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
		return w.unstarted(p)
	case !w.replied && !w.stopped && u.OOMKills > 0:
		ev.SetupOOM = true // killed between clone and exec, where shell and program share their memory
	case !w.replied && !w.stopped:
		return errors.New("the shell ended without a report")
	}
	return nil
}

// usage gives every figure its source.
func (w *watch) usage(u groups.Usage) api.Usage {
	figure := func(v int64, source string) api.Figure {
		if source == "" {
			return api.Unknown("this kernel keeps no such counter")
		}
		return api.Known(v, source)
	}
	pids := api.Unknown("pids.peak cannot be reset between runs")
	if u.PidsPeakKnown {
		pids = api.Known(u.PidsPeak, u.Sources.PidsPeak)
	}
	out := api.Usage{
		CPU:          figure(int64(u.CPU), u.Sources.CPU),
		Memory:       figure(u.MemoryPeak, u.Sources.MemoryPeak),
		Pids:         pids,
		OOMKills:     figure(u.OOMKills, u.Sources.OOMKills),
		ForksRefused: figure(u.PidsHits, u.Sources.PidsHits),
		StdoutBytes:  w.out[0].total,
		StderrBytes:  w.out[1].total,
	}
	const source = "wait4"
	if w.replied {
		out.User = api.Known(int64(w.reply.UserUs)*1000, source)
		out.System = api.Known(int64(w.reply.SystemUs)*1000, source)
		out.MaxRSS = api.Known(int64(w.reply.MaxRSSKiB)<<10, source)
	} else {
		gone := api.Unknown("the run was killed before it could be waited for")
		out.User, out.System, out.MaxRSS = gone, gone, gone
	}
	return out
}
