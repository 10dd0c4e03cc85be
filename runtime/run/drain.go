package run

import (
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// drain reads what the program left in the pipes when it ended, at most what fits into them. drain
// keeps this output in memory: it must not wait for a slow caller, because the slot is still
// leased. Processes that an exec left running may write for ever. So for an exec, drain reads at
// most the capacity of each pipe.
func (w *supervisor) drain() error {
	for i := range w.out {
		if i == 0 && w.link.hasStdio() && !w.link.readsOutput {
			continue // it belongs to the interactor
		}

		from, held := w.out[i].Total, int64(math.MaxInt64)
		switch {
		case i == 0 && w.terminal:
			held = terminalHeld
		case w.Session != nil:
			n, err := unix.FcntlInt(uintptr(linux.FD(w.out[i].File)), unix.F_GETPIPE_SZ, 0)
			if err != nil {
				return os.NewSyscallError("fcntl F_GETPIPE_SZ", err)
			}
			held = int64(n)
		}

		for w.out[i].Total-from < held {
			more, err := w.out[i].Read(w.Slot.Chunk, true)
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}

		if w.out[i].Over() {
			w.ev.OutputFull = true
		}
	}

	if err := w.drainControl(); err != nil {
		return err
	}

	if w.ev.OutputFull && w.Session != nil {
		return w.Shell.KillProcesses(cell.KillTimeout) // a limit ends all processes of an exec, also those that it left running
	}
	return nil
}
