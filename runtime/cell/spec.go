package cell

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/specconv"
	oci "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/plan"
)

// cellCaps are what PID 1 of a cell may do inside its user namespace, and only there: make shells
// and mount for them (SYS_ADMIN), become uid 1000 (SETUID, SETGID), kill them (KILL), and empty the
// bounding set with which it starts (SETPCAP).
var cellCaps = []string{"CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_SETPCAP"}

// A cellSpec is what a cell's OCI configuration depends on.
type cellSpec struct {
	rootfs        string            // where the idmapped clone of the image is mounted, in the agent's mount namespace
	dev           string            // where the prepared /dev is mounted
	machine       string            // where the files of the machine are mounted
	cgroup        string            // for libcontainer: the cell's init group
	cpus          string            // that group's processors, as a kernel list; empty: its parent's
	hostBase      uint32            // first host id
	readonly      bool              // false: the root is a throw-away overlay
	ownsImage     bool              // programs have a user namespace below the cell's
	oomScoreAdj   int               // what the kernel adds to the badness of its processes when memory runs out
	inotifyLimits map[string]string // see inotifyShares
}

// spec builds the OCI runtime configuration of the cell. It reads nothing.
//
// There is no seccomp section: libcontainer would load it before PID 1 runs, and the cell's filter
// must let cellinit prepare first. There is no cgroup namespace: a run sees no cgroup file system,
// and with nsdelegate the kernel would refuse CLONE_INTO_CGROUP to groups outside it.
func (c cellSpec) spec() *oci.Spec {
	ids := []oci.LinuxIDMapping{{ContainerID: 0, HostID: c.hostBase, Size: plan.IDCount}}

	// No process below this namespace may make another user namespace, with or without the filter
	// (NS-03). cellinit makes the one of programs that own their image, before any program runs; it
	// lives as long as the cell, so no second one can be made (OWN-05).
	sysctl := map[string]string{"user.max_user_namespaces": "0"}
	if c.ownsImage {
		sysctl["user.max_user_namespaces"] = "1"
	}
	maps.Copy(sysctl, c.inotifyLimits)
	return &oci.Spec{
		Version:  oci.Version,
		Root:     &oci.Root{Path: c.rootfs, Readonly: c.readonly},
		Hostname: "sandbox",
		Process: &oci.Process{
			Args:         []string{"/proc/self/fd/3"},
			Cwd:          "/",
			User:         oci.User{UID: 0, GID: 0},
			Capabilities: &oci.LinuxCapabilities{Bounding: cellCaps, Effective: cellCaps, Permitted: cellCaps},
			Rlimits:      cellRlimits(),
			OOMScoreAdj:  &c.oomScoreAdj,
		},
		Mounts: []oci.Mount{
			{Destination: "/dev", Source: c.dev, Type: "bind", Options: []string{"bind", "nosuid", "noexec", "ro"}},
			// The shells bind these files over those of their /proc. Each shell covers /tmp with its own.
			{Destination: "/tmp", Source: c.machine, Type: "bind", Options: []string{"bind", "nosuid", "nodev", "noexec", "ro"}},
			// Full, writable and unmasked: the kernel lets a shell mount its own /proc only while
			// an unobstructed one is visible (mnt_already_visible).
			{Destination: "/proc", Source: "proc", Type: "proc", Options: []string{"nosuid", "nodev", "noexec"}},
		},
		Linux: &oci.Linux{
			Namespaces: []oci.LinuxNamespace{
				{Type: oci.UserNamespace}, {Type: oci.MountNamespace}, {Type: oci.PIDNamespace},
				{Type: oci.NetworkNamespace}, {Type: oci.IPCNamespace}, {Type: oci.UTSNamespace},
			},
			UIDMappings:       ids,
			GIDMappings:       ids,
			CgroupsPath:       c.cgroup,
			RootfsPropagation: "private",
			Sysctl:            sysctl,
		},
	}
}

// cellOOMScoreAdj is the oom_score_adj of the processes of cells. With it the kernel kills them before
// the agent when memory runs out above the runs. Without it they would inherit the agent's
// OOMScoreAdjust= (AGT-09). A larger value of the agent itself is kept: lowering it would need
// CAP_SYS_RESOURCE.
func cellOOMScoreAdj() (int, error) {
	text, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return 0, err
	}
	own, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return max(own, 500), err
}

// cellRlimits are the limits of everything in the cell, in OCI's form. The limits of a run come with
// its start message.
func cellRlimits() []oci.POSIXRlimit {
	var out []oci.POSIXRlimit
	for _, l := range plan.CellRLimits() {
		out = append(out, oci.POSIXRlimit{Type: l.Name, Hard: l.Value, Soft: l.Value})
	}
	return out
}

// specconv writes the container's root id into its package variable
// AllowedDevices (runc 1.5.2), so only one conversion may run at a time.
var converting sync.Mutex

// cellConfig converts the spec into libcontainer's configuration.
func cellConfig(s cellSpec) (*configs.Config, error) {
	converting.Lock()
	defer converting.Unlock()

	config, err := specconv.CreateLibcontainerConfig(&specconv.CreateOpts{
		CgroupName: "brig", NoNewKeyring: true, Spec: ablateSpec(s.spec()),
	})
	if err != nil {
		return nil, fmt.Errorf("cell configuration: %w", err)
	}

	config.Devices = nil  // libcontainer shares these between all cells; /dev is our own mount
	config.Networks = nil // not even a loopback that is up

	// We set the groups' limits ourselves, on the leaves. The device controller adds nothing: a
	// user namespace cannot make device nodes, and every mount is nodev.
	config.Cgroups = &cgroups.Cgroup{Path: s.cgroup, Resources: &cgroups.Resources{CpusetCpus: s.cpus}}
	config.Rlimits = nil

	for _, r := range ablateSpec(s.spec()).Process.Rlimits {
		n, err := rlimitNumber(r.Type)
		if err != nil {
			return nil, err
		}
		var own unix.Rlimit
		if err := unix.Getrlimit(n, &own); err != nil {
			return nil, os.NewSyscallError("getrlimit", err)
		}
		hard := min(r.Hard, own.Max) // a confined root lacks the privilege to give more than we have
		config.Rlimits = append(config.Rlimits, configs.Rlimit{Type: n, Hard: hard, Soft: min(r.Soft, hard)})
	}

	return config, nil
}
