package bpf

import (
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/seccomp"
)

const childEnv = "BRIG_SECCOMP_TEST_CHILD"

// TestMain lets the test binary load a tier's two parts into itself and become
// the program named by its arguments.
func TestMain(m *testing.M) {
	if tier := os.Getenv(childEnv); tier != "" {
		loadAndExec(tier, os.Args[1:])
	}
	if os.Getenv(notifyEnv) != "" {
		listened()
	}
	os.Exit(m.Run())
}

func loadAndExec(name string, argv []string) {
	goruntime.LockOSThread() // a filter belongs to the thread that loads it
	p, err := seccomp.Tier(name)
	must(err)
	wide, last := seccomp.Split(p)
	w, err := Compile(wide)
	must(err)
	l, err := Compile(last)
	must(err)
	must(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	for _, raw := range [][]byte{l, w} { // last part first: under the wide part only cellinit's code may load another
		prog := unix.SockFprog{Len: uint16(len(raw) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&raw[0]))}
		_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, 1, 0, uintptr(unsafe.Pointer(&prog)))
		if errno != 0 {
			must(errno)
		}
	}

	path, err := exec.LookPath(argv[0])
	must(err)
	must(syscall.Exec(path, argv, nil))
}

func must(err error) {
	if err != nil {
		println("child:", err.Error())
		os.Exit(99)
	}
}

// The kernel accepts both parts, and a program starts and ends under them: for every tier,
// with programs of this machine.
func TestProgramsRunBelowBothParts(t *testing.T) {
	for _, tt := range []struct {
		tier, name string
		argv       []string
		want       string
	}{
		{"strict", "a program starts and ends", []string{"/bin/true"}, ""},
		{"strict", "a program writes", []string{"/bin/echo", "hello"}, "hello\n"},
		{"strict", "a shell cannot fork", []string{"/bin/sh", "-c", "/bin/true & wait; echo no"}, "!Cannot fork"},
		{"default", "a shell pipes", []string{"/bin/sh", "-c", "echo hello | cat"}, "hello\n"},
		{"default", "a mount is refused", []string{"/bin/sh", "-c", "mount -t tmpfs none /mnt 2>&1; echo done"}, "done\n"},
		{"managed", "a shell pipes", []string{"/bin/sh", "-c", "echo hello | cat"}, "hello\n"},
		{"compile", "a shell pipes", []string{"/bin/sh", "-c", "echo hello | cat"}, "hello\n"},
	} {
		t.Run(tt.tier+": "+tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe", tt.argv...)
			cmd.Env = []string{childEnv + "=" + tt.tier, "PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
			out, err := cmd.CombinedOutput()
			if want, wantErr := strings.CutPrefix(tt.want, "!"); wantErr {
				if err == nil || !strings.Contains(string(out), want) {
					t.Errorf("%v, %q; want it to fail with %q", err, out, want)
				}
			} else if err != nil || !strings.HasSuffix(string(out), tt.want) {
				t.Errorf("%v, %q; want %q", err, out, tt.want)
			}
		})
	}
}
