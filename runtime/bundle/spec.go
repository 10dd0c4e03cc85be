// Package bundle writes a run as an OCI bundle, so that a plain runtime such as
// runc applies brig's policy to one program.
//
// A bundle cannot express, and therefore lacks: the limits on wall time and output, one size for
// all scratch directories together, the verdict. In a bundle the program is PID 1, which ignores
// signals it has no handler for; under brig it is PID 2.
package bundle

import (
	"encoding/json"
	"fmt"

	oci "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/seccomp"
)

// A Config describes one run completely.
type Config struct {
	Args     []string          // the command, looked up in PATH
	Env      map[string]string // in addition to PATH, HOME, TMPDIR and LANG, which it may override
	Limits   api.Limits        // complete: see api.Limits.Resolve
	Profile  seccomp.Profile   // the bundle also allows the runtime's own calls
	Runtime  Runtime           // that will run the bundle; empty: runc
	FullProc bool              // /proc with more than processes; files that leak host data are masked
}

// hostID is the start of the range of host ids of a bundle. No slot of an agent uses that range.
const hostID = 0x6fff0000

// Root is the name of the image's tree in a bundle.
const Root = "rootfs"

// Spec converts c to an OCI runtime configuration. It reads no files.
func Spec(c Config) (*oci.Spec, error) {
	wide, _ := WithRuntimeCalls(c.Profile, c.Runtime)
	filter, err := ociFilter(wide)
	if err != nil {
		return nil, err
	}

	ids := []oci.LinuxIDMapping{{ContainerID: 0, HostID: hostID, Size: plan.IDCount}}
	return &oci.Spec{
		Version:  "1.0.2", // of the specification, as runc 1.1 reads it
		Root:     &oci.Root{Path: Root, Readonly: true},
		Hostname: "sandbox",
		Process: &oci.Process{
			Args: c.Args, Env: plan.Environment(nil, c.Env), Cwd: "/box",
			User:            oci.User{UID: plan.UID, GID: plan.GID},
			Capabilities:    &oci.LinuxCapabilities{}, // every set empty (CAP-01)
			NoNewPrivileges: true,
			Rlimits:         rlimits(c.Limits),
		},
		Mounts: mounts(c),
		Linux: &oci.Linux{
			Namespaces: []oci.LinuxNamespace{
				{Type: oci.UserNamespace}, {Type: oci.MountNamespace}, {Type: oci.PIDNamespace},
				{Type: oci.NetworkNamespace}, {Type: oci.IPCNamespace}, {Type: oci.UTSNamespace}, {Type: oci.CgroupNamespace},
			},
			UIDMappings: ids, GIDMappings: ids,
			Resources:         resources(c.Limits),
			Seccomp:           filter,
			RootfsPropagation: "private",
			MaskedPaths:       maskedPaths,
			ReadonlyPaths:     []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}, nil
}

// maskedPaths are files that reveal data about the host or its other tenants. With subset=pid they do
// not exist at all.
var maskedPaths = []string{
	"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
	"/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
}

// mounts returns all mounts except the image. Each scratch directory has the full scratch limit;
// together they are bounded by the memory limit.
func mounts(c Config) []oci.Mount {
	proc := []string{"nosuid", "nodev", "noexec", "ro", "hidepid=invisible"}
	if !c.FullProc {
		proc = append(proc, "subset=pid")
	}

	scratch := func(at, mode string) oci.Mount {
		return oci.Mount{Destination: at, Type: "tmpfs", Source: "tmpfs", Options: []string{
			"nosuid", "nodev", "mode=" + mode, fmt.Sprintf("uid=%d", plan.UID), fmt.Sprintf("gid=%d", plan.GID),
			fmt.Sprintf("size=%d", int64(c.Limits.Scratch)), fmt.Sprintf("nr_inodes=%d", c.Limits.Inodes+1),
		}}
	}

	return []oci.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: proc},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "noexec", "mode=0755", "size=64k", "ro"}},
		scratch("/dev/shm", "1777"), scratch("/box", "0755"), scratch("/tmp", "1777"),
	}
}

// rlimits returns the rlimits of a cell and of a run together, without those of what a process maps: runc sets them on
// itself before it loads the filter, for which it needs more (TestBundleUnderRuncKeepsItsLimits).
func rlimits(l api.Limits) []oci.POSIXRlimit {
	l.AddressSpace, l.Data = 0, 0
	var out []oci.POSIXRlimit
	for _, r := range append(plan.CellRLimits(), plan.RLimits(l, l.CPU, 0)...) {
		out = append(out, oci.POSIXRlimit{Type: r.Name, Hard: r.Value, Soft: r.Value})
	}
	return out
}

func resources(l api.Limits) *oci.LinuxResources {
	const period = 100_000 // microseconds
	memory, swap := int64(l.Memory), int64(l.Memory+l.Swap)
	quota, shares := int64(l.CPUs*period), uint64(l.Weight)
	periodUS := uint64(period)
	return &oci.LinuxResources{
		Devices: []oci.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}},
		Memory:  &oci.LinuxMemory{Limit: &memory, Swap: &swap},
		CPU:     &oci.LinuxCPU{Quota: &quota, Period: &periodUS, Shares: &shares, Cpus: l.Cpuset},
		Pids:    &oci.LinuxPids{Limit: &l.Pids},
	}
}

// ociFilter converts a profile to OCI form. The JSON form of linux.seccomp is the same in seccomp
// and in the OCI package.
func ociFilter(p seccomp.Profile) (*oci.LinuxSeccomp, error) {
	o, err := seccomp.ExportOCI(p)
	if err != nil {
		return nil, err
	}

	text, err := o.JSON()
	if err != nil {
		return nil, fmt.Errorf("export profile %s: %w", p.Name, err)
	}

	out := new(oci.LinuxSeccomp)
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("export profile %s: %w", p.Name, err)
	}
	return out, nil
}
