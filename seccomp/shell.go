package seccomp

// ShellCalls are what cellinit and the shells still do below the wide part of
// the filter: take a run's message, make its pid and mount namespace, move its
// mounts, set limits and ids, load the last part, execve, reap. The wide part
// allows exactly these beside the tier; the last part takes them back. An
// addition here costs two instructions in the last part where the tier does
// not allow the call anyway; nothing else has to change.
//
// prlimit64, unshare and the message calls are allowed to shells for these
// arguments only, so that the last part stays small.
func ShellCalls() []Rule {
	return []Rule{
		plain(Allow(), "a shell makes its mount table", "mount move_mount"),
		plain(Allow(), "cellinit makes shells, a shell makes the run", "clone3 execve wait4 exit_group"),
		plain(Allow(), "the run's identity", "setresuid setresgid setsid umask"),
		plain(Allow(), "the run loads the last part of its filter", "seccomp"),
		plain(Allow(), "messages and descriptors", "write read close close_range dup2"),
		plain(Allow(), "the working directory", "chdir"),
		plain(Allow(), "default signals and their masks", "rt_sigaction rt_sigprocmask"),
		plain(Allow(), "clocks and the run's processors", "clock_gettime sched_setaffinity"),
		when("unshare", "the run's group is the root of what it sees of cgroups", eq(0, cloneNewCgroup)),
		when("sendmsg recvmsg", "messages with the agent, no MSG_OOB or MSG_ZEROCOPY", masked(2, badSendFlags, 0)),
		when("prlimit64", "the run's limits, set by itself before execve", eq(0, 0)),
	}
}

// cloneNewCgroup is CLONE_NEWCGROUP of linux/sched.h, since Linux 4.6.
const cloneNewCgroup = 0x02000000

// Split divides the filter of p in two. The kernel asks both and takes the
// stricter answer, which is p's for every call (TestPartsEqualProfile).
//
// The wide part is loaded once per cell by cellinit, with the notify listener,
// and inherited. It is p, opened for ShellCalls.
//
// The last part is loaded by the run just before execve. It is small, allows
// by default, and answers ShellCalls as p does where the wide part is more
// permissive. It never notifies, because the kernel keeps one listener per
// tree of filters; a kill answer of p for such a call is the kernel's own kill
// there: the run ends with SIGSYS, and the number is not recorded. No tier has
// one unless its default is kill.
func Split(p Profile) (wide, last Profile) {
	wide = Profile{Name: p.Name + "/wide", Arch: p.Arch, Default: p.Default}
	last = Profile{Name: p.Name + "/last", Arch: p.Arch, Default: Allow()}
	opened := map[string]bool{} // calls the wide part allows whatever p says
	for _, name := range namesOf(Profile{Rules: ShellCalls()}) {
		shell, tier := rulesFor(ShellCalls(), name), rulesFor(p.Rules, name)
		if len(tier) == 1 && len(tier[0].Args) == 0 && tier[0].Answer == Allow() {
			continue // p is as permissive itself
		}
		opened[name] = len(shell[0].Args) == 0
		wide.Rules = append(wide.Rules, shell...)
		last.Rules = append(last.Rules, takeBack(shell, tier, fallback(p, name))...)
	}
	for _, r := range p.Rules {
		names := make([]string, 0, len(r.Names))
		for _, n := range r.Names {
			if !opened[n] {
				names = append(names, n)
			}
		}
		if len(names) > 0 {
			r.Names = names
			wide.Rules = append(wide.Rules, r)
		}
	}
	return wide, last
}

// takeBack returns the last part's rules for one call, of which shell is what
// the wide part opened, tier what p says, and rest p's answer where no
// condition matches.
func takeBack(shell, tier []Rule, rest Rule) []Rule {
	var out []Rule
	conditional := false
	for _, r := range tier {
		if len(r.Args) > 0 {
			conditional = true
			r.Answer = byKernel(r.Answer)
			out = append(out, r)
		}
	}
	rest.Answer = byKernel(rest.Answer)
	if rest.Action == ActAllow {
		return out
	}
	if !conditional && rest.Action == ActErrno {
		// The wide part answers the same where it is not open: one
		// unconditional rule is smaller than several conditional ones.
		return append(out, rest)
	}
	for _, s := range shell {
		r := rest
		r.Args = s.Args
		out = append(out, r)
	}
	return out
}

// rulesFor returns the rules that name one call, as rules of that call only.
func rulesFor(rules []Rule, name string) []Rule {
	var out []Rule
	for _, r := range rules {
		for _, n := range r.Names {
			if n == name {
				r.Names = []string{name}
				out = append(out, r)
				break
			}
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

func byKernel(a Answer) Answer {
	if a.Action == ActKill {
		return Answer{Action: ActKillProcess}
	}
	return a
}

// LogMode returns p with every refusal turned into kill, which reaches the
// agent, so that it can record the call and let it continue. What ShellCalls
// opens is answered as before, since the last part cannot notify: those calls
// are refused in log mode too, with EPERM where p would kill; and so is what is
// newer than the tables. The result is for
// Split; whole, it may be too complex to compile.
func LogMode(p Profile) Profile {
	out := Profile{Name: p.Name + "/log", Arch: p.Arch, Default: Kill()}
	shell := map[string]bool{}
	for _, name := range namesOf(Profile{Rules: ShellCalls()}) {
		shell[name] = true
		for _, r := range rulesFor(p.Rules, name) {
			if len(r.Args) > 0 {
				out.Rules = append(out.Rules, unkilled(r))
			}
		}
		for _, opened := range rulesFor(ShellCalls(), name) {
			r := unkilled(fallback(p, name))
			r.Args = opened.Args
			out.Rules = append(out.Rules, r)
		}
		if rest := fallback(p, name); rest.Action == ActAllow || rest.Action == ActLog {
			out.Rules = append(out.Rules, rest)
		}
	}
	for _, r := range p.Rules {
		names := make([]string, 0, len(r.Names))
		for _, n := range r.Names {
			if !shell[n] {
				names = append(names, n)
			}
		}
		if len(names) == 0 {
			continue
		}
		r.Names = names
		if r.Action == ActErrno {
			r.Answer = Kill()
		}
		out.Rules = append(out.Rules, r)
	}
	return out
}

func unkilled(r Rule) Rule {
	if r.Action == ActKill {
		r.Answer = Fail(EPERM)
	}
	return r
}
