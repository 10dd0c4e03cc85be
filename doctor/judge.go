package doctor

import (
	"fmt"
	"strings"

	"github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/internal/procfs"
)

// Judge decides what the facts mean. It touches nothing.
func Judge(f Facts) Report {
	var all []Check
	for _, part := range []func(Facts) []Check{machine, groups, calls, agents, images, noisy, hardening} {
		all = append(all, part(f)...)
	}
	r := Report{Trusted: true, Checks: all}
	for _, c := range all {
		r.Trusted = r.Trusted && c.Status != Fail
		if !f.Root && strings.HasPrefix(c.Found, "unknown") {
			r.Unasked = append(r.Unasked, c.Name)
		}
	}
	r.Trusted = r.Trusted && len(r.Unasked) == 0
	return r
}

// pick makes a check that is well or, with a reason and a cure, not.
func pick(name string, well bool, otherwise Status, found, why, cure string) Check {
	if well {
		return Check{Name: name, Status: OK, Found: found}
	}
	return Check{name, otherwise, found, why, cure}
}

func machine(f Facts) []Check {
	return []Check{
		{Name: "kernel", Status: OK, Found: f.Kernel},
		pick("architecture", f.Arch == "amd64", Fail, f.Arch,
			"the seccomp filters and cellinit are built for amd64 only", "use an amd64 machine"),
		pick("root", f.Root, Warn, map[bool]string{true: "yes", false: "no"}[f.Root],
			"what only root can ask is unknown below; runs need an agent that root started", "sudo brig doctor"),
	}
}

func groups(f Facts) []Check {
	if f.Cgroups == nil {
		return []Check{{"cgroups", Fail, f.CgroupErr, "nothing could be limited", "mount cgroup2 on /sys/fs/cgroup, or boot with systemd"}}
	}
	h := f.Cgroups
	all := []Check{pick("cgroups", f.CheckErr == "", Fail, "mode "+string(h.Mode),
		f.CheckErr, "mount cgroup2 with the missing controllers, or start brig in a group that has them")}
	for _, name := range []string{"memory", "pids", "cpu", "cpuset"} {
		where, err := h.Controller(name)
		found := "at " + where.Mount
		if err != nil {
			found = err.Error()
		}
		all = append(all, pick("controller "+name, err == nil, Fail, found, "a run could not be limited", "boot with the controller enabled (see cgroup_disable in /proc/cmdline)"))
	}
	ft := h.Features
	feature := func(name string, s cgroups.State, bad Status, why, cure string) {
		if s == "" {
			s = cgroups.Unknown
		}
		if s == cgroups.Unknown {
			bad = Warn
			why, cure = "it could not be asked in this group: "+why, ""
		}
		all = append(all, pick(name, s == cgroups.Yes, bad, string(s), why, cure))
	}
	feature("cgroup.kill", ft.Kill, Warn, "runs are ended process by process", "Linux 5.14 and a mounted cgroup2")
	feature("memory peak", ft.Peak, Warn, "the memory a run used is not reported", "Linux 5.19")
	feature("memory peak reset", ft.PeakReset, Warn, "every run needs a group of its own, which costs time", "Linux 6.12")
	if h.SwapOn {
		feature("swap accounting", ft.Swap, Fail, "a program could leave its memory limit by way of swap", "boot with swapaccount=1, or swapoff -a")
	} else {
		all = append(all, Check{Name: "swap accounting", Status: OK, Found: string(ft.Swap) + ", no swap in use"})
	}
	return append(all, f.asked("clone into cgroup", f.CloneInto, Warn, "a run joins its group after it is born", "Linux 5.7"))
}

// asked turns an answer into a check. What a user may not ask is a warning; what
// is forbidden to root, as in a container without its capabilities, is not there.
func (f Facts) asked(name string, a Answer, bad Status, why, cure string) Check {
	switch {
	case a.State == cgroups.Yes:
		return Check{Name: name, Status: OK, Found: strings.TrimSuffix("works, "+a.Said, ", ")}
	case a.State == cgroups.No, f.Root:
		return Check{name, bad, a.Said, why, cure}
	}
	return Check{name, Warn, "unknown: " + a.Said, "without it " + why, "sudo brig doctor"}
}

