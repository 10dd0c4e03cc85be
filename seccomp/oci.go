package seccomp

import (
	"encoding/json"
	"fmt"
)

// OCI is the linux.seccomp object of the OCI runtime specification 1.3, as far
// as we write it.
type OCI struct {
	DefaultAction   string       `json:"defaultAction"`
	DefaultErrnoRet *uint        `json:"defaultErrnoRet,omitempty"`
	Architectures   []string     `json:"architectures,omitempty"`
	Syscalls        []OCISyscall `json:"syscalls,omitempty"`
}

// An OCISyscall is one entry of OCI.Syscalls.
type OCISyscall struct {
	Names    []string `json:"names"`
	Action   string   `json:"action"`
	ErrnoRet *uint    `json:"errnoRet,omitempty"`
	Args     []OCIArg `json:"args,omitempty"`
}

// An OCIArg compares one argument. For SCMP_CMP_MASKED_EQ Value is the mask.
type OCIArg struct {
	Index    uint   `json:"index"`
	Value    uint64 `json:"value"`
	ValueTwo uint64 `json:"valueTwo,omitempty"`
	Op       string `json:"op"`
}

// ExportOCI returns p for plain runtimes such as runc. They have no notify
// listener, so kill becomes the kernel's own kill of the process.
//
// The format names calls one by one, so calls newer than our tables are not in it
// and are left to the runtime (SEC-12). libcontainer answers ENOSYS to numbers
// above the highest one named, which for our tiers is the newest in our tables; other
// runtimes give the default.
func ExportOCI(p Profile) (OCI, error) {
	action, errno, err := ociAnswer(p.Default)
	if err != nil {
		return OCI{}, err
	}

	out := OCI{DefaultAction: action, DefaultErrnoRet: errno}
	switch p.Arch.OrNative() {
	case AMD64:
		out.Architectures = []string{"SCMP_ARCH_X86_64"}
	case ARM64:
		out.Architectures = []string{"SCMP_ARCH_AARCH64"}
	default:
		return OCI{}, fmt.Errorf("export profile %s: no table for architecture %q", p.Name, p.Arch)
	}

	plain := map[Answer]int{} // answer -> its entry in out.Syscalls
	flat, err := Flatten(p)
	if err != nil {
		return OCI{}, fmt.Errorf("export profile %s: %w", p.Name, err)
	}

	for _, f := range flat {
		action, errno, err := ociAnswer(f.Answer)
		if err != nil {
			return OCI{}, err
		}
		if i, ok := plain[f.Answer]; ok && len(f.Conds) == 0 {
			out.Syscalls[i].Names = append(out.Syscalls[i].Names, f.Name)
			continue
		}
		if len(f.Conds) == 0 {
			plain[f.Answer] = len(out.Syscalls)
		}

		out.Syscalls = append(out.Syscalls,
			OCISyscall{Names: []string{f.Name}, Action: action, ErrnoRet: errno, Args: ociArgs(f.Conds)})
	}

	return out, nil
}

// JSON returns o indented, with a final newline.
func (o OCI) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(o, "", "\t")
	return append(data, '\n'), err
}

func ociAnswer(a Answer) (action string, errno *uint, err error) {
	switch a.Action {
	case ActAllow, ActCount: // other runtimes count nothing
		return "SCMP_ACT_ALLOW", nil, nil
	case ActErrno:
		n := uint(a.Errno)
		return "SCMP_ACT_ERRNO", &n, nil
	case ActLog:
		return "SCMP_ACT_LOG", nil, nil
	case ActKill, ActKillProcess:
		return "SCMP_ACT_KILL_PROCESS", nil, nil
	}
	return "", nil, fmt.Errorf("export action %q: OCI has no such action", a.Action)
}

func ociArgs(conds []Cond) []OCIArg {
	var out []OCIArg
	for _, c := range conds {
		switch c.Op {
		case Equal:
			out = append(out, OCIArg{Index: c.Index, Value: c.Value, Op: "SCMP_CMP_EQ"})
		case NotEqual:
			out = append(out, OCIArg{Index: c.Index, Value: c.Value, Op: "SCMP_CMP_NE"})
		case MaskedEqual:
			out = append(out, OCIArg{Index: c.Index, Value: c.Mask, ValueTwo: c.Value, Op: "SCMP_CMP_MASKED_EQ"})
		}
	}
	return out
}
