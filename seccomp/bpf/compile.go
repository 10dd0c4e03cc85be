package bpf

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/seccomp"
)

// maxInsns is the kernel's BPF_MAXINSNS (include/uapi/linux/bpf_common.h).
const maxInsns = 4096

// Errors of Compile.
var (
	ErrTooOld   = errors.New("libseccomp is too old")            // older than 2.5.4
	ErrTooLarge = errors.New("filter has too many instructions") // above 4096
)

// Compile returns p as an array of struct sock_filter, ready for seccomp(2).
// p may be a whole profile or either part of Split. kill becomes notify, so a
// process that loads a filter with kill must request the listener.
//
// The result is compared with p's model on every boundary call before it is
// returned: with a libseccomp that merges comparisons wrongly
// (GHSA-4q85-33p6-j5g6), Compile returns an error and never a filter. The
// comparison takes most of the time. Filters in the table verified, those of
// brig's tiers, were compared when brig was built, byte for byte the same.
func Compile(p seccomp.Profile) ([]byte, error) {
	raw, err := compile(p)
	if err == nil && verified[sum(raw, p)] == "" {
		err = Verify(raw, p)
	}
	if err != nil {
		return nil, fmt.Errorf("compile profile %s: %w", p.Name, err)
	}
	return raw, nil
}

// sum identifies a filter together with the profile of which it was made.
func sum(raw []byte, p seccomp.Profile) string {
	h := sha256.New()
	h.Write([]byte(seccomp.Hash(p)))
	h.Write(raw)
	return hex.EncodeToString(h.Sum(nil))
}

func compile(p seccomp.Profile) ([]byte, error) {
	if err := checkVersion(libseccomp.GetLibraryVersion()); err != nil {
		return nil, err
	}

	// Notify needs libseccomp's API level 5, and level 6 (TSYNC_ESRCH, Linux 5.7)
	// together with the tsync attribute, which the binding always sets. By default
	// libseccomp probes the level on this kernel. We load filters ourselves, and a
	// kernel without notify refuses them then.
	if err := libseccomp.SetAPI(6); err != nil {
		return nil, fmt.Errorf("ask libseccomp for notify: %w", err)
	}

	def, err := action(p.Default)
	if err != nil {
		return nil, err
	}

	f, err := libseccomp.NewFilter(def)
	if err != nil {
		return nil, err
	}
	defer f.Release()

	if err := setArch(f, p); err != nil {
		return nil, err
	}

	flat, err := seccomp.Flatten(p)
	if err != nil {
		return nil, err
	}

	for _, r := range flat {
		if err := add(f, p.Arch, r); err != nil {
			return nil, fmt.Errorf("add rule for %s: %w", r.Name, err)
		}
	}

	raw, err := export(f)
	if err == nil && p.Default != seccomp.Allow() {
		raw, err = answerNewer(raw, p)
	}
	if err == nil && len(p.Setup) > 0 {
		raw, err = answerSetup(raw, p)
	}
	if err != nil {
		return nil, err
	}
	return raw, checkSize(raw)
}

// checkVersion refuses versions before 2.5.4, Debian 12's: the oldest libseccomp known to
// be correct for notify as bad-architecture action and for the orderings that Flatten
// uses.
func checkVersion(major, minor, micro uint) error {
	if major > 2 || major == 2 && (minor > 5 || minor == 5 && micro >= 4) {
		return nil
	}
	return fmt.Errorf("%w: found %d.%d.%d, need 2.5.4 (Debian 12) or newer; install a newer libseccomp and build again",
		ErrTooOld, major, minor, micro)
}

func checkSize(raw []byte) error {
	if n := len(raw) / 8; n > maxInsns {
		return fmt.Errorf("%w: %d, the kernel takes %d; use fewer conditions", ErrTooLarge, n, maxInsns)
	}
	return nil
}