func calls(f Facts) []Check {
	return []Check{
		userns(f),
		f.asked("proc in a cell", f.Proc, Fail, "no cell could be made", procfs.Cure),
		f.asked("seccomp filter", f.Seccomp, Fail, "no system call could be denied", "a kernel with CONFIG_SECCOMP_FILTER, Linux 4.14"),
		f.asked("seccomp notification", f.Notify, Fail, "a denied call could not be named", "Linux 5.0"),
		f.asked("mount by descriptor", f.MountAPI, Fail, "no scratch could be made", "Linux 5.2 (fsopen, fsmount) with tmpfs; in a container: CAP_SYS_ADMIN"),
		f.asked("move_mount", f.MoveTree, Fail, "no mount could be hung", "Linux 5.2"),
		f.asked("open_tree", f.OpenTree, Fail, "no image could be hung", "Linux 5.2"),
		idmap(f),
		f.asked("overlayfs", f.Overlay, Warn, "--writable-root is refused", "modprobe overlay"),
		f.asked("openat2", f.Openat2, Fail, "a program could lead the agent out of /box", "Linux 5.6"),
		f.asked("pidfd", f.Pidfd, Fail, "a signal could hit the wrong process", "Linux 5.3"),
		f.asked("close_range", f.CloseR, Fail, "a descriptor could leak into a run", "Linux 5.9"),
		memory(f),
		f.asked("volumes", f.Volumes, Warn, "sessions with a volume are refused", "apt-get install e2fsprogs; modprobe loop; modprobe ext4"),
	}
}

func userns(f Facts) Check {
	const name = "user namespaces"
	if f.UserNS.State == cgroups.Yes {
		return Check{Name: name, Status: OK, Found: "works"}
	}
	c := Check{name, Fail, f.UserNS.Said, "a program's root would be the host's", "a kernel with CONFIG_USER_NS"}
	switch {
	case f.Sysctls["user.max_user_namespaces"] == "0":
		c.Cure = "sysctl user.max_user_namespaces=10000"
	case f.Root:
		c.Cure = "allow them where brig runs: inside a container they are often denied by its seccomp profile"
	case f.Sysctls["kernel.unprivileged_userns_clone"] == "0", f.Sysctls["kernel.apparmor_restrict_unprivileged_userns"] == "1":
		// The agent is root and is not held by either.
		c.Status, c.Why, c.Cure = Warn, "the host denies them to users; the agent, which is root, may have them", "sudo brig doctor"
	}
	return c
}

func idmap(f Facts) Check {
	c := f.asked("idmapped mounts", f.IDMap, Fail, "an image could not be shown with a cell's own ids",
		"keep the store (--data-dir) on ext4, xfs or btrfs, or on tmpfs from Linux 6.3")
	c.Found += fmt.Sprintf(" (%s, %s)", f.Store, f.StoreType)
	return c
}

func memory(f Facts) Check {
	if f.Sysctls["vm.memfd_noexec"] == "2" {
		return Check{"sealed memory", Fail, "vm.memfd_noexec is 2", "the agent starts cells from a sealed copy of itself in memory", "sysctl vm.memfd_noexec=1"}
	}
	return f.asked("sealed memory", f.Memfd, Fail, "the agent starts cells from a sealed copy of itself", "Linux 3.17")
}

func agents(f Facts) []Check {
	bin := Check{Name: "brigd", Status: OK, Found: f.Brigd + " " + f.BrigdVersion}
	if f.BrigdErr != "" {
		bin = Check{"brigd", Warn, f.BrigdErr, "no agent can be started from here", "install brigd beside brig, or in PATH"}
	}
	socket := Check{Name: "agent", Status: OK, Found: f.Agent.Socket + " answers, version " + f.Agent.Version}
	if f.Agent.Err != "" {
		socket = Check{"agent", Warn, f.Agent.Err, "brig run starts an agent for each command, and only for root", "sudo groupadd -f brig; sudo brigd --group brig &"}
	}
	if bin.Status == Warn && socket.Status == Warn {
		bin.Status = Fail
		bin.Why = "there is nobody to run a program"
	}
	return []Check{bin, socket}
}
