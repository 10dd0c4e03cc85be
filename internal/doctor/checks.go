package doctor

import (
	"fmt"
	"strings"

	"github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/internal/procfs"
)

// Judge turns the facts into a report. It has no side effects.
func Judge(f Facts) Report {
	var all []Check
	for _, part := range []func(Facts) []Check{
		machineChecks, cgroupChecks, kernelChecks, agentChecks, imageChecks, timingChecks, hardeningChecks} {
		all = append(all, part(f)...)
	}

	r := Report{Trusted: true, Checks: all}
	for _, c := range all {
		r.Trusted = r.Trusted && c.Status != Fail
		if !f.Root && strings.HasPrefix(c.Found, "unknown") {
			r.Unknown = append(r.Unknown, c.Name)
		}
	}

	r.Trusted = r.Trusted && len(r.Unknown) == 0
	return r
}

// newCheck makes a check: OK if well is true, otherwise the given status with a reason and a remedy.
func newCheck(name string, well bool, otherwise Status, found, why, cure string) Check {
	if well {
		return Check{Name: name, Status: OK, Found: found}
	}
	return Check{name, otherwise, found, why, cure}
}

func machineChecks(f Facts) []Check {
	return []Check{
		{Name: "kernel", Status: OK, Found: f.Kernel},
		newCheck("architecture", f.Arch == "amd64", Fail, f.Arch,
			"the seccomp filters and cellinit are built for amd64 only", "use an amd64 machine"),
		newCheck("root", f.Root, Warn, map[bool]string{true: "yes", false: "no"}[f.Root],
			"what only root can check is unknown below; runs need an agent that root started", "sudo brig doctor"),
	}
}

func cgroupChecks(f Facts) []Check {
	if f.Cgroups == nil {
		return []Check{{"cgroups", Fail, f.CgroupErr, "no resource could be limited",
			"mount cgroup2 on /sys/fs/cgroup, or boot with systemd"}}
	}

	h := f.Cgroups
	all := []Check{newCheck("cgroups", f.CheckErr == "", Fail, "mode "+string(h.Mode),
		f.CheckErr, "mount cgroup2 with the missing controllers, or start brig in a group that has them")}
	for _, name := range []string{"memory", "pids", "cpu", "cpuset"} {
		where, err := h.Controller(name)
		found := "at " + where.Mount
		if err != nil {
			found = err.Error()
		}
		all = append(all, newCheck("controller "+name, err == nil, Fail, found, "a run could not be limited",
			"boot with the controller enabled (see cgroup_disable in /proc/cmdline)"))
	}

	ft := h.Features
	feature := func(name string, s cgroups.State, bad Status, why, cure string) {
		if s == "" {
			s = cgroups.Unknown
		}
		if s == cgroups.Unknown {
			bad = Warn
			why, cure = "it could not be checked in this group: "+why, ""
		}
		all = append(all, newCheck(name, s == cgroups.Yes, bad, string(s), why, cure))
	}

	feature("cgroup.kill", ft.Kill, Warn, "runs are ended process by process", "Linux 5.14 and a mounted cgroup2")
	feature("memory peak", ft.Peak, Warn, "the memory a run used is not reported", "Linux 5.19")
	feature("memory peak reset", ft.PeakReset, Warn, "every run needs its own group, which costs time", "Linux 6.12")
	if h.SwapOn {
		feature("swap accounting", ft.Swap, Fail, "a program could exceed its memory limit by using swap",
			"boot with swapaccount=1, or swapoff -a")
	} else {
		all = append(all, Check{Name: "swap accounting", Status: OK, Found: string(ft.Swap) + ", no swap in use"})
	}

	return append(all, f.probeCheck("clone into cgroup", f.CloneInto, Warn,
		"a run joins its group only after it was created", "Linux 5.7"))
}

// probeCheck turns an answer into a check. A probe that is forbidden to an ordinary user gives a
// warning. One that is forbidden to root, as in a container without its capabilities, means that
// the feature is missing.
func (f Facts) probeCheck(name string, a Answer, bad Status, why, cure string) Check {
	switch {
	case a.State == cgroups.Yes:
		return Check{Name: name, Status: OK, Found: strings.TrimSuffix("works, "+a.Detail, ", ")}
	case a.State == cgroups.No, f.Root:
		return Check{name, bad, a.Detail, why, cure}
	}
	return Check{name, Warn, "unknown: " + a.Detail, "without it " + why, "sudo brig doctor"}
}

