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
// Range comparisons, traces and listeners are refused: see package seccomp.
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
	p := seccomp.Profile{Name: name}
	if err := native(p.Arch, o.Architectures); err != nil {
		return seccomp.Profile{}, err
	}
	var err error
	if p.Default, err = fromAction(o.DefaultAction, o.DefaultErrnoRet); err != nil {
		return seccomp.Profile{}, fmt.Errorf("defaultAction: %w", err)
	}
	for i, s := range o.Syscalls {
		r, err := fromSyscall(s)
		if err != nil {
			return seccomp.Profile{}, fmt.Errorf("syscalls[%d]: %w", i, err)
		}
		r.Why = fmt.Sprintf("entry %d of the OCI profile", i)
		p.Rules = append(p.Rules, r)
	}
	return p, seccomp.Validate(p)
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

func fromSyscall(s seccomp.OCISyscall) (seccomp.Rule, error) {
	a, err := fromAction(s.Action, s.ErrnoRet)
	if err != nil {
		return seccomp.Rule{}, err
	}
	r := seccomp.Rule{Names: s.Names, Answer: a}
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
				return r, fmt.Errorf("argument %d: a mask of zero compares nothing; leave the condition out", c.Index)
			}
			r.Args = append(r.Args, seccomp.ArgCond{Index: c.Index, Mask: c.Value, Value: c.ValueTwo})
		default:
			return r, fmt.Errorf("argument %d: comparison %.32q is refused; list the values with SCMP_CMP_EQ or SCMP_CMP_MASKED_EQ", c.Index, c.Op)
		}
	}
	return r, nil
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
