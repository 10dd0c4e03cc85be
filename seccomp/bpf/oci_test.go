package bpf

import (
	"fmt"
	"testing"

	libseccomp "github.com/seccomp/libseccomp-golang"

	"github.com/brig-sandbox/brig/seccomp"
)

// The exported OCI profile, added to libseccomp entry by entry as runc does,
// gives the same answers as the profile, except that kill has become the kernel's kill, and
// the answer to foreign architectures is libseccomp's own.
func TestOCIExportMeansTheSame(t *testing.T) {
	for _, p := range undivided(t) {
		o, err := seccomp.ExportOCI(p)
		if err != nil {
			t.Fatal(err)
		}

		raw, err := asRunc(o)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}

		model := seccomp.NewModel(p)
		for c := range seccomp.BoundaryCalls(p) {
			want := model.Decide(c)
			if want.Rule == seccomp.FromArch || want.Rule == seccomp.FromNewer {
				continue
			}

			switch want.Action {
			case seccomp.ActKill:
				want.Action = seccomp.ActKillProcess
			case seccomp.ActCount: // runc counts nothing
				want.Answer = seccomp.Allow()
			}

			if got := answer(t, c, raw); got != want.Answer {
				t.Fatalf("%s: the export answers %s %+v with %s; want %s", p.Name, want.Name, c, got, want.Answer)
			}
		}
	}
}

func asRunc(o seccomp.OCI) ([]byte, error) {
	act := func(name string, errno *uint) libseccomp.ScmpAction {
		switch name {
		case "SCMP_ACT_ALLOW":
			return libseccomp.ActAllow
		case "SCMP_ACT_KILL_PROCESS":
			return libseccomp.ActKillProcess
		case "SCMP_ACT_LOG":
			return libseccomp.ActLog
		}
		return libseccomp.ActErrno.SetReturnCode(int16(*errno))
	}

	ops := map[string]libseccomp.ScmpCompareOp{
		"SCMP_CMP_EQ": libseccomp.CompareEqual, "SCMP_CMP_NE": libseccomp.CompareNotEqual, "SCMP_CMP_MASKED_EQ": libseccomp.CompareMaskedEqual,
	}
	f, err := libseccomp.NewFilter(act(o.DefaultAction, o.DefaultErrnoRet))
	if err != nil {
		return nil, err
	}
	defer f.Release()

	for _, s := range o.Syscalls {
		for _, name := range s.Names {
			nr, ok := seccomp.Number(name, "")
			if !ok {
				continue
			}

			var conds []libseccomp.ScmpCondition
			for _, a := range s.Args {
				c, err := libseccomp.MakeCondition(a.Index, ops[a.Op], a.Value, a.ValueTwo)
				if err != nil {
					return nil, err
				}
				conds = append(conds, c)
			}

			if err := f.AddRuleConditionalExact(libseccomp.ScmpSyscall(nr), act(s.Action, s.ErrnoRet), conds); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}

	return export(f)
}
