package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/cgroups"
)

// Options say what to examine in addition to the kernel.
type Options struct {
	Store    string // of images
	Brigd    string // path of the agent's binary; empty if BrigdErr gives the reason
	BrigdErr string
	Agent    Agent

	Outdated    []Outdated // images in Store
	OutdatedErr string     // why they could not be determined
}

// Gather examines the host. That something cannot be probed is a fact too, so there is no error.
func Gather(ctx context.Context, o Options) Facts {
	f := Facts{
		Kernel: release(), Arch: goruntime.GOARCH, Root: os.Geteuid() == 0, Processors: goruntime.NumCPU(),
		Sysctls: map[string]string{}, Brigd: o.Brigd, BrigdErr: o.BrigdErr, Agent: o.Agent, Outdated: o.Outdated,
		OutdatedErr: o.OutdatedErr,
		Noise:       noise(), Vulnerabilities: vulnerabilities(),
		CloneInto: cloneInto(), Seccomp: seccompActions(), Notify: seccompNotify(),
		MountAPI: mountAPI(), MoveTree: moveMount(), Overlay: overlay(),
		Proc: ownProc(), Openat2: openat2(), Pidfd: pidfd(), CloseRange: closeRange(), Memfd: memfd(), Volumes: volumes(),
	}

	for _, name := range sysctls() {
		f.Sysctls[name] = read("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	}

	if h, err := cgroups.Probe(); err != nil {
		f.CgroupErr = err.Error()
	} else {
		f.Cgroups = h
		if err := h.Check(); err != nil {
			f.CheckErr = err.Error()
		}
	}

	f.Store = closestExisting(o.Store)
	f.StoreType = fileSystem(f.Store)
	var ns *os.File
	f.UserNS, ns = userNamespace(f.Root)
	f.OpenTree, f.IDMap = idmapped(f.Store, ns)
	if ns != nil {
		ns.Close()
	}
	if f.Brigd != "" {
		f.BrigdVersion, f.BrigdErr = brigdVersion(ctx, f.Brigd)
	}
	return f
}

func release() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// read returns the content of a small kernel file, or an empty string if there is none.
func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// closestExisting returns dir, or the closest directory above it that exists.
func closestExisting(dir string) string {
	for dir != "/" && dir != "." {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return "/"
}

func fileSystem(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return "unknown"
	}
	names := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.NFS_SUPER_MAGIC: "nfs", 0x2fc12fc1: "zfs",
	}
	if n, ok := names[int64(st.Type)]; ok {
		return n
	}
	return "type 0x" + strconv.FormatInt(int64(st.Type), 16)
}

// brigdVersion starts the agent's binary, which shows that the binary and the libseccomp in it
// fit this machine.
func brigdVersion(ctx context.Context, bin string) (version, why string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, bin, "--version").CombinedOutput()
	if err != nil {
		return "", strings.TrimSpace(err.Error() + ": " + string(out))
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "brigd ")), ""
}

func noise() Noise {
	n := Noise{SMT: read("/sys/devices/system/cpu/smt/active")}
	paths, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor") // the pattern is well formed
	seen := map[string]bool{}
	for _, p := range paths {
		if g := read(p); g != "" && !seen[g] {
			seen[g] = true
			n.Governors = append(n.Governors, g)
		}
	}

	noTurbo, boost := read("/sys/devices/system/cpu/intel_pstate/no_turbo"), read("/sys/devices/system/cpu/cpufreq/boost")
	switch {
	case noTurbo == "0", boost == "1":
		n.Turbo = "on"
	case noTurbo == "1", boost == "0":
		n.Turbo = "off"
	}

	if _, after, ok := strings.Cut(read("/sys/kernel/mm/transparent_hugepage/enabled"), "["); ok {
		n.THP, _, _ = strings.Cut(after, "]")
	}

	first, _, _ := strings.Cut(read("/proc/loadavg"), " ")
	n.Load, _ = strconv.ParseFloat(first, 64) // zero where /proc has none
	return n
}

// vulnerabilities lists the processor's flaws that the kernel does not mitigate.
func vulnerabilities() []string {
	const dir = "/sys/devices/system/cpu/vulnerabilities"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(read(filepath.Join(dir, e.Name())), "Vulnerable") {
			out = append(out, e.Name())
		}
	}
	return out
}
