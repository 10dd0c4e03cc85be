package runtime

import (
	"errors"
	"fmt"
	"os"
	"time"

	groups "github.com/brig-sandbox/brig/cgroups"
)

// The time that the kernel has to take down the processes of a run that were all killed.
// One whose end is known has deathTime, because a limit ended it, nobody waits for it any
// more, or its first process has ended by itself: a program can make its memory such that
// the kernel works on it for a long time. So have the processes of a session that ends. Any
// other has emptyTimeout. A process that outlives these takes the cell with it.
var (
	deathTime    = 120 * time.Second
	emptyTimeout = 10 * time.Second
	buryTimeout  = 10 * time.Second // of a shell, whose other processes have ended
)

// usualDeath is what the kernel takes at most for what an ordinary program leaves.
const usualDeath = 100 * time.Millisecond

// errOutlived says that processes of a run are there still when its time to die is over.
var errOutlived = errors.New("processes remain in the group after SIGKILL")

// empty proves that the group holds no process. Mostly it is so already when the
// shell reports. What is left dies with the shell, which ends its pid namespace. What
// an exec that ended by itself has left is its session's.
func (w *watch) empty() error {
	if err := w.disconnect(); err != nil {
		return err
	}
	patience := emptyTimeout
	if w.endKnown() {
		patience = deathTime
	}
	if w.shell.visit != nil {
		if !w.stopped {
			return nil
		}
		return w.shell.clear(patience)
	}
	empty, err := w.shell.leaf.Empty()
	if err != nil || empty {
		return err
	}
	if err := w.lateDenial(); err != nil {
		return err
	}
	if err := w.shell.kill(); err != nil {
		return err
	}
	deadline := monotonic() + patience
	err = waitReadable(w.shell.pidfd, min(patience, usualDeath))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.shell.killGroup()
		err = waitReadable(w.shell.pidfd, deadline-monotonic())
	}
	if err != nil {
		return fmt.Errorf("the shell does not end: %w", errors.Join(err, errOutlived))
	}
	// The end of the pid namespace leaves no process. Should one be left, the group is killed: a
	// second layer.
	err = untilEmpty(w.shell.leaf, min(deadline-monotonic(), usualDeath))
	if errors.Is(err, errOutlived) {
		w.shell.killGroup()
		err = untilEmpty(w.shell.leaf, deadline-monotonic())
	}
	return err
}

// endKnown reports whether the verdict can be told, however long the rest takes to die.
func (w *watch) endKnown() bool { return w.stopped || w.replied }

// untilEmpty waits until the processes of a group, which were killed, are gone.
func untilEmpty(leaf *groups.Leaf, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		empty, err := leaf.Empty()
		switch {
		case err != nil || empty:
			return err
		case time.Now().After(deadline):
			return errOutlived
		}
		time.Sleep(pause)
	}
}

// span is when the program began and when it ended, on the monotonic clock. One that we
// ended has ended when SIGKILL had gone out: what the kernel then takes to take its
// memory down is not its own.
func (w *watch) span() (exec, exit time.Duration) {
	exec, exit = w.started, monotonic()
	if w.replied {
		exec, exit = time.Duration(w.reply.ExecNs), time.Duration(w.reply.ExitNs)
	} else if at := w.shell.clock.exec(); at > 0 {
		exec = at
	}
	if w.killed > exec {
		exit = min(exit, w.killed)
	}
	return exec, exit
}
