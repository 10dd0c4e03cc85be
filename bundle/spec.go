// Package bundle writes a run as an OCI bundle, so that a plain runtime such as
// runc applies brig's policy to one program.
//
// What a bundle cannot say is not in it: the limits on wall time and output, one
// size for all scratch directories together, the verdict. The program is PID 1
// there, which ignores signals it has no handler for; under brig it is PID 2.
package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	oci "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/seccomp"
)

// A Config is one run, decided.
type Config struct {
	Args     []string          // the command, looked up in PATH
	Env      map[string]string // over PATH, HOME, TMPDIR and LANG
	Limits   api.Limits        // complete: see api.Limits.Resolve
	Profile  seccomp.Profile   // the bundle's has what Widened adds
	FullProc bool              // /proc with more than processes; what leaks of the host is masked
}

// The ids of the program: inside, and where the range of 65,536 begins on the
// host. No slot of an agent has that range.
const (
	uid    = 1000
	hostID = 0x6fff0000
	idSize = 65536
)

// Root is the name of the image's tree in a bundle.
const Root = "rootfs"

// Spec writes c as an OCI runtime configuration. It reads nothing.
func Spec(c Config) (*oci.Spec, error) {
	wide, _ := Widened(c.Profile)
	filter, err := filterOf(wide)
	if err != nil {
		return nil, err
	}
	ids := []oci.LinuxIDMapping{{ContainerID: 0, HostID: hostID, Size: idSize}}
	return &oci.Spec{
		Version:  "1.0.2", // of the specification; what runc 1.1 reads
		Root:     &oci.Root{Path: Root, Readonly: true},
		Hostname: "sandbox",
		Process: &oci.Process{
			Args: c.Args, Env: environment(c.Env), Cwd: "/box",
			User:            oci.User{UID: uid, GID: uid},
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
			MaskedPaths:       masked,
			ReadonlyPaths:     []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}, nil
}

// masked tell of the host, or of its other tenants. With subset=pid they are not
// there in the first place.
var masked = []string{
	"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
	"/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
}

// searchPath is the PATH of a program whose environment is over ours.
func searchPath(over map[string]string) string {
	if p, ok := over["PATH"]; ok {
		return p
	}
	return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

func environment(over map[string]string) []string {
	all := map[string]string{
		"PATH": searchPath(nil),
		"HOME": "/box", "TMPDIR": "/tmp", "LANG": "C.UTF-8",
	}
	maps.Copy(all, over)
	var env []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, name+"="+all[name])
	}
	return env
}

// mounts are what is not the image. Each scratch directory has the whole limit on
// scratch; together they are bounded by the limit on memory.
func mounts(c Config) []oci.Mount {
	proc := []string{"nosuid", "nodev", "noexec", "ro", "hidepid=invisible"}
	if !c.FullProc {
		proc = append(proc, "subset=pid")
	}
	scratch := func(at, mode string) oci.Mount {
		return oci.Mount{Destination: at, Type: "tmpfs", Source: "tmpfs", Options: []string{
			"nosuid", "nodev", "mode=" + mode, fmt.Sprintf("uid=%d", uid), fmt.Sprintf("gid=%d", uid),
			fmt.Sprintf("size=%d", int64(c.Limits.Scratch)), fmt.Sprintf("nr_inodes=%d", c.Limits.Inodes+1),
		}}
	}
	return []oci.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: proc},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "noexec", "mode=0755", "size=64k", "ro"}},
		scratch("/dev/shm", "1777"), scratch("/box", "0755"), scratch("/tmp", "1777"),
	}
}

// rlimits are those of a cell and those of a run. The processor time is a backstop
// in whole seconds.
func rlimits(l api.Limits) []oci.POSIXRlimit {
	both := func(name string, v uint64) oci.POSIXRlimit { return oci.POSIXRlimit{Type: name, Hard: v, Soft: v} }
	return []oci.POSIXRlimit{
		both("RLIMIT_CORE", 1), both("RLIMIT_MEMLOCK", 64<<10), both("RLIMIT_MSGQUEUE", 0), both("RLIMIT_NICE", 0),
		both("RLIMIT_RTPRIO", 0), both("RLIMIT_SIGPENDING", 1024),
		both("RLIMIT_NOFILE", uint64(l.OpenFiles)), both("RLIMIT_STACK", uint64(l.Stack)), both("RLIMIT_FSIZE", uint64(l.Scratch)),
		both("RLIMIT_CPU", uint64(math.Ceil(float64(l.CPU)/1e9))+2),
	}
}

func resources(l api.Limits) *oci.LinuxResources {
	const period = 100_000 // microseconds
	memory, swap := int64(l.Memory), int64(l.Memory+l.Swap)
	quota, shares := int64(l.CPUs*period), uint64(l.Weight)
	every := uint64(period)
	return &oci.LinuxResources{
		Devices: []oci.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}},
		Memory:  &oci.LinuxMemory{Limit: &memory, Swap: &swap},
		CPU:     &oci.LinuxCPU{Quota: &quota, Period: &every, Shares: &shares, Cpus: l.Cpuset},
		Pids:    &oci.LinuxPids{Limit: &l.Pids},
	}
}

// filterOf exports a profile. The form is that of linux.seccomp in either package.
func filterOf(p seccomp.Profile) (*oci.LinuxSeccomp, error) {
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
