package diagnose

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose/messages"
)

// explainLimit explains the verdicts of limits and of denied calls.
func explainLimit(r api.Result) api.Diagnosis {
	d := api.Diagnosis{Category: api.CategoryRuntime, Type: string(r.Verdict), Message: string(r.Verdict)}
	switch r.Verdict {
	case api.MemoryLimit:
		d.Category = api.CategoryMemory
		d.Message = fmt.Sprintf("the program needed more memory than its limit of %s", r.Limits.Memory)
		d.Hint = messages.HintMemory
	case api.CPULimit:
		d.Category = api.CategoryTime
		d.Message = fmt.Sprintf("the program used more processor time than its limit of %s", r.Limits.CPU)
		d.Hint = "look for an endless loop, or for a faster algorithm"
	case api.WallLimit:
		d.Category = api.CategoryTime
		d.Message = fmt.Sprintf("the program ran for longer than its limit of %s", r.Limits.Wall)
		d.Hint = hintOfWall(r)
	case api.OutputLimit:
		d.Category = api.CategoryOutput
		d.Message = fmt.Sprintf("the program printed more than its limit of %s", r.Limits.Output)
		d.Hint = "look for a loop that prints without end, or print less"
	case api.Denied:
		return explainDenial(r)
	}

	if d.Category != api.CategoryOutput && hit(r, api.HitPids) { // any limit may end a fork bomb
		d.Hint = fmt.Sprintf("it started processes or threads up to the limit of %d: look for endless starts of "+
			"processes or threads; if there are none, %s", r.Limits.Pids, d.Hint)
	}
	return d
}

// hintOfWall chooses the hint by how much processor time the program got. If that is between little
// and most of its share of the processors, no measurement distinguishes a program that waits from
// one that was delayed by a busy host.
func hintOfWall(r api.Result) string {
	cpu, wall := r.Usage.CPU.Value, time.Duration(r.Limits.Wall)
	if cpu == nil || wall <= 0 {
		return "look for a loop that never ends, or for something it waits for"
	}

	used, share := time.Duration(*cpu), float64(wall)
	if r.Limits.CPUs > 0 {
		share *= min(r.Limits.CPUs, 1)
	}

	switch part := float64(used) / share; {
	case part < 0.05:
		return "it waited nearly all the time: look for a sleep, a lock, or a read of something that never comes"
	case part < 0.6:
		return fmt.Sprintf("it got %s of processor time in %s: it waited part of the time, or it is a loop that never ends "+
			"on a busy host; for judging limit the processor time (--cpu, or limits.cpu in a request), and the wall time to "+
			"three times that", used.Round(10*time.Millisecond), wall)
	}

	return "look for a loop that never ends, or for something it waits for"
}

// deniedHints are the hints for families of system calls.
var deniedHints = []struct {
	calls string
	hint  string
}{
	{" socket socketpair connect bind listen accept accept4 sendto sendmsg recvfrom recvmsg ", messages.HintNetwork},
	{" fork vfork clone clone3 ", "the program may not start a process or thread here"},
	{" execve execveat ", "the program may not start another program here"},
	{" ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd ", "the program may not inspect another program"},
	{" mount umount2 pivot_root chroot unshare setns ", "the program may not change its mounts, root directory or namespaces"},
}

func explainDenial(r api.Result) api.Diagnosis {
	d := api.Diagnosis{Category: api.CategoryDenied, Type: string(r.Verdict),
		Message: "the program made a forbidden system call",
		Hint:    "sandboxed programs do not need this call: remove the code that makes it"}
	if r.Denial == nil {
		return d
	}

	d.Type = r.Denial.Syscall
	d.Message = fmt.Sprintf("the system call %s is forbidden: %s", r.Denial.Syscall, r.Denial.Why)
	for _, known := range deniedHints {
		if r.Denial.Syscall != "" && strings.Contains(known.calls, " "+r.Denial.Syscall+" ") {
			d.Hint = known.hint
		}
	}

	return d
}

// signals maps a signal to its meaning for a program and to what to look for.
var signals = map[string][2]string{
	"SIGSEGV": {"the program accessed memory that does not belong to it",
		"look for an index outside an array, a pointer that is null or freed, or endless recursion"},
	"SIGBUS": {"the program accessed memory that does not exist",
		"look for a pointer that is not aligned, or a mapped file that became shorter"},
	"SIGFPE": {"the program did an arithmetic operation that has no result", "look for an integer division by zero"},
	"SIGILL": {"the program executed an invalid instruction",
		"look for a function that ends without a return, or an invalid function pointer"},
	"SIGABRT": {"the program aborted",
		"something called abort: a failed check in the program, or of the library's memory"},
	"SIGTRAP": {"the program executed a breakpoint, which some runtimes do to abort", "look at the last lines it printed"},
	"SIGKILL": {"the program was killed from inside its sandbox", "look for a kill in the program itself"},
	"SIGTERM": {"the program got a signal to end from inside its sandbox", "look for a kill in the program itself"},
	"SIGPIPE": {"the program wrote to a pipe without a reader", "look at which of its children or threads ended early"},
	"SIGXFSZ": {"the program wrote a file that is too large", "write less, or delete unneeded files"},
	"SIGSYS": {"the program made a system call that its own filter forbids",
		"look for a seccomp filter in the program itself"},
	"SIGALRM": {"the program's own alarm expired", "handle the alarm, or do not set it"},
}

func explainSignal(r api.Result) api.Diagnosis {
	d := api.Diagnosis{Category: api.CategorySignal, Type: cmp.Or(r.SignalName, "signal"),
		Message: fmt.Sprintf("the program was killed by signal %d", r.Signal)}
	if known, ok := signals[r.SignalName]; ok {
		d.Message, d.Hint = known[0], known[1]
	}
	if limit := mappingLimit(r.Limits); limit != "" && (r.SignalName == "SIGSEGV" || r.SignalName == "SIGKILL") {
		d.Hint += fmt.Sprintf("; a program whose own data is larger than the limit %s also ends so, before its first line", limit)
	}
	return d
}
