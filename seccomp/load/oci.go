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

// object is linux.seccomp as OCI runtime-spec 1.3 has it. Profiles of container
// engines (archMap, includes, excludes) are a different format.
type object struct {
	seccomp.OCI
	Flags            []string `json:"flags"`
	ListenerPath     string   `json:"listenerPath"`
	ListenerMetadata string   `json:"listenerMetadata"`
}

// OCI reads a linux.seccomp object. Its kill and trap actions become our kill.
// Range comparisons, traces and listeners are refused: see package seccomp. A not-equal
// is read as libseccomp carries it out behind the equals of a call: it is for all other
// values. An entry without conditions overrules those with conditions, as there.
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
		return seccomp.Profile{}, fmt.Errorf("line %d: %w; only the linux.seccomp object of the OCI runtime specification is read", line, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return seccomp.Profile{}, errors.New("something follows the JSON object")
	}
	if o.ListenerPath != "" || o.ListenerMetadata != "" {
		return seccomp.Profile{}, errors.New("listenerPath: the kernel keeps one listener, and it is the agent's")
	}
	if len(o.Flags) > 0 {
		return seccomp.Profile{}, fmt.Errorf("flags: %q is not ours to set; remove flags", o.Flags)
	}
	p, err := Convert(name, o.OCI, nil)
	if err != nil {
		return seccomp.Profile{}, err
	}
	return p, seccomp.Validate(p)
}

// Convert makes a profile of an OCI object. entries names the entries of o.Syscalls in
// reasons; nil is their numbers. The profile need not pass seccomp.Validate: one that
// compares by not-equal on several arguments can be held against another, and is too
// complex to run under.
func Convert(name string, o seccomp.OCI, entries []string) (seccomp.Profile, error) {
	p := seccomp.Profile{Name: name}
	if err := native(p.Arch, o.Architectures); err != nil {
		return seccomp.Profile{}, err
	}
	var err error
	if p.Default, err = fromAction(o.DefaultAction, o.DefaultErrnoRet); err != nil {
		return seccomp.Profile{}, fmt.Errorf("defaultAction: %w", err)
	}
	unequal := map[string]*unequals{} // of each call
	var order []string
	for i, s := range o.Syscalls {
		entry := fmt.Sprintf("entry %d of the OCI profile", i)
		if entries != nil {
			entry = entries[i]
		}
		r, not, err := fromSyscall(s)
		if err != nil {
			return seccomp.Profile{}, fmt.Errorf("syscalls[%d]: %w", i, err)
		}
		r.Why = entry
		if len(not) == 0 {
			p.Rules = append(p.Rules, r)
			continue
		}
		for _, call := range s.Names {
			if unequal[call] == nil {
				unequal[call] = &unequals{answer: r.Answer, why: entry}
				order = append(order, call)
			}
			if err := unequal[call].add(r.Answer, not); err != nil {
				return seccomp.Profile{}, fmt.Errorf("syscalls[%d]: %s: %w", i, call, err)
			}
		}
	}
	p.Rules = withoutOverruled(p)
	for _, call := range order {
		p.Rules = append(p.Rules, unequal[call].rules(call, p)...)
	}
	return p, nil
}

// withoutOverruled are the rules of p, read from a file of OCI, that have an effect in other
// runtimes: libseccomp lets the entry of a call without conditions win, wherever it
// stands, and runc leaves it out where it equals the default. An entry with conditions
// that is stricter stays all the same.
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

// native refuses a list of architectures that leaves ours out. Others in it are
// not carried over: we never allow a compatibility ABI.
func native(arch seccomp.Arch, list []string) error {
	want := "SCMP_ARCH_X86_64"
	if arch.Or() == seccomp.ARM64 {
		want = "SCMP_ARCH_AARCH64"
	}
	if len(list) > 0 && !slices.Contains(list, want) && !slices.Contains(list, "SCMP_ARCH_NATIVE") {
		return fmt.Errorf("architectures: %q does not list this machine, %s", list, want)
	}
	return nil
}

// fromSyscall makes a rule of an entry, or gives the conditions that are not-equals, of
// which an entry then has no others.
func fromSyscall(s seccomp.OCISyscall) (r seccomp.Rule, not []seccomp.ArgCond, err error) {
	a, err := fromAction(s.Action, s.ErrnoRet)
	if err != nil {
		return seccomp.Rule{}, nil, err
	}
	r = seccomp.Rule{Names: s.Names, Answer: a}
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
				return r, nil, fmt.Errorf("argument %d: a mask of zero compares nothing; leave the condition out", c.Index)
			}
			r.Args = append(r.Args, seccomp.ArgCond{Index: c.Index, Mask: c.Value, Value: c.ValueTwo})
		case "SCMP_CMP_NE":
			not = append(not, seccomp.ArgCond{Index: c.Index, Value: c.Value, Mask: ^uint64(0)})
		default:
			return r, nil, fmt.Errorf("argument %d: comparison %.32q is refused; list the values with SCMP_CMP_EQ or SCMP_CMP_MASKED_EQ", c.Index, c.Op)
		}
	}
	if len(not) > 0 && len(r.Args) > 0 {
		return r, nil, errors.New("SCMP_CMP_NE beside other comparisons in one entry is refused; list the values with SCMP_CMP_EQ")
	}
	return r, not, nil
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
