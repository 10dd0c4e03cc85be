package run

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A control is what a program writes to its descriptor 4. A message there says something of the output before it, such as
// that it is complete. So the agent passes a message on after everything that stdout and stderr held when it read the
// message: the program wrote that before, in whichever process and through whichever library.
type control struct {
	*outputs.Stream
	parked bool

	// waits: the stream has kept a message, which waits until what was written before it has been passed on. Meanwhile
	// nothing that is younger is read, so a program that writes without end delays no message.
	waits bool
	owed  [2]int64 // bytes of stdout and stderr that were written before the message, and are not read yet
}

// holds reports whether a stream is not to be read before the message is passed on.
func (c *control) holds(i int) bool { return c != nil && c.waits && c.owed[i] <= 0 }

// read notes that n bytes of stdout or stderr were read.
func (c *control) read(i int, n int64) {
	if c != nil {
		c.owed[i] -= n
	}
}

// due reports whether the message may be passed on: all older output is with the caller.
func (c *control) due(out *outputs.Streams) bool {
	for i := range out {
		if c.owed[i] > 0 && !out[i].Ended || out[i].Busy() {
			return false
		}
	}
	return c.waits && !c.Busy()
}

// openControl gives a program its descriptors 3 and 4, and returns its ends of the two pipes.
func (w *supervisor) openControl(p *plan.Run, stream *outputs.Stream) (theirs []*os.File, err error) {
	if !p.Control {
		return nil, nil
	}
	if stream == nil {
		return nil, errors.New("BUG: a program with control, and nobody takes it")
	}

	sh, base := w.Shell, plan.SlotIDs(w.Cell.Slot)
	var ends [2]*os.File
	for i, ours := range []**os.File{&sh.ControlIn, &sh.ControlOut} {
		if *ours, ends[i], err = cell.Pipe(i == 0, base+plan.UID, base+plan.GID); err != nil {
			closeAll(theirs)
			return nil, err
		}
		theirs = append(theirs, ends[i])
	}

	stream.File = sh.ControlOut
	w.control = &control{Stream: stream}
	return theirs, nil
}

// closeAll closes files, a second time or the first.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // closed already, or the program has its own copy
	}
}

// onControl reads a message, and how much of the output is older.
func (w *supervisor) onControl() error {
	c := w.control
	if !c.waits {
		before := c.Total
		if _, err := c.Read(w.Slot.Chunk, true); err != nil {
			return err
		}
		if c.Over() && !w.stopped {
			w.ev.OutputFull = true
			return w.stop()
		}
		if err := w.await(c, c.Total-before); err != nil {
			return err
		}
	}

	c.parked = true
	if err := w.Slot.Poller.Remove(c.File); err != nil {
		return err
	}
	return w.resumeOutputs()
}

// await notes what is older than a message of n bytes that was read.
func (w *supervisor) await(c *control, n int64) error {
	if pause := w.throttle(c.Stream, n); pause > 0 {
		if err := w.Slot.Throttle.Set(linux.Monotonic() + pause); err != nil {
			return err
		}
	}

	c.waits = n > 0
	for i := range w.out {
		held, err := unix.IoctlGetInt(linux.FD(w.out[i].File), unix.TIOCINQ)
		if err != nil {
			return os.NewSyscallError("ioctl FIONREAD", err)
		}
		c.owed[i] = int64(held)
	}
	return nil
}

// passControl passes the message on when it is due, and reads on.
func (w *supervisor) passControl() error {
	c := w.control
	if c == nil {
		return nil
	}
	if c.due(w.out) {
		c.Pass()
		c.waits = false
	}

	if c.parked && !c.waits && !c.Ended && !c.Busy() && !c.Throttled {
		c.parked = false
		return w.Slot.Poller.Add(c.File, unix.EPOLLIN, tagControl)
	}
	return nil
}

// drainControl reads what is left in the pipe when the program has ended, at most what fits into it, and keeps it: it is
// passed on after the output, which was read before.
func (w *supervisor) drainControl() error {
	c := w.control
	if c == nil || c.Ended {
		return nil
	}

	held, err := unix.FcntlInt(uintptr(linux.FD(c.File)), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		return os.NewSyscallError("fcntl F_GETPIPE_SZ", err)
	}
	for from := c.Total; c.Total-from < int64(held); {
		more, err := c.Read(w.Slot.Chunk, true)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}

	w.ev.OutputFull = w.ev.OutputFull || c.Over()
	return nil
}

// attached is what reaches the program while it runs.
func (w *supervisor) attached(signal func(api.Signal) error) (a api.Attached, err error) {
	sh := w.Shell
	a = api.Attached{Signal: signal, Resident: w.resident}
	if a.Stdin, err = linux.PolledCopy(sh.Stdin); err != nil {
		return a, err
	}

	if sh.ControlIn != nil {
		if a.Control, err = linux.PolledCopy(sh.ControlIn); err != nil {
			return a, errors.Join(fmt.Errorf("control: %w", err), a.Stdin.Close())
		}
	}
	return a, nil
}
