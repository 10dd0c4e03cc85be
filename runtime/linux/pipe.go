package linux

import (
	"os"

	"golang.org/x/sys/unix"
)

// largePipe is the capacity that the kernel permits everybody by default (fs.pipe-max-size, Linux 2.6.35).
const largePipe = 1 << 20

// EnlargePipe gives a pipe a capacity of 1 MiB instead of 64 KiB. Where the kernel permits less, the pipe keeps
// its capacity: it works as well, with more wake-ups.
func EnlargePipe(f *os.File) {
	_, _ = unix.FcntlInt(uintptr(FD(f)), unix.F_SETPIPE_SZ, largePipe)
}
