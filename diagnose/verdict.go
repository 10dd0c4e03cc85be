package diagnose

import (
	"fmt"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// ofLimit explains the verdicts that are not the program's own doing.
func ofLimit(r api.Result) api.Diagnosis {
	d := api.Diagnosis{Category: api.CategoryRuntime, Type: string(r.Verdict), Message: string(r.Verdict)}
	switch r.Verdict {
	case api.MemoryLimit:
		d.Category = api.CategoryMemory
		d.Message = fmt.Sprintf("the program needed more memory than its limit of %s", r.Limits.Memory)
		d.Hint = hintMemory
	case api.CPULimit:
		d.Category = api.CategoryTime
		d.Message = fmt.Sprintf("the program used more processor time than its limit of %s", r.Limits.CPU)
		d.Hint = "look for a loop that never ends, or for a way with fewer steps"
	case api.WallLimit:
		d.Category = api.CategoryTime
		d.Message = fmt.Sprintf("the program ran for longer than its limit of %s", r.Limits.Wall)
		d.Hint = hintOfWall(r)
	case api.OutputLimit:
		d.Category = api.CategoryOutput
		d.Message = fmt.Sprintf("the program printed more than its limit of %s", r.Limits.Output)
		d.Hint = "look for a loop that prints without end, or print less"
	case api.Denied:
		return ofDenial(r)
	}
	if d.Category != api.CategoryOutput && hit(r, api.HitPids) { // which limit ends a fork bomb is chance
		d.Hint = fmt.Sprintf("it started processes or threads until all %d were taken: look for a fork or a thread started without end; if there is none, %s", r.Limits.Pids, d.Hint)
	}
	return d
}

// hintOfWall goes by how much of the time the program had a processor. Between little and
// most of what its share of the processors allows, nothing that is measured tells a program
// that waits from one that has to wait for a busy host.
func hintOfWall(r api.Result) string {
	cpu, wall := r.Usage.CPU.Value, time.Duration(r.Limits.Wall)
	if cpu == nil || wall <= 0 {
		return "look for a loop that never ends, or for something it waits for"
	}
	had, share := time.Duration(*cpu), float64(wall)
	if r.Limits.CPUs > 0 {
		share *= min(r.Limits.CPUs, 1)
	}
	switch part := float64(had) / share; {
	case part < 0.05:
		return "it waited nearly all the time: look for a sleep, a lock, or a read of something that never comes"
	case part < 0.6:
		return fmt.Sprintf("it had %s of processor time in %s: it waited, or the host was busy; for judging give --cpu T and a --wall of three times that", had.Round(10*time.Millisecond), wall)
	}
	return "look for a loop that never ends, or for something it waits for"
}

// deniedHints are by what a family of system calls is for.
var deniedHints = []struct {
	calls string
	hint  string
}{
	{" socket socketpair connect bind listen accept accept4 sendto sendmsg recvfrom recvmsg ", "programs have no network here: put what it needs beside it as a file"},
	{" fork vfork clone clone3 ", "the program may not start a process or thread here"},
	{" execve execveat ", "the program may not start another one here"},
	{" ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd ", "the program may not look into another one"},
	{" mount umount2 pivot_root chroot unshare setns ", "the program may not change the file system or namespaces it lives in"},
}

func ofDenial(r api.Result) api.Diagnosis {
	d := api.Diagnosis{Category: api.CategoryDenied, Type: string(r.Verdict), Message: "the program made a forbidden system call",
		Hint: "a program here has no use for this call: leave out what makes it"}
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

// signals say what each means for a program, and what to look for.
var signals = map[string][2]string{
	"SIGSEGV": {"the program touched memory that is not its own", "look for an index outside an array, a pointer that is null or freed, or recursion without end"},
	"SIGBUS":  {"the program touched memory that is not there", "look for a pointer that is not aligned, or a mapped file that became shorter"},
	"SIGFPE":  {"the program did arithmetic that has no result", "look for an integer division by zero"},
	"SIGILL":  {"the program ran into something that is no instruction", "look for a function that ends without a return, or a pointer to a function that is not one"},
	"SIGABRT": {"the program gave up", "something called abort: a failed check of its own, or of the library's memory"},
	"SIGTRAP": {"the program ran into a breakpoint, as some runtimes do when they give up", "look at the last lines it printed"},
	"SIGKILL": {"the program was killed from inside its sandbox", "look for a kill in the program itself"},
	"SIGTERM": {"the program was asked to end from inside its sandbox", "look for a kill in the program itself"},
	"SIGPIPE": {"the program wrote to a pipe that nobody reads", "look at which of its children or threads ended early"},
	"SIGXFSZ": {"the program wrote a file that is too large", "write less, or delete what is not needed any more"},
	"SIGSYS":  {"the program made a system call that it had forbidden itself", "look for a filter of its own"},
	"SIGALRM": {"an alarm that the program had set went off", "handle the alarm, or leave it out"},
}

func ofSignal(r api.Result) api.Diagnosis {
	d := api.Diagnosis{Category: api.CategorySignal, Type: orWords(r.SignalName, "signal"), Message: fmt.Sprintf("the program died of signal %d", r.Signal)}
	if known, ok := signals[r.SignalName]; ok {
		d.Message, d.Hint = known[0], known[1]
	}
	return d
}
