package doctor

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/internal/testenv"
)

var update = flag.Bool("update", false, "write the golden files")

// healthy returns the facts of a host without a problem.
func healthy() Facts {
	yes := Answer{State: cgroups.Yes}
	return Facts{
		Kernel: "6.18.0", Arch: "amd64", Root: true, Processors: 2, Store: "/var/lib", StoreType: "ext4",
		Cgroups: &cgroups.Host{Mode: cgroups.V2,
			Hierarchies: []cgroups.Hierarchy{{Mount: "/sys/fs/cgroup", Own: "/sys/fs/cgroup/a", Unified: true,
				Controllers: []string{"cpuset", "cpu", "memory", "pids"}}},
			Features: cgroups.Features{Kill: cgroups.Yes, Peak: cgroups.Yes, PeakReset: cgroups.Yes, Swap: cgroups.Yes}},
		CloneInto: yes, UserNS: yes, Proc: yes, Sysctls: map[string]string{}, Seccomp: yes, Notify: yes, MountAPI: yes, MoveTree: yes,
		OpenTree: yes, IDMap: yes, Overlay: yes, Openat2: yes, Pidfd: yes, CloseRange: yes, Memfd: yes, Volumes: yes,
		Brigd: "/usr/bin/brigd", BrigdVersion: "1", Agent: Agent{Socket: "/run/brig/brigd.sock", Version: "1"},
	}
}

// withModprobe changes the facts of a host: its kernel, and the helper that loads modules.
func withModprobe(kernel, helper, disabled string) func(*Facts) {
	return func(f *Facts) {
		f.Kernel, f.Sysctls["kernel.modprobe"], f.Sysctls["kernel.modules_disabled"] = kernel, helper, disabled
	}
}

// AGT-16: everything that a host lacks is found and named, with its severity.
func TestJudge(t *testing.T) {
	no := Answer{cgroups.No, "function not implemented"}
	for _, tt := range []struct {
		name  string
		spoil func(*Facts)
		check string
		want  Status
	}{
		{"a foreign machine cannot run", func(f *Facts) { f.Arch = "arm64" }, "architecture", Fail},
		{"without root the report is only partial", func(f *Facts) { f.Root = false }, "root", Warn},
		{"no groups, no trust", func(f *Facts) { f.Cgroups, f.CgroupErr = nil, "none" }, "cgroups", Fail},
		{"a missing controller is named", func(f *Facts) { f.Cgroups.Hierarchies[0].Controllers = []string{"cpu", "cpuset", "memory"} },
			"controller pids", Fail},
		{"without cgroup.kill runs still end", func(f *Facts) { f.Cgroups.Features.Kill = cgroups.No }, "cgroup.kill", Warn},
		{"swap that is not accounted is a way out", func(f *Facts) { f.Cgroups.SwapOn, f.Cgroups.Features.Swap = true, cgroups.No },
			"swap accounting", Fail},
		{"no swap needs no accounting", func(f *Facts) { f.Cgroups.Features.Swap = cgroups.No }, "swap accounting", OK},
		{"an unknown feature is not a failure", func(f *Facts) { f.Cgroups.SwapOn, f.Cgroups.Features.Swap = true, cgroups.Unknown },
			"swap accounting", Warn},
		{"root without user namespaces cannot run", func(f *Facts) { f.UserNS = no }, "user namespaces", Fail},
		{"what binds only users does not bind the agent", func(f *Facts) {
			f.Root, f.UserNS, f.Sysctls = false, no, map[string]string{"kernel.apparmor_restrict_unprivileged_userns": "1"}
		}, "user namespaces", Warn},
		{"a limit of zero binds the agent too", func(f *Facts) {
			f.Root, f.UserNS, f.Sysctls = false, no, map[string]string{"user.max_user_namespaces": "0", "kernel.unprivileged_userns_clone": "0"}
		}, "user namespaces", Fail},
		{"a /proc that is covered in part gives none to a cell", func(f *Facts) { f.Proc = no }, "proc in a cell", Fail},
		{"no filter, no trust", func(f *Facts) { f.Seccomp = no }, "seccomp filter", Fail},
		{"an image that cannot be shifted cannot be shown", func(f *Facts) { f.IDMap = no }, "idmapped mounts", Fail},
		{"what a user may not ask is a warning", func(f *Facts) { f.Root, f.IDMap = false, unknown("operation not permitted") },
			"idmapped mounts", Warn},
		{"a call that root may not use", func(f *Facts) { f.MountAPI = unknown("operation not permitted") }, "mount by descriptor", Fail},
		{"overlayfs is for writable roots only", func(f *Facts) { f.Overlay = no }, "overlayfs", Warn},
		{"volumes are for sessions that ask for one", func(f *Facts) { f.Volumes = no }, "volumes", Warn},
		{"memory that may not be executed stops the agent", func(f *Facts) { f.Sysctls["vm.memfd_noexec"] = "2" }, "sealed memory", Fail},
		{"a brigd without an answering agent will do", func(f *Facts) { f.Agent.Err = "nobody answers" }, "brigd", OK},
		{"an agent without a brigd here will do", func(f *Facts) { f.BrigdErr = "not found" }, "brigd", Warn},
		{"a template that fails costs time only", func(f *Facts) { f.Agent.Templates = "no template could be made" }, "templates", Warn},
		{"right programs fail with a damaged image", func(f *Facts) { f.Agent.Damaged = []string{"sha256:0"} }, "image files", Fail},
		{"neither will not do", func(f *Facts) { f.BrigdErr, f.Agent.Err = "not found", "nobody answers" }, "brigd", Fail},
		{"an image older than its language is named", func(f *Facts) {
			f.Outdated = []Outdated{{"java", []string{"/usr/lib/x"}, "build it again"}}
		}, "images", Warn},
		{"images that cannot be read are not taken for new", func(f *Facts) { f.OutdatedErr = "permission denied" }, "images", Warn},
		{"noise is no failure", func(f *Facts) { f.Noise.Load = 9 }, "timing: load", Warn},
		{"a piped core is worth a word", func(f *Facts) { f.Sysctls["kernel.core_pattern"] = "|/bin/x" }, "core_pattern", Warn},
		{"a helper that a file of no format starts is worth a word", withModprobe("6.13.12-1-amd64", "/sbin/modprobe", "0"),
			"kernel.modprobe", Warn},
		{"from 6.14 on no file starts it", withModprobe("6.14.0", "/sbin/modprobe", "0"), "kernel.modprobe", OK},
		{"nor from 7.0 on", withModprobe("7.0.0", "/sbin/modprobe", "0"), "kernel.modprobe", OK},
		{"where no module may be loaded it is not started", withModprobe("6.1.0", "/sbin/modprobe", "1"), "kernel.modprobe", OK},
		{"without a helper there is none to start", withModprobe("6.1.0", "", "0"), "kernel.modprobe", OK},
		{"a kernel that cannot be read may be old", withModprobe("own", "/sbin/modprobe", "0"), "kernel.modprobe", Warn},
		{"open flaws are worth a word", func(f *Facts) { f.Vulnerabilities = []string{"mds"} }, "processor flaws", Warn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := healthy()
			tt.spoil(&f)
			r := Judge(f)
			i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Name == tt.check })
			if i < 0 {
				t.Fatalf("there is no check %q", tt.check)
			}

			c := r.Checks[i]
			if c.Status != tt.want {
				t.Errorf("%+v; want %s", c, tt.want)
			}
			if c.Status != OK && c.Why == "" {
				t.Errorf("%+v does not say why", c)
			}
			if failed := slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Status == Fail }); r.Trusted == (failed || len(r.Unknown) > 0) {
				t.Errorf("trusted %v with a failure %v", r.Trusted, failed)
			}
		})
	}
}

