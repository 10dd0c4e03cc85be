package run

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// The pipes that a manager opens by name belong to the agent, also those of a shell, which are the
// program's before: their owner could change their mode. Both sides may open them, and a handle itself is
// no end (GRD-25).
func TestPipesOfManagersBelongToTheAgent(t *testing.T) {
	const user = 12345
	for _, byName := range []bool{false, true} {
		var sh cell.Shell
		for i, ours := range []**os.File{&sh.Stdin, &sh.Stdout} {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()

			*ours = r
			if i == 0 {
				*ours = w
			}
			if os.Geteuid() == 0 { // as NewShell makes them
				if err := unix.Fchown(linux.FD(*ours), user, user); err != nil {
					t.Fatal(err)
				}
			}
		}

		c, err := newChannel(&sh, linking{manager: true, byName: byName})
		if err != nil {
			t.Fatal(err)
		}

		for _, f := range []*os.File{c.inHandle, c.outHandle} {
			var st unix.Stat_t
			if err := unix.Fstat(linux.FD(f), &st); err != nil {
				t.Fatal(err)
			}
			if int(st.Uid) != os.Geteuid() || st.Mode != unix.S_IFIFO|0o666 {
				t.Errorf("by name %v: the pipe is of user %d with mode %o", byName, st.Uid, st.Mode)
			}
			if _, err := unix.Read(linux.FD(f), make([]byte, 1)); err != unix.EBADF {
				t.Errorf("by name %v: reading a handle: %v", byName, err)
			}
		}

		if err := c.close(); err != nil {
			t.Error(err)
		}
	}
}
