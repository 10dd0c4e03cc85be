package seccomp

import "slices"

// ShellCalls lists the calls that cellinit and the shells make under the wide filter: to
// receive a run's message, make its pid and mount namespace, move its mounts, set limits
// and ids, load the last part, execve and reap. No profile can refuse them: the wide part
// lets cellinit's own code make them, whatever the profile says, and the last part takes
// them back. Each call added here costs two instructions in each part.
func ShellCalls() []string {
	return calls("mount move_mount " + // a shell makes its mount table
		"clone3 execve wait4 exit_group " + // cellinit makes shells, a shell makes the run
		"setresuid setresgid setsid umask prlimit64 unshare " + // the run's identity, limits and groups
		"seccomp munmap " + // the run loads the last part; cellinit forgets the wide one
		"write read close close_range dup2 sendmsg recvmsg " + // messages and descriptors
		"chdir rt_sigaction rt_sigprocmask clock_gettime")
}

// templateStart is the call with which a run begins from a template: it executes the file without a
// name that is open as descriptor 3. The run makes it after the last part is loaded, so the last part
// leaves it open to every call with the mark. A program gains nothing by that: it may execute files
// anyway (Lint), and what it executes has the same filters (SEC-42; TestTheMarkOpensNothingToPrograms).
func templateStart() Rule {
	return when("execveat", "a run begins from a template", eq(0, 3))
}

// SetupMark is the value that cellinit's own code passes as the sixth argument of its
// calls, none of which has more than five arguments. Filters recognise these calls by it
// (runtime/cell/cellinit/sys.h). The instruction pointer would identify the code too, but not
// on every kernel: user-mode Linux shows filters its own address instead of the program's
// (arch/um, KSTK_EIP).
//
// A program can pass the mark as well, but gains nothing: the last part, which applies to
// every program, takes back what the wide part opens (SEC-42).
const SetupMark = 0x6272_6967_a5e7_0c11

// inSetup reports whether a call says that it is cellinit's.
func inSetup(c Call) bool { return c.Args[5] == SetupMark }

// Split divides the filter of p in two parts. The kernel runs both and takes the
// stricter answer, which is p's for every call (TestPartsEqualProfile).
//
// The wide part is loaded once per cell by cellinit, with the notify listener,
// and inherited. It is p, with ShellCalls opened to cellinit's own code, and with a
// notification in place of every answer that the agent gives (Answer.Notified).
//
// The last part is loaded by the run just before execve. It answers ShellCalls that
// have the mark, and leaves everything else to the wide part.
// It never notifies, because the kernel keeps one listener per tree of filters. So a
// marked call that p allows for some arguments only gets EPERM there, and one for which
// p kills ends the run with SIGSYS. In log mode the last part takes nothing back.
func Split(p Profile) (wide, last Profile) {
	wide = Profile{Name: p.Name + "/wide", Arch: p.Arch, Default: p.Default.inWidePart(), Log: p.Log}
	last = Profile{Name: p.Name + "/last", Arch: p.Arch, Default: Allow()}
	for _, r := range p.Rules {
		r.Answer = r.Answer.inWidePart()
		wide.Rules = append(wide.Rules, r)
	}

	setup := ShellCalls()
	if p.OwnsImage {
		setup = append(setup, OwnImageCalls()...)
	}
	for _, name := range setup {
		tier := rulesFor(p.Rules, name)
		if len(tier) == 1 && len(tier[0].Args) == 0 && tier[0].Answer == Allow() {
			continue // p allows the call itself
		}
		wide.Setup = append(wide.Setup, name)
		if p.Log {
			continue
		}
		last.Rules = append(last.Rules, takenBack(p, name))
	}

	begin := templateStart()
	wide.Setup = append(wide.Setup, begin.Names...)
	if !p.Log {
		last.Rules = append(last.Rules, begin)
		for _, name := range begin.Names {
			last.Rules = append(last.Rules, takenBack(p, name))
		}
		last.Setup = wide.Setup
	}

	return wide, last
}

// takenBack is the last part's answer to a call with the mark that p does not allow in general.
func takenBack(p Profile, name string) Rule {
	r := fallback(p, name)
	switch r.Action {
	case ActKill:
		r.Answer = Answer{Action: ActKillProcess}
	case ActErrno:
	default:
		r.Answer = Fail(EPERM)
	}
	return r
}

// rulesFor returns the rules that name one call, as rules of that call only.
func rulesFor(rules []Rule, name string) []Rule {
	var out []Rule
	for _, r := range rules {
		if slices.Contains(r.Names, name) {
			r.Names = []string{name}
			out = append(out, r)
		}
	}
	return out
}

// fallback returns p's answer to a call whose conditional rules do not match,
// as an unconditional rule.
func fallback(p Profile, name string) Rule {
	for _, r := range rulesFor(p.Rules, name) {
		if len(r.Args) == 0 {
			return r
		}
	}
	return Rule{Names: []string{name}, Answer: p.Default, Why: "the default of profile " + p.Name}
}

// LogMode returns p with every refusal turned into kill, which reaches the
// agent, so that it can record the call and let it continue. That includes ShellCalls,
// when the program makes them, and numbers newer than the tables.
func LogMode(p Profile) Profile {
	out := Profile{Name: p.Name + "/log", Arch: p.Arch, Default: p.Default, Log: true}
	if out.Default.Action == ActErrno {
		out.Default = Kill()
	}
	for _, r := range p.Rules {
		if r.Action == ActErrno {
			r.Answer = Kill()
		}
		out.Rules = append(out.Rules, r)
	}
	return out
}
