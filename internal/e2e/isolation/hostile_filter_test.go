package isolation

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/seccomp/bpf"
)

// SEC-03, SEC-31: the instructions that the kernel holds for a running program are those that
// seccomp/bpf compiles for its profile, which the simulator runs and the model is compared with:
// both parts and nothing else, under every tier, in both modes of a profile, in a fresh cell, in a
// kept one, and in a kept one after a run that left as much as it could.
func TestHostileLoadedFilter(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	probe := harness.BuildProbe(t, "sweep", "-nostdlib", "-s", "-Wl,-z,noseparate-code")
	residue := harness.BuildProbe(t, "residue")
	for _, tier := range seccomp.Tiers() {
		for _, enforced := range []api.ProfileMode{api.Enforce, api.Log} {
			t.Run(fmt.Sprintf("%s %s", tier, enforced), func(t *testing.T) {
				want := compiledParts(t, tier, enforced)
				r := harness.Program(probe, fmt.Sprint(unix.SYS_PAUSE))
				r.Profile, r.ProfileMode, r.Limits, r.Collect.None = tier, enforced, harness.HostileLimits(), true
				var kept string // the cell's user namespace
				for _, kind := range []string{"fresh", "kept", "used"} {
					r.Mode = api.Strict
					if kind == "fresh" {
						r.Mode = api.Fresh
					}
					if kind == "used" {
						before := harness.Program(residue)
						before.Profile, before.ProfileMode, before.Limits = tier, enforced, harness.HostileLimits()
						a.MustRun(t, before)
					}

					got, cell := loadedFilters(t, a, r)
					if kind == "used" && cell != kept {
						t.Errorf("used: cell %s is another than %s", cell, kept)
					}

					kept = cell
					if len(got) != len(want) {
						t.Fatalf("%s: %d filters are loaded; want %d", kind, len(got), len(want))
					}

					for i, part := range []string{"wide", "last"} {
						if !bytes.Equal(got[i], want[i]) {
							t.Errorf("%s: the %s part has %d instructions loaded, %d compiled, and they differ", kind, part, len(got[i])/8, len(want[i])/8)
						}
					}
				}
			})
		}
	}
}

// compiledParts returns both parts of a tier's filter, oldest first.
func compiledParts(t *testing.T, tier string, mode api.ProfileMode) [][]byte {
	t.Helper()
	p, err := seccomp.Tier(tier)
	if err != nil {
		t.Fatal(err)
	}
	if mode == api.Log {
		p = seccomp.LogMode(p)
	}

	wide, last := seccomp.Split(p)
	var parts [][]byte
	for _, part := range []seccomp.Profile{wide, last} {
		raw, err := bpf.Compile(part)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, raw)
	}

	return parts
}

// loadedFilters starts r, which waits, reads its filters from the kernel, oldest first, and ends
// it; cell is its user namespace.
func loadedFilters(t *testing.T, a *harness.Agent, r api.Run) (filters [][]byte, cell string) {
	t.Helper()
	name := fmt.Sprintf("filtered-%d", os.Getpid())
	r.Files[0].Name, r.Argv[0] = name, "./"+name
	done := make(chan struct{})
	go func() { // joined below
		defer close(done)
		res, err := a.Run(t.Context(), r)
		if err != nil || res.Signal != int(unix.SIGKILL) {
			t.Errorf("run: verdict %s, signal %d, %v; want the signal that ends it", res.Verdict, res.Signal, err)
		}
	}()

	defer func() { <-done }()

	pid := harness.FindProcess(t, "./"+name)
	defer func() {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Errorf("end the run: %v", err)
		}
	}()

	cell, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid))
	if err != nil {
		t.Fatal(err)
	}

	goruntime.LockOSThread() // the tracer is a thread
	defer goruntime.UnlockOSThread()

	if err := errors.Join(unix.PtraceSeize(pid), unix.PtraceInterrupt(pid)); err != nil {
		t.Fatalf("stop the program: %v", err)
	}

	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil || !ws.Stopped() {
		t.Fatalf("stop the program: %v, %#x", err, ws)
	}

	for nth := range 8 {
		raw, err := loadedFilter(pid, nth)
		if errors.Is(err, unix.ENOENT) {
			break
		}
		if err != nil {
			t.Fatal(os.NewSyscallError("ptrace PTRACE_SECCOMP_GET_FILTER", err))
		}
		filters = append(filters, raw)
	}

	if err := unix.PtraceDetach(pid); err != nil {
		t.Fatalf("let the program go: %v", err)
	}
	return filters, cell
}

// loadedFilter asks the kernel for the nth filter of a stopped process, 0 being the oldest:
// PTRACE_SECCOMP_GET_FILTER, since Linux 4.4, requires CAP_SYS_ADMIN and a kernel with
// CONFIG_CHECKPOINT_RESTORE. The kernel keeps the instructions as they were loaded.
func loadedFilter(pid, nth int) ([]byte, error) {
	const getFilter = 0x420c
	n, _, errno := unix.Syscall6(unix.SYS_PTRACE, getFilter, uintptr(pid), uintptr(nth), 0, 0, 0)
	if errno != 0 {
		return nil, errno
	}
	raw := make([]byte, 8*n)
	_, _, errno = unix.Syscall6(unix.SYS_PTRACE, getFilter, uintptr(pid), uintptr(nth), uintptr(unsafe.Pointer(&raw[0])), 0, 0)
	if errno != 0 {
		return nil, errno
	}
	return raw, nil
}