func TestHealthyHostNeedsNoRemedy(t *testing.T) {
	for _, c := range Judge(healthy()).Checks {
		if c.Status != OK || c.Why != "" || c.Remedy != "" {
			t.Errorf("%+v; want ok and no more", c)
		}
	}
}

func TestWrite(t *testing.T) {
	f := healthy()
	f.Overlay, f.IDMap = Answer{cgroups.No, "no such device"}, Answer{cgroups.No, "invalid argument"}
	f.StoreType = "nfs"
	f.Outdated = []Outdated{{"java", []string{"/usr/lib/x", "/usr/lib/y"}, "build it again with: brig rootfs build java"}}
	var got bytes.Buffer
	if err := Judge(f).Write(&got); err != nil {
		t.Fatal(err)
	}

	const path = "testdata/report.golden"
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("report:\n%s\nwant:\n%s", got.Bytes(), want)
	}
}

// The machine of the privileged tests runs cells, so no check may fail on it, and the probes must
// leave it unchanged.
func TestGatherOnAWorkingHost(t *testing.T) {
	testenv.NeedRoot(t)
	testenv.CleanHost(t)
	f := Gather(t.Context(), Options{Store: t.TempDir(), Agent: Agent{Socket: "s", Version: "1"}})
	for _, c := range Judge(f).Checks {
		if c.Status == Fail {
			t.Errorf("%+v", c)
		}
	}
	if f.MountAPI.State != cgroups.Yes || f.CloneInto.State != cgroups.Yes || f.UserNS.State != cgroups.Yes {
		t.Errorf("mount %+v, clone %+v, user namespace %+v; want all to work", f.MountAPI, f.CloneInto, f.UserNS)
	}
}

func TestUnknownChecksAreNotTrusted(t *testing.T) {
	f := healthy()
	f.Root, f.IDMap = false, unknown("operation not permitted")
	r := Judge(f)
	if r.Trusted || !slices.Equal(r.Unknown, []string{"idmapped mounts"}) {
		t.Errorf("trusted %v, unasked %q; want no trust and the one check", r.Trusted, r.Unknown)
	}

	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b.Bytes(),
		[]byte("it is not known whether runs on this host can be trusted; only root can check idmapped mounts (sudo brig doctor)")) {
		t.Errorf("report:\n%s", b.Bytes())
	}
}
