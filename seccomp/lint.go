package seccomp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"unicode"
)

// Limits of a profile; the built-in tiers use a tenth.
const (
	maxRules = 1024
	maxNames = 4096 // over all rules
	maxText  = 400  // bytes of a name or a reason
)

// A Finding is one problem that Lint reports about a profile.
type Finding struct {
	Rule  int  // index in Profile.Rules, or -1 for the profile as a whole
	Fatal bool // false: the rule works, but is probably not what the author meant
	Text  string
}

func (f Finding) String() string {
	if f.Rule < 0 {
		return f.Text
	}
	return fmt.Sprintf("rule %d: %s", f.Rule, f.Text)
}

// Validate returns the fatal findings of Lint as one error, or nil.
func Validate(p Profile) error {
	var errs []error
	for _, f := range Lint(p) {
		if f.Fatal {
			errs = append(errs, errors.New(f.String()))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("check profile %.64q: %w", p.Name, errors.Join(errs...))
}

// Lint checks p for rules that cannot be compiled faithfully and for all known
// pitfalls of filters. Each of them was a real bug somewhere.
func Lint(p Profile) []Finding {
	l := &linter{p: p}
	l.lint()
	return l.found
}

func (l *linter) lint() {
	p := l.p
	l.profile()
	if len(l.found) > 0 {
		return // its size or machine is wrong: the rest could not be trusted
	}

	for i, r := range p.Rules {
		l.rule(i, r)
	}

	if !slices.ContainsFunc(l.found, func(f Finding) bool { return f.Fatal }) {
		l.checkInteractions()
		l.checkStartable()
		wide, last := Split(p)
		for _, part := range []Profile{wide, last} {
			if _, err := Flatten(part); err != nil {
				l.fatal(-1, "%v", err)
			}
		}
	}
}

type linter struct {
	p     Profile
	base  Profile // the profile that p extends, without the removed calls; no rules if p extends none
	found []Finding
}

func (l *linter) fatal(rule int, format string, args ...any) {
	l.found = append(l.found, Finding{Rule: rule, Fatal: true, Text: fmt.Sprintf(format, args...)})
}

func (l *linter) warn(rule int, format string, args ...any) {
	l.found = append(l.found, Finding{Rule: rule, Text: fmt.Sprintf(format, args...)})
}

func (l *linter) profile() {
	p := l.p
	if !printable(p.Name) || p.Name == "" {
		l.fatal(-1, "the name must be printable, at most %d bytes, and not empty", maxText)
	}
	if p.Arch.table() == nil {
		l.fatal(-1, "no table for architecture %.32q; there are amd64 and arm64", p.Arch)
	}

	names := 0
	for _, r := range p.Rules {
		names += len(r.Names)
	}

	if len(p.Rules) > maxRules || names > maxNames {
		l.fatal(-1, "%d rules with %d names; at most %d and %d", len(p.Rules), names, maxRules, maxNames)
	}
	if text := wrongAnswer(p.Default); text != "" {
		l.fatal(-1, "default: %s", text)
	}
	if p.Default.Action == ActAllow {
		l.fatal(-1, "default: a profile is a list of what is allowed; with allow as default every call added to the "+
			"kernel would be open. Use errno EPERM and allow by name")
	}
}

func (l *linter) rule(i int, r Rule) {
	if text := wrongAnswer(r.Answer); text != "" {
		l.fatal(i, "%s", text)
	}
	if len(r.Names) == 0 {
		l.fatal(i, "names no call")
	}
	if strings.TrimSpace(r.Why) == "" || !printable(r.Why) {
		l.fatal(i, "needs a reason (why), printable, at most %d bytes", maxText)
	}

	for _, n := range r.Names {
		l.name(i, r, n)
	}

	seen := map[uint]bool{}
	for _, c := range r.Args {
		switch {
		case c.Index > 5:
			l.fatal(i, "argument %d: a call has arguments 0 to 5", c.Index)
		case seen[c.Index]:
			// libcontainer turns this into OR (SEC-10; ancestor CVE-2017-18367).
			l.fatal(i, "two conditions on argument %d: libraries read that as either-or. Write one masked condition, or two rules", c.Index)
		case c.Value&^c.mask() != 0:
			l.fatal(i, "argument %d: value %#x has bits outside mask %#x and can never match", c.Index, c.Value, c.Mask)
		case !r.Action.Open() && c.Mask == 0:
			// CVE-2019-10063: TIOCSTI with garbage above bit 31.
			l.fatal(i, "argument %d: a refusal that compares all 64 bits is evaded with garbage above bit 31 where "+
				"the kernel takes an int. Add mask: 0xffffffff (or mask: 0xffffffffffffffff if it takes a long)", c.Index)
		}

		seen[c.Index] = true
	}
}

func (l *linter) name(i int, r Rule, n string) {
	_, here := Number(n, l.p.Arch)
	_, amd := Number(n, AMD64)
	_, arm := Number(n, ARM64)
	switch {
	case !amd && !arm:
		// SEC-11: libcontainer only logs this.
		l.fatal(i, "unknown system call %.64q", n)
	case !here:
		l.warn(i, "%s does not exist on %s; the rule has no effect on it", n, l.p.Arch.OrNative())
	case r.Action == ActCount && !slices.Contains(countedCalls, n):
		l.fatal(i, "count on %s: it is for fcntl with F_GETLK, F_SETLK and F_SETLKW, for flock, whose locks the "+
			"agent counts, for getdents64, and for listen and sockets of netlink", n)
	case r.Action.Open() && onlyOpenFileLocks(n, r.Args):
		l.fatal(i, "fcntl with F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW or a lease: such locks are memory that no "+
			"group is charged for, and belong to an open file, where the agent cannot count them. Programs work "+
			"equally well with F_SETLK, F_SETLKW or flock; without a rule these locks are refused")
	case (r.Action == ActKill || r.Action == ActLog) && n == "write":
		l.fatal(i, "%s on write: the run could not even report; use errno", r.Action)
	}
}

// checkInteractions checks the rules of each call against one another.
func (l *linter) checkInteractions() {
	for _, name := range namesOf(l.p) {
		var conds, plain []int
		for i, r := range l.p.Rules {
			switch {
			case !slices.Contains(r.Names, name):
			case len(r.Args) == 0:
				plain = append(plain, i)
			default:
				conds = append(conds, i)
			}
		}

		for _, i := range plain[min(len(plain), 1):] {
			if l.p.Rules[i].Answer != l.p.Rules[plain[0]].Answer {
				l.fatal(i, "%s already has another unconditional answer, in rule %d", name, plain[0])
			}
		}

		if len(plain) > 0 && l.p.Rules[plain[0]].Answer == l.p.Default && !l.answeredBefore(name) {
			l.warn(plain[0], "%s: equal to the default, so it changes nothing", name)
		}

		for k, i := range conds {
			for _, j := range conds[:k] {
				if a, b := l.p.Rules[j], l.p.Rules[i]; a.Answer != b.Answer && overlap(a.Args, b.Args) {
					l.fatal(i, "%s: rule %d answers some of the same arguments with %s; make them exclusive, or "+
						"remove the call and write its rules again", name, j, a.Answer)
				}
			}
		}
	}

	for _, refused := range answers() {
		for i, r := range l.p.Rules {
			for _, n := range r.Names {
				if r.Action == ActAllow && len(r.Args) == 0 && slices.Contains(refused.Names, n) && refused.Action == ActKill {
					l.warn(i, "allows %s, for which every tier kills the program: %s", n, refused.Why)
				}
			}
		}
	}
}

// checkStartable checks that a program can start and exit under the profile.
func (l *linter) checkStartable() {
	m := NewModel(l.p)
	free := func(name string) bool {
		nr, ok := Number(name, l.p.Arch)
		if !ok {
			return true
		}
		if len(m.groups(nr)) > 0 {
			return false
		}
		return m.Decide(Call{Nr: nr, Arch: l.p.Arch.Audit()}).Action.Open()
	}

	for _, name := range calls("execve exit_group") {
		if !free(name) {
			l.fatal(-1, "%s is not allowed for all arguments: no program could start and end. (Its arguments are "+
				"pointers; a filter cannot read what they point to)", name)
		}
	}

	for _, name := range calls("read write close mmap munmap mprotect brk set_tid_address rt_sigreturn") {
		if !free(name) {
			l.warn(-1, "%s is not allowed for all arguments: most programs cannot start", name)
		}
	}

	// A loader opens its libraries for reading; other flags may be refused.
	if nr, ok := Number("openat", l.p.Arch); ok &&
		!m.Decide(Call{Nr: nr, Arch: l.p.Arch.Audit(), Args: [6]uint64{1<<64 - 100, 0, syscall.O_CLOEXEC}}).Action.Open() {
		l.warn(-1, "openat is not allowed for reading: most programs cannot start")
	}
}

// overlap reports whether some arguments satisfy both lists.
func overlap(a, b []ArgCond) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Index == y.Index && (x.Value^y.Value)&x.mask()&y.mask() != 0 {
				return false
			}
		}
	}
	return true
}

// namesOf lists each call that p's rules name, in order of appearance.
func namesOf(p Profile) []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range p.Rules {
		for _, n := range r.Names {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

func wrongAnswer(a Answer) string {
	switch a.Action {
	case ActErrno:
		if a.Errno == 0 || a.Errno > maxErrno {
			return "errno needs an error number: with zero the program would believe the call succeeded"
		}
		return ""
	case ActAllow, ActLog, ActKill, ActCount:
		if a.Errno != 0 {
			return fmt.Sprintf("an error number with %s; only errno takes one", a.Action)
		}
		return ""
	case ActKillProcess:
		return "kill-process would hide which call it was; use kill"
	}

	return fmt.Sprintf("unknown action %.32q; there are allow, errno, log, count and kill", a.Action)
}

// printable reports whether s is short enough and free of terminal escapes: profiles'
// names and reasons are printed.
func printable(s string) bool {
	return len(s) <= maxText && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
