package bpf

import (
	"fmt"
	"os"
	"os/exec"
	goruntime "runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/seccomp"
)

// notifyEnv makes TestMain run the filtered half of TestKillSetReachesListener.
const notifyEnv = "BRIG_SECCOMP_TEST_NOTIFY"

// notif and notifResp are struct seccomp_notif and seccomp_notif_resp
// (include/uapi/linux/seccomp.h, since Linux 5.0).
type notif struct {
	ID    uint64
	PID   uint32
	Flags uint32
	Nr    int32
	Arch  uint32
	IP    uint64
	Args  [6]uint64
}

type notifResp struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

const (
	notifRecv = 0xc0502100
	notifSend = 0xc0182101
)

// watched returns calls for which the default tier kills, one of another ABI, one that the
// agent refuses and names in the result, and one that the kernel refuses itself.
func watched() []uintptr {
	return []uintptr{unix.SYS_PTRACE, unix.SYS_KEYCTL, unix.SYS_BPF, unix.SYS_GETPID | seccomp.X32Bit, unix.SYS_MOUNT, unix.SYS_USERFAULTFD}
}

// listened loads the wide part with a listener, then the last part, makes the
// watched calls, and prints the result of each call and what the listener received.
func listened() {
	goruntime.LockOSThread()
	fds := make(chan int)
	seen := make(chan notif, 8)
	go func() { // ends with the process
		goruntime.LockOSThread() // this thread is not under the filter
		fd := <-fds
		for {
			var n notif
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), notifRecv, uintptr(unsafe.Pointer(&n))); errno != 0 {
				return
			}

			resp := notifResp{ID: n.ID, Error: -int32(unix.EXDEV)}
			if n.Nr == unix.SYS_SECCOMP { // loads the last part, as cellinit's code does
				resp = notifResp{ID: n.ID, Flags: 1} // SECCOMP_USER_NOTIF_FLAG_CONTINUE
			} else {
				seen <- n
			}

			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), notifSend, uintptr(unsafe.Pointer(&resp)))
			if errno != 0 {
				must(errno)
			}
		}
	}()

	p, err := seccomp.Tier("default")
	must(err)
	wide, last := seccomp.Split(p)
	must(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))

	for _, part := range []struct {
		p     seccomp.Profile
		flags uintptr
	}{{wide, 8}, {last, 0}} { // SECCOMP_FILTER_FLAG_NEW_LISTENER
		raw, err := Compile(part.p)
		must(err)
		prog := unix.SockFprog{Len: uint16(len(raw) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&raw[0]))}
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, 1, part.flags, uintptr(unsafe.Pointer(&prog)))
		if errno != 0 {
			must(errno)
		}
		if part.flags != 0 {
			fds <- int(fd)
		}
	}

	for _, nr := range watched() {
		_, _, errno := unix.Syscall(nr, 0, 0, 0)
		text := fmt.Sprintf("%#x: %s", nr, unix.ErrnoName(errno))
		select {
		case n := <-seen:
			text += fmt.Sprintf(", seen %#x %q arch %#x", n.Nr, seccomp.Name(n.Nr, ""), n.Arch)
		default:
		}
		fmt.Println(text)
	}

	os.Exit(0)
}

// SEC-05, SEC-15, SEC-17, SEC-22: calls of the kill set, foreign numbers and refused calls
// reach the listener with their number, although a second filter was loaded after it; calls
// that libraries can do without do not.
func TestKillSetReachesListener(t *testing.T) {
	if goruntime.GOARCH != "amd64" {
		t.Skip("x32 is amd64's")
	}

	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = []string{notifyEnv + "=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	want := `0x65: EXDEV, seen 0x65 "ptrace" arch 0xc000003e
0xfa: EXDEV, seen 0xfa "keyctl" arch 0xc000003e
0x141: EXDEV, seen 0x141 "bpf" arch 0xc000003e
0x40000027: EXDEV, seen 0x40000027 "" arch 0xc000003e
0xa5: EXDEV, seen 0xa5 "mount" arch 0xc000003e
0x143: ENOSYS
`
	if string(out) != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
