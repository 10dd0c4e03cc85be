package run

import (
	"errors"
	"os"

	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// terminalHeld is what the kernel keeps at most of what a program wrote to its terminal: the buffer of a tty and that
// of its line discipline (tty_buffer_set_limit in drivers/tty/pty.c, N_TTY_BUF_SIZE).
const terminalHeld = 64<<10 + 4<<10

// openTerminal gives a program a terminal instead of the pipes of its shell. The agent keeps the master, from which
// it reads stdout and to which it writes what is typed, and returns the slave, which the program gets.
func (w *supervisor) openTerminal(p *plan.Run) (slave *os.File, err error) {
	if p.TTY == nil {
		return nil, nil
	}

	sh := w.Shell
	base := plan.SlotIDs(w.Cell.Slot)
	rows, cols := p.TTY.Size()
	master, slave, err := linux.OpenPTY(rows, cols, base+plan.UID, base+plan.GID)
	if err != nil {
		return nil, err
	}

	typed, err := linux.Copy(master)
	if err = errors.Join(err, sh.Stdin.Close(), sh.Stdout.Close()); err != nil {
		return nil, errors.Join(err, master.Close(), slave.Close())
	}

	sh.Stdin, sh.Stdout = typed, master
	w.out[0].File = master
	w.terminal = true
	return slave, nil
}