func kernelChecks(f Facts) []Check {
	return []Check{
		userns(f),
		f.probeCheck("proc in a cell", f.Proc, Fail, "no cell could be created", procfs.Remedy),
		f.probeCheck("seccomp filter", f.Seccomp, Fail, "no system call could be denied",
			"a kernel with CONFIG_SECCOMP_FILTER, Linux 4.14"),
		f.probeCheck("seccomp notification", f.Notify, Fail, "a denied call could not be named", "Linux 5.0"),
		f.probeCheck("mount by descriptor", f.MountAPI, Fail, "no scratch could be created",
			"Linux 5.2 (fsopen, fsmount) with tmpfs; in a container: CAP_SYS_ADMIN"),
		f.probeCheck("move_mount", f.MoveTree, Fail, "no mount could be attached", "Linux 5.2"),
		f.probeCheck("open_tree", f.OpenTree, Fail, "no image could be mounted", "Linux 5.2"),
		idmap(f),
		f.probeCheck("overlayfs", f.Overlay, Warn, "--writable-root is refused", "modprobe overlay"),
		f.probeCheck("openat2", f.Openat2, Fail, "a program could make the agent follow a path out of /box", "Linux 5.6"),
		f.probeCheck("pidfd", f.Pidfd, Fail, "a signal could hit the wrong process", "Linux 5.3"),
		f.probeCheck("close_range", f.CloseRange, Fail, "a descriptor could leak into a run", "Linux 5.9"),
		memory(f),
		f.probeCheck("volumes", f.Volumes, Warn, "sessions with a volume are refused",
			"apt-get install e2fsprogs; modprobe loop; modprobe ext4"),
	}
}

func userns(f Facts) Check {
	const name = "user namespaces"
	if f.UserNS.State == cgroups.Yes {
		return Check{Name: name, Status: OK, Found: "works"}
	}

	c := Check{name, Fail, f.UserNS.Detail, "a program's root would be the host's", "a kernel with CONFIG_USER_NS"}
	switch {
	case f.Sysctls["user.max_user_namespaces"] == "0":
		c.Remedy = "sysctl user.max_user_namespaces=10000"
	case f.Root:
		c.Remedy = "allow them where brig runs: inside a container they are often denied by its seccomp profile, " +
			"and a process in a chroot never gets one (clone(2)): enter that root with systemd-nspawn"
	case f.Sysctls["kernel.unprivileged_userns_clone"] == "0",
		f.Sysctls["kernel.apparmor_restrict_unprivileged_userns"] == "1":
		// The agent is root: neither setting restricts it.
		c.Status, c.Why, c.Remedy = Warn,
			"the host denies them to ordinary users; the agent, which is root, may be able to use them", "sudo brig doctor"
	}

	return c
}

func idmap(f Facts) Check {
	c := f.probeCheck("idmapped mounts", f.IDMap, Fail, "an image could not be mounted with a cell's own ids",
		"keep the store (--data-dir) on ext4, xfs or btrfs, or on tmpfs from Linux 6.3")
	c.Found += fmt.Sprintf(" (%s, %s)", f.Store, f.StoreType)
	return c
}

func memory(f Facts) Check {
	if f.Sysctls["vm.memfd_noexec"] == "2" {
		return Check{"sealed memory", Fail, "vm.memfd_noexec is 2",
			"the agent starts cells from a sealed copy of itself in memory", "sysctl vm.memfd_noexec=1"}
	}
	return f.probeCheck("sealed memory", f.Memfd, Fail,
		"the agent starts cells from a sealed copy of itself", "Linux 3.17")
}

func agentChecks(f Facts) []Check {
	bin := Check{Name: "brigd", Status: OK, Found: f.Brigd + " " + f.BrigdVersion}
	if f.BrigdErr != "" {
		bin = Check{"brigd", Warn, f.BrigdErr, "brig cannot start an agent", "install brigd next to brig, or in PATH"}
	}

	socket := Check{Name: "agent", Status: OK, Found: f.Agent.Socket + " answers, version " + f.Agent.Version}
	if f.Agent.Err != "" {
		socket = Check{"agent", Warn, f.Agent.Err, "brig run starts an agent for each command, and only for root",
			"sudo groupadd -f brig; sudo brigd --group brig &"}
	}
	if bin.Status == Warn && socket.Status == Warn {
		bin.Status = Fail
		bin.Why = "there is no agent to run a program"
	}

	checks := []Check{bin, socket}
	if len(f.Agent.Damaged) > 0 {
		checks = append(checks,
			Check{"image files", Fail,
				fmt.Sprintf("%d stored images are damaged: %s", len(f.Agent.Damaged), strings.Join(f.Agent.Damaged, " ")),
				"files of them are not as they were imported, and right programs fail with them",
				"brig rootfs verify names the files; build or import the images again"})
	}
	if f.Agent.Templates != "" {
		checks = append(checks,
			Check{"templates", Warn, f.Agent.Templates, "runs have the ordinary start of their interpreter, which is slower",
				"see docs/templates.md; brigd --template-memory none makes no templates"})
	}

	return checks
}
