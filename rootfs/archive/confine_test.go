package archive

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// emptyDir makes the directory that a child is confined to.
func emptyDir(t *testing.T) *os.File {
	t.Helper()
	testenv.NeedRoot(t)
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestAdmissionChildHasNothing(t *testing.T) {
	c := newChild(t.Context(), emptyDir(t), wholeTree, Bounds{}.WithDefaults())
	if err := c.start(); err != nil {
		t.Fatal(err)
	}

	proc := fmt.Sprintf("/proc/%d", c.cmd.Process.Pid)
	var status string
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(proc + "/status")
		if err != nil {
			t.Fatal(err)
		}
		if status = string(text); strings.Contains(status, "Seccomp:\t2") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no filter after a minute:\n%s", status)
		}
	}

	for _, want := range []string{
		"Uid:\t65534\t65534\t65534\t65534", "Gid:\t65534\t65534\t65534\t65534", `Groups:\t *\n`, "NoNewPrivs:\t1",
		"CapInh:\t0{16}", "CapPrm:\t0{16}", "CapEff:\t0{16}", "CapAmb:\t0{16}",
	} {
		if !regexp.MustCompile(want).MatchString(status) {
			t.Errorf("status does not match %q:\n%s", want, status)
		}
	}

	tasks, err := filepath.Glob(proc + "/task/*/status")
	if err != nil || len(tasks) == 0 {
		t.Fatalf("threads: %v, %v", tasks, err)
	}

	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		if s := string(text); s != "" &&
			(!strings.Contains(s, "Seccomp:\t2") || !strings.Contains(s, "CapEff:\t0000000000000000") || !strings.Contains(s, "NoNewPrivs:\t1")) {
			t.Errorf("a thread escaped confinement:\n%s", s)
		}
	}

	for _, ns := range []string{"user", "mnt", "net", "ipc", "pid", "uts"} {
		ours, err1 := os.Readlink("/proc/self/ns/" + ns)
		its, err2 := os.Readlink(proc + "/ns/" + ns)
		if err1 != nil || err2 != nil || ours == its {
			t.Errorf("%s namespace: ours %s, its %s (%v, %v); want another", ns, ours, its, err1, err2)
		}
	}

	if files, err := os.ReadDir(proc + "/root"); err != nil || len(files) != 0 {
		t.Errorf("its root holds %v, %v; want nothing", files, err)
	}

	fds, err := os.ReadDir(proc + "/fd")
	if err != nil || len(fds) < 3 {
		t.Errorf("descriptors %v, %v", fds, err)
	}

	for _, fd := range fds {
		if to, _ := os.Readlink(proc + "/fd/" + fd.Name()); !regexp.MustCompile(`^pipe:|^anon_inode:`).MatchString(to) {
			t.Errorf("descriptor %s is %s; want only pipes and the runtime's poller", fd.Name(), to)
		}
	}

	c.stdin.Close()
	if err := c.wait(); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("a child without input says %v; want that it is empty", err)
	}
}

// probes are attempts to escape. Each runs in its own admission child.
var probes = map[string]func() error{
	"open a file":     func() error { _, err := os.Open("/"); return err },
	"make a socket":   func() error { _, err := net.Dial("udp", "127.0.0.1:9"); return err },
	"start a process": func() error { return exec.Command("/bin/true").Run() },
	"fork": func() error {
		_, _, e := syscall.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
		return errnoErr(e)
	},
	"kill":               func() error { return unix.Kill(1, unix.SIGTERM) },
	"become root":        func() error { return unix.Setresuid(0, 0, 0) },
	"mount":              func() error { return unix.Mount("none", "/", "tmpfs", 0, "") },
	"unshare":            func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"trace":              func() error { return unix.PtraceAttach(1) },
	"make memory a file": func() error { _, err := unix.MemfdCreate("x", 0); return err },
	"read its keyring":   func() error { _, err := unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, -3, 0, 0, 0); return err },
}

func errnoErr(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

const hungry = "use two gigabytes"

func probeMain() int {
	if err := confine(Bounds{}.WithDefaults()); err != nil {
		return report(err)
	}
	name := os.Getenv("BRIG_PROBE")
	if name == hungry {
		return len(make([]byte, 2<<30)[os.Getpid():]) & 1
	}
	if err := probes[name](); err != nil {
		return report(err)
	}
	return 0
}

// probe runs one of the probes and returns how the child ended.
func probe(t *testing.T, name string) error {
	t.Helper()
	c := newChild(t.Context(), emptyDir(t), wholeTree, Bounds{}.WithDefaults())
	c.cmd.Args[1] = "probe"
	c.cmd.Env = append(c.cmd.Env, "BRIG_PROBE="+name)
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	return c.wait()
}

func TestAdmissionChildIsKilledForAnyOtherCall(t *testing.T) {
	for name := range probes {
		t.Run(name, func(t *testing.T) {
			err := probe(t, name)
			if err == nil || !strings.Contains(err.Error(), "does not allow") {
				t.Errorf("it ended with %v; want death by the filter", err)
			}
		})
	}
}

func TestAdmissionChildCannotMapWithoutEnd(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector maps more than any limit")
	}
	if err := probe(t, hungry); err == nil ||
		!strings.Contains(err.Error(), "out of memory") && !strings.Contains(err.Error(), "cannot allocate") &&
			!strings.Contains(err.Error(), "needs more memory") {
		t.Errorf("it ended with %v; want it out of memory", err)
	}
}
