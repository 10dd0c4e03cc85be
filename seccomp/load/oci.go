package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/brig-sandbox/brig/seccomp"
)

// object is linux.seccomp as defined by OCI runtime-spec 1.3. Profiles of container
// engines (archMap, includes, excludes) are a different format.
type object struct {
	seccomp.OCI
	Flags            []string `json:"flags"`
	ListenerPath     string   `json:"listenerPath"`
	ListenerMetadata string   `json:"listenerMetadata"`
}

// OCI reads a linux.seccomp object. Its kill and trap actions become our kill.
// Traces and listeners are refused: see package seccomp. A less-than or greater-than
// becomes rules that compare masked bits, one for each aligned block of the range. A
// not-equal means what libseccomp makes of it after the equals of a call: all other
// values. An entry without conditions overrules entries with conditions, as in libseccomp.
// The profile returned passes seccomp.Validate.
func OCI(name string, data []byte) (seccomp.Profile, error) {
	p, err := fromOCI(name, data)
	if err != nil {
		return seccomp.Profile{}, fmt.Errorf("read OCI profile %s: %w", name, err)
	}
	return p, nil
}

func fromOCI(name string, data []byte) (seccomp.Profile, error) {
	if len(data) > MaxSize {
		return seccomp.Profile{}, fmt.Errorf("%d bytes; at most %d", len(data), MaxSize)
	}

	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var o object
	if err := dec.Decode(&o); err != nil {
		line := 1 + bytes.Count(data[:min(dec.InputOffset(), int64(len(data)))], []byte("\n"))
		return seccomp.Profile{},
			fmt.Errorf("line %d: %w; only the linux.seccomp object of the OCI runtime specification is read", line, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return seccomp.Profile{}, errors.New("something follows the JSON object")
	}
	if o.ListenerPath != "" || o.ListenerMetadata != "" {
		return seccomp.Profile{}, errors.New("listenerPath: the kernel allows one listener, which the agent needs")
	}
	if len(o.Flags) > 0 {
		return seccomp.Profile{}, fmt.Errorf("flags: %q cannot be set by a profile; remove flags", o.Flags)
	}

	p, err := Convert(name, o.OCI, nil)
	if err != nil {
		return seccomp.Profile{}, err
	}
	return p, seccomp.Validate(p)
}

// Convert makes a profile from an OCI object. entries are the names of the entries of
// o.Syscalls in reasons; nil means their numbers. The profile need not pass
// seccomp.Validate: one with not-equals on several arguments can be compared with
// another profile, but is too complex to run a program under.
func Convert(name string, o seccomp.OCI, entries []string) (seccomp.Profile, error) {
	p := seccomp.Profile{Name: name}
	if err := native(p.Arch, o.Architectures); err != nil {
		return seccomp.Profile{}, err
	}

	var err error
	if p.Default, err = fromAction(o.DefaultAction, o.DefaultErrnoRet); err != nil {
		return seccomp.Profile{}, fmt.Errorf("defaultAction: %w", err)
	}

	notEqual := map[string]*notEquals{} // of each call
	var order []string
	ranges := 0
	for i, s := range o.Syscalls {
		entry, place := fmt.Sprintf("entry %d of the OCI profile", i), fmt.Sprintf("syscalls[%d]", i)
		if entries != nil {
			entry, place = entries[i], entries[i]
		}

		rules, not, err := fromSyscall(s)
		if err != nil {
			return seccomp.Profile{}, fmt.Errorf("%s: %w", place, err)
		}

		// An entry of a few bytes may become many rules, so they are counted while they are made.
		if len(rules) > 1 {
			ranges += len(rules)
		}
		if ranges > maxAllRanges {
			return seccomp.Profile{},
				fmt.Errorf("%s: less-than and greater-than make more than %d rules: list the values with SCMP_CMP_EQ", place,
					maxAllRanges)
		}

		for k := range rules {
			rules[k].Why = entry
		}

		if len(not) == 0 {
			p.Rules = append(p.Rules, rules...)
			continue
		}

		// A not-equal means all other values of the call. Which those are is known when all entries are read.
		answer := rules[0].Answer
		for _, call := range s.Names {
			if notEqual[call] == nil {
				notEqual[call] = &notEquals{answer: answer, why: entry}
				order = append(order, call)
			}
			if err := notEqual[call].add(answer, not); err != nil {
				return seccomp.Profile{}, fmt.Errorf("%s: %s: %w", place, call, err)
			}
		}
	}

	// An overruled rule must be gone before the not-equals are added: they get no rule for a value that
	// another rule answers.
	p.Rules = withoutOverruled(p)
	for _, call := range order {
		p.Rules = append(p.Rules, notEqual[call].rules(call, p)...)
	}
	return p, nil
}

// withoutOverruled returns the rules of p, read from an OCI file, that have an effect in
// other runtimes: in libseccomp a call's entry without conditions wins, wherever it is in
// the file, and runc leaves it out if it equals the default. A stricter entry with
// conditions stays nevertheless.
func withoutOverruled(p seccomp.Profile) []seccomp.Rule {
	whole := map[string]seccomp.Answer{}
	for _, r := range p.Rules {
		if len(r.Args) == 0 && r.Answer != p.Default {
			for _, n := range r.Names {
				whole[n] = r.Answer
			}
		}
	}

	var out []seccomp.Rule
	for _, r := range p.Rules {
		if len(r.Args) > 0 {
			r.Names = slices.DeleteFunc(slices.Clone(r.Names), func(n string) bool {
				a, ok := whole[n]
				return ok && !r.Action.Stricter(a.Action)
			})
			if len(r.Names) == 0 {
				continue
			}
		}
		out = append(out, r)
	}

	return out
}

// native refuses a list of architectures without ours. Others in the list are
// ignored: we never allow a compatibility ABI.
func native(arch seccomp.Arch, list []string) error {
	want := "SCMP_ARCH_X86_64"
	if arch.OrNative() == seccomp.ARM64 {
		want = "SCMP_ARCH_AARCH64"
	}
	if len(list) > 0 && !slices.Contains(list, want) && !slices.Contains(list, "SCMP_ARCH_NATIVE") {
		return fmt.Errorf("architectures: %q does not list this machine, %s", list, want)
	}
	return nil
}

// fromSyscall makes rules from an entry: one, or several if the entry compares by ranges.
// If the entry has not-equal conditions, it returns those in not, and one rule; such an
// entry must have no other conditions.
func fromSyscall(s seccomp.OCISyscall) (rules []seccomp.Rule, not []seccomp.ArgCond, err error) {
	a, err := fromAction(s.Action, s.ErrnoRet)
	if err != nil {
		return nil, nil, err
	}

	r := seccomp.Rule{Names: s.Names, Answer: a}
	var ranges []seccomp.OCIArg
	for _, c := range s.Args {
		switch c.Op {
		case "SCMP_CMP_EQ":
			k := seccomp.ArgCond{Index: c.Index, Value: c.Value}
			if a.Action != seccomp.ActAllow {
				k.Mask = ^uint64(0) // the file says all 64 bits
			}
			r.Args = append(r.Args, k)

		case "SCMP_CMP_MASKED_EQ":
			if c.Value == 0 {
				return nil, nil, fmt.Errorf("argument %d: a mask of zero compares nothing; leave the condition out", c.Index)
			}
			r.Args = append(r.Args, seccomp.ArgCond{Index: c.Index, Mask: c.Value, Value: c.ValueTwo})

		case "SCMP_CMP_NE":
			not = append(not, seccomp.ArgCond{Index: c.Index, Value: c.Value, Mask: ^uint64(0)})
		case "SCMP_CMP_LT", "SCMP_CMP_LE", "SCMP_CMP_GT", "SCMP_CMP_GE":
			ranges = append(ranges, c)
		default:
			return nil, nil, fmt.Errorf("argument %d: comparison %.32q is refused; list the values with SCMP_CMP_EQ "+
				"or SCMP_CMP_MASKED_EQ", c.Index, c.Op)
		}
	}

	if len(not) > 0 && len(r.Args)+len(ranges) > 0 {
		return nil, nil, errors.New("SCMP_CMP_NE together with other comparisons in one entry is refused; list the values with SCMP_CMP_EQ")
	}

	// Each range multiplies the rules made so far, so the other conditions must be complete.
	rules = []seccomp.Rule{r}
	for _, c := range ranges {
		blocks, err := blocksOf(c.Op, c.Value)
		if err == nil {
			rules, err = times(rules, c.Index, blocks)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("argument %d: %w", c.Index, err)
		}
	}

	return rules, not, nil
}

func fromAction(action string, errno *uint) (seccomp.Answer, error) {
	if errno != nil && action != "SCMP_ACT_ERRNO" {
		return seccomp.Answer{}, fmt.Errorf("an errno with %.32q; only SCMP_ACT_ERRNO takes one", action)
	}

	switch action {
	case "SCMP_ACT_ALLOW":
		return seccomp.Allow(), nil
	case "SCMP_ACT_LOG":
		return seccomp.Answer{Action: seccomp.ActLog}, nil
	case "SCMP_ACT_ERRNO":
		n := uint(seccomp.EPERM) // the specification's default
		if errno != nil {
			n = *errno
		}
		if n == 0 || n > 4095 {
			return seccomp.Answer{}, fmt.Errorf("errno %d: want 1 to 4095", n)
		}
		return seccomp.Fail(seccomp.Errno(n)), nil

	case "SCMP_ACT_KILL", "SCMP_ACT_KILL_THREAD", "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_TRAP":
		return seccomp.Kill(), nil
	}

	return seccomp.Answer{}, fmt.Errorf("action %.32q is refused; there are allow, errno, log and kill", action)
}
