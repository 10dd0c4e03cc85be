package cell

import (
	"errors"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A clockPage is one page of memory that a cell's shells share with the agent. The process that
// becomes the program writes the instant of its exec into a word of the page: the first word, or in
// a session, where several programs run at once, a word of its own. So the agent knows when the
// wall limit begins without one more message per run. The program cannot access the page: exec
// replaced its memory.
type clockPage struct{ mem []byte }

// newClockPage makes a page and returns the file that the other side maps.
func newClockPage() (*os.File, clockPage, error) {
	n, err := unix.MemfdCreate("brig-clock", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, clockPage{}, os.NewSyscallError("memfd_create", err)
	}

	f := os.NewFile(uintptr(n), "clock")
	size := os.Getpagesize()
	if err := f.Truncate(int64(size)); err != nil {
		return nil, clockPage{}, errors.Join(err, f.Close())
	}

	mem, err := unix.Mmap(n, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, clockPage{}, errors.Join(os.NewSyscallError("mmap", err), f.Close())
	}
	return f, clockPage{mem}, nil
}

// A clock is one word of the page.
type clock struct{ word *uint64 }

// Clock returns word i of the page.
func (c clockPage) Clock(i uint32) clock { return clock{(*uint64)(unsafe.Pointer(&c.mem[8*i]))} }

// reset clears the instant of the previous run.
func (c clock) reset() { atomic.StoreUint64(c.word, 0) }

// Exec is when the program was executed, on the monotonic clock; zero before that.
func (c clock) Exec() time.Duration { return time.Duration(atomic.LoadUint64(c.word)) }

// Close unmaps the page. No clock of it may be used afterwards.
func (c clockPage) Close() error {
	if c.mem == nil {
		return nil
	}
	return os.NewSyscallError("munmap", unix.Munmap(c.mem))
}
