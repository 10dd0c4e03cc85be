package limits

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/seccomp"
)

// everyCall makes the calls that cellinit also makes, and some of a program's startup, and ends
// without a call of the C library.
const everyCall = `#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
#include <fcntl.h>
#include <time.h>
int main(void) {
	char b; struct timespec t; long old[4], set = 0;
	syscall(SYS_read, 0, &b, 1);
	syscall(SYS_chdir, "/tmp");
	syscall(SYS_dup2, 1, 9);
	syscall(SYS_umask, 2);
	syscall(SYS_rt_sigaction, 10, 0, old, 8);
	syscall(SYS_rt_sigprocmask, 0, &set, 0, 8);
	syscall(SYS_clock_gettime, 1, &t);
	syscall(SYS_setsid);
	syscall(SYS_close, 9);
	syscall(SYS_close_range, 9, 9, 0);
	syscall(SYS_wait4, -1, 0, 1, 0);
	syscall(SYS_setresuid, -1, -1, -1);
	syscall(SYS_setresgid, -1, -1, -1);
	syscall(SYS_prlimit64, 0, 7, 0, old);
	syscall(SYS_unshare, 0);
	syscall(SYS_seccomp, 9, 0, 0);
	syscall(SYS_mount, 0, 0, 0, 0, 0);
	syscall(SYS_move_mount, -1, "", -1, "", 0);
	syscall(SYS_clone3, 0, 0);
	syscall(SYS_sendmsg, -1, 0, 0);
	syscall(SYS_recvmsg, -1, 0, 0);
	syscall(SYS_munmap, 0, 4096);
	syscall(SYS_write, 1, "ran\n", 4);
	syscall(SYS_exit_group, 0);
}`

// AGT-40. A profile can refuse any call, also one that cellinit makes: neither the creation of a
// cell nor a run hangs because of it, and log mode lets every call through and reports it. On a
// slow machine each answer and mode tests a third of the calls, and all of them together test every
// call.
func TestProfileWithoutAnyCall(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	prog := harness.CompileC(t, "every", everyCall)
	names := seccomp.ShellCalls()
	for _, n := range []string{"execve", "exit_group", "read", "write", "close", "mmap", "munmap", "mprotect", "brk", "openat",
		"set_tid_address", "rt_sigreturn",
		"arch_prctl", "set_robust_list", "rseq", "readlink", "readlinkat", "getrandom"} {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}

	kinds := 0
	for _, def := range []seccomp.Answer{seccomp.Fail(seccomp.EPERM), seccomp.Kill()} {
		for _, mode := range []api.ProfileMode{api.Enforce, api.Log} {
			kinds++
			for i, omitted := range append(names, "") {
				if omitted != "" && harness.LeftOut(i+kinds, 3) {
					continue
				}
				p := seccomp.Profile{Name: "without-" + omitted, Default: def}
				rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == omitted })
				p.Rules = []seccomp.Rule{{Names: rest, Answer: seccomp.Allow(), Why: "all but one"}}
				withoutCall(t, a, p, omitted, mode, prog)
			}
		}
	}
}

func withoutCall(t *testing.T, a *harness.Agent, p seccomp.Profile, omitted string, mode api.ProfileMode, prog api.File) {
	t.Helper()
	r := harness.Program(prog)
	var err error
	if r.ProfileRules, err = json.Marshal(p); err != nil {
		t.Fatal(err)
	}

	r.ProfileMode, r.Limits.Wall = mode, harness.Slowly(20)
	begun := time.Now()
	res, err := a.Client.Run(t.Context(), r) // two of the profiles are refused
	if took := time.Since(begun); took > harness.Slow(15*time.Second) {
		t.Errorf("%s, default %s, without %q: %s", mode, p.Default, omitted, took)
	}

	var refusal *api.Error
	switch {
	case omitted == "execve" || omitted == "exit_group":
		if !errors.As(err, &refusal) || refusal.Code != api.CodeBadProfile {
			t.Errorf("without %s: %+v, %v; want the profile refused by name", omitted, res.Verdict, err)
		}
	case err != nil:
		t.Errorf("%s, default %s, without %q: %v", mode, p.Default, omitted, err)
	case mode == api.Log:
		reported := slices.ContainsFunc(res.Logged, func(d api.Denial) bool { return d.Syscall == omitted && d.Allowed && d.Count > 0 })
		optional := slices.Contains([]string{"", "openat", "rt_sigreturn", "mmap", "readlink", "readlinkat", "getrandom",
			"rseq", "brk"}, omitted) // depends on the C library's version
		if res.Verdict != api.OK || string(res.Stdout) != "ran\n" || !reported && !optional {
			t.Errorf("log, default %s, without %q: %s, %q, told %v: %+v", p.Default, omitted, res.Verdict, res.Stdout, reported, res.Logged)
		}

	case omitted == "" && (res.Verdict != api.OK || string(res.Stdout) != "ran\n"):
		t.Errorf("default %s, nothing left out: %s, %q, %+v", p.Default, res.Verdict, res.Stdout, res.Denial)
	}
}

// SEC-42. A program that passes the mark of cellinit's calls gains nothing by it; its other calls
// get the profile's answer.
func TestProgramPassesCellinitsMark(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	prog := harness.CompileC(t, "mark", `#include <sys/syscall.h>
#include <stdio.h>
#include <stdlib.h>
static long call(long n, long a, long b, long c, long d, long e, long f) {
	long ret; register long r10 __asm__("r10") = d; register long r8 __asm__("r8") = e; register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return ret; }
int main(int argc, char **argv) {
	long m = strtoul(argv[1], 0, 16);
	printf("%ld %ld %ld %ld %ld %ld\n", call(SYS_chdir, (long)"/tmp", 0, 0, 0, 0, m), call(SYS_umask, 0, 0, 0, 0, 0, m), call(SYS_mount, (long)"x", (long)"/tmp", (long)"tmpfs", 0, 0, m),
		call(SYS_unshare, 0x10000000, 0, 0, 0, 0, m), call(SYS_clone3, 0, 0, 0, 0, 0, m), call(SYS_getppid, 0, 0, 0, 0, 0, m) >= 0 ? 0L : -1L);
	return 0; }`)

	for _, mark := range []uint64{seccomp.SetupMark, seccomp.SetupMark ^ 1, 0} {
		r := harness.Program(prog, strconv.FormatUint(mark, 16))
		r.Profile = "strict"
		res := a.MustRun(t, r)
		if res.Verdict != api.OK || string(res.Stdout) != "-1 -1 -1 -1 -38 0\n" {
			t.Errorf("with %#x: %s, %s%s", mark, res.Verdict, res.Stdout, res.Stderr)
		}
		// the last part answers calls with the mark, and it cannot report them
		if ours := mark == seccomp.SetupMark; ours == (len(res.Refused) > 0) {
			t.Errorf("with %#x: refused %+v", mark, res.Refused)
		}
	}
}