// setArch makes f apply to one architecture only. A filter whose default is
// allow is a last part: it leaves foreign calls to the wide part, where they
// reach the listener. A kill here would take precedence and hide them.
func setArch(f *libseccomp.ScmpFilter, p seccomp.Profile) error {
	want := libseccomp.ArchAMD64
	if p.Arch.OrNative() == seccomp.ARM64 {
		want = libseccomp.ArchARM64
	}

	native, err := libseccomp.GetNativeArch()
	if err != nil {
		return err
	}

	if native != want {
		if err := f.AddArch(want); err != nil {
			return err
		}
		if err := f.RemoveArch(native); err != nil {
			return err
		}
	}

	foreign := libseccomp.ActNotify
	if p.Default == seccomp.Allow() {
		foreign = libseccomp.ActAllow
	}
	if err := f.SetBadArchAction(foreign); err != nil {
		return fmt.Errorf("set the answer to foreign architectures: %w", err)
	}

	// Level 2 makes a binary tree of call numbers: for the default tier 508
	// instructions instead of 434, but 15 steps for an allowed call instead of
	// 120.
	if p.Default != seccomp.Allow() {
		return f.SetOptimize(2)
	}
	return nil
}

func add(f *libseccomp.ScmpFilter, arch seccomp.Arch, r seccomp.FlatRule) error {
	act, err := action(r.Answer)
	if err != nil {
		return err
	}

	call, err := number(arch, r)
	if err != nil {
		return err
	}
	if len(r.Conds) == 0 {
		return f.AddRule(call, act)
	}

	var conds []libseccomp.ScmpCondition
	for _, c := range r.Conds {
		k, err := condition(c)
		if err != nil {
			return err
		}
		conds = append(conds, k)
	}

	return f.AddRuleConditional(call, act, conds)
}

// number returns libseccomp's number of the call: on the native architecture the plain
// number, so that calls newer than the library work; for another architecture the native
// or pseudo number of the same name, which libseccomp translates back.
func number(arch seccomp.Arch, r seccomp.FlatRule) (libseccomp.ScmpSyscall, error) {
	if arch.OrNative() == seccomp.Arch("").OrNative() {
		return libseccomp.ScmpSyscall(r.Nr), nil
	}
	n, err := libseccomp.GetSyscallFromName(r.Name)
	if err != nil {
		return 0, fmt.Errorf("this libseccomp does not know the call, and cannot compile it for another machine: %w", err)
	}
	return n, nil
}

func condition(c seccomp.Cond) (libseccomp.ScmpCondition, error) {
	switch c.Op {
	case seccomp.Equal:
		return libseccomp.MakeCondition(c.Index, libseccomp.CompareEqual, c.Value)
	case seccomp.NotEqual:
		return libseccomp.MakeCondition(c.Index, libseccomp.CompareNotEqual, c.Value)
	case seccomp.MaskedEqual:
		return libseccomp.MakeCondition(c.Index, libseccomp.CompareMaskedEqual, c.Mask, c.Value)
	}
	return libseccomp.ScmpCondition{}, fmt.Errorf("BUG: comparison %q", c.Op)
}

func action(a seccomp.Answer) (libseccomp.ScmpAction, error) {
	switch a.Action {
	case seccomp.ActAllow:
		return libseccomp.ActAllow, nil
	case seccomp.ActErrno:
		return libseccomp.ActErrno.SetReturnCode(int16(a.Errno)), nil
	case seccomp.ActLog:
		return libseccomp.ActLog, nil
	case seccomp.ActKill, seccomp.ActCount:
		return libseccomp.ActNotify, nil
	case seccomp.ActKillProcess:
		return libseccomp.ActKillProcess, nil
	}

	return libseccomp.ActInvalid, fmt.Errorf("unknown action %q", a.Action)
}

// export reads the filter through a memfd: ExportBPFMem needs libseccomp 2.6.
func export(f *libseccomp.ScmpFilter) (raw []byte, err error) {
	fd, err := unix.MemfdCreate("seccomp", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make memory file for the filter: %w", err)
	}

	file := os.NewFile(uintptr(fd), "seccomp filter")
	defer func() { err = errors.Join(err, file.Close()) }()

	if err := f.ExportBPF(file); err != nil {
		return nil, fmt.Errorf("export filter: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(file)
}
