package cgroups

import (
	"errors"
	"fmt"
	"math"
	"path"
	"reflect"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

func TestParseInt(t *testing.T) {
	for in, want := range map[string]int64{
		"0\n": 0, "42\n": 42, "42": 42, "max\n": math.MaxInt64,
		"9223372036854771712\n": 9223372036854771712, "18446744073709551615\n": math.MaxInt64,
	} {
		if got, err := parseInt([]byte(in)); err != nil || got != want {
			t.Errorf("parseInt(%q) = %d, %v; want %d", in, got, err, want)
		}
	}

	for _, in := range []string{"", "\n", "-1\n", "1 2\n", "x\n"} {
		if got, err := parseInt([]byte(in)); err == nil {
			t.Errorf("parseInt(%q) = %d; want an error", in, got)
		}
	}
}

func TestFlatKey(t *testing.T) {
	const events = "low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\noom_group_kill 3\n"
	for key, want := range map[string]int64{"max": 12, "oom": 1, "oom_kill": 2, "oom_group_kill": 3} {
		if got, err := flatKey([]byte(events), key); err != nil || got != want {
			t.Errorf("flatKey(%q) = %d, %v; want %d", key, got, err, want)
		}
	}
	for _, key := range []string{"kill", "oo", "maximum", ""} {
		if got, err := flatKey([]byte(events), key); !errors.Is(err, errNoKey) {
			t.Errorf("flatKey(%q) = %d, %v; want errNoKey", key, got, err)
		}
	}
}

// A value written as a "key value" line is read back, whatever surrounds it.
func FuzzFlatKey(f *testing.F) {
	f.Add("low 0\nhigh 1\n", "max", int64(7), "oom 3")
	f.Add("", "oom_kill", int64(math.MaxInt64), "")
	f.Fuzz(func(t *testing.T, before, key string, value int64, after string) {
		_, _ = flatKey([]byte(before), key) // any bytes: an answer or an error
		if value < 0 || key == "" || strings.ContainsAny(key, " \n") {
			t.Skip()
		}
		if strings.HasPrefix(before, key+" ") || strings.Contains(before, "\n"+key+" ") {
			t.Skip()
		}
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += "\n"
			if strings.HasPrefix(before, key+" ") {
				t.Skip()
			}
		}

		text := fmt.Sprintf("%s%s %d\n%s", before, key, value, after)
		if got, err := flatKey([]byte(text), key); err != nil || got != value {
			t.Errorf("flatKey(%q, %q) = %d, %v; want %d", text, key, got, err, value)
		}
	})
}

func TestLocate(t *testing.T) {
	for _, tt := range []struct {
		name    string
		info    string
		own     map[string]string
		unified string
		want    []Hierarchy
	}{
		{"a systemd host on v2",
			"26 25 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
			map[string]string{}, "/system.slice/brigd.service",
			[]Hierarchy{{Mount: "/sys/fs/cgroup", Own: "/sys/fs/cgroup/system.slice/brigd.service", Unified: true}}},
		{"cpu and cpuacct mounted together",
			"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
			map[string]string{"cpu": "/a", "cpuacct": "/a"}, "",
			[]Hierarchy{{Mount: "/sys/fs/cgroup/cpu,cpuacct", Own: "/sys/fs/cgroup/cpu,cpuacct/a", Controllers: []string{"cpu", "cpuacct"}}}},
		{"a container that sees only its own part",
			"35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			map[string]string{"memory": "/docker/abc/x"}, "",
			[]Hierarchy{{Mount: "/sys/fs/cgroup/memory", Own: "/sys/fs/cgroup/memory/x", Controllers: []string{"memory"}}}},
		{"a group outside what is mounted is not found",
			"35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			map[string]string{"memory": "/docker/abcd"}, "", nil},
		{"a mount from outside our cgroup namespace is no use",
			"26 25 0:23 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", nil, "/", nil},
		{"the second mount of a hierarchy is the same one",
			"35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n36 31 0:32 / /mnt/with\\040space rw - " +
				"cgroup cgroup rw,memory\n",
			map[string]string{"memory": "/"}, "",
			[]Hierarchy{{Mount: "/sys/fs/cgroup/memory", Own: "/sys/fs/cgroup/memory", Controllers: []string{"memory"}}}},
		{"a named hierarchy has no controller but is ours to clean",
			"40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n",
			map[string]string{"name=systemd": "/u"}, "",
			[]Hierarchy{{Mount: "/sys/fs/cgroup/systemd", Own: "/sys/fs/cgroup/systemd/u", Controllers: []string{"name=systemd"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(tt.info), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := locate(mounts, tt.own, tt.unified)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("locate = %+v; want %+v", got, tt.want)
			}
		})
	}
}

// MEM-17: without a controller brig refuses to start, and names the controller.
func TestMissingControllerIsNamed(t *testing.T) {
	h := &Host{Mode: V2, Hierarchies: []Hierarchy{{Own: "/sys/fs/cgroup/x", Unified: true, Controllers: []string{"cpu", "pids"}}}}
	var ce *ControllerError
	if err := h.Check(); !errors.As(err, &ce) || ce.Controller != "memory" || !errors.Is(err, ErrUnsupported) {
		t.Errorf("Check = %v; want a ControllerError for memory", err)
	}

	h.Hierarchies[0].Controllers = []string{"memory", "cpu", "pids"}
	h.SwapOn, h.Features.Swap = true, No
	if err := h.Check(); !errors.Is(err, ErrUnsupported) {
		t.Errorf("Check with swap that no controller accounts for = %v; want ErrUnsupported", err)
	}

	h.SwapOn = false
	if err := h.Check(); err != nil {
		t.Errorf("Check = %v", err)
	}
}

// MEM-17: a hierarchy covered by another mount is not mistaken for the controller.
func TestHiddenHierarchyIsRefusedByName(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    Hierarchy
		kind int64
		want string // in the refusal; empty: none
	}{
		{"version 1", Hierarchy{Controllers: []string{"cpu", "cpuacct"}}, unix.CGROUP_SUPER_MAGIC, ""},
		{"cgroup2", Hierarchy{Unified: true}, unix.CGROUP2_SUPER_MAGIC, ""},
		{"version 1 below tmpfs", Hierarchy{Controllers: []string{"memory"}, Mount: "/x"}, unix.TMPFS_MAGIC, "memory is hidden"},
		{"cgroup2 below tmpfs", Hierarchy{Unified: true}, unix.TMPFS_MAGIC, "cgroup2 is hidden"},
		{"version 1 below cgroup2", Hierarchy{Controllers: []string{"memory"}}, unix.CGROUP2_SUPER_MAGIC, "memory is hidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.h.checkVisible(tt.kind)
			if tt.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("shown = %v; want %q", err, tt.want)
			}
		})
	}
}

func TestSweepLeavesEverythingElseAlone(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{"/", "/sys/fs/cgroup", "/sys/fs/cgroup/brig", "brig-x", "/a/../brig-x", "/a/brig-x/", "/a/brig-..",
		"/a/brig-x/memory.max", "/sys/fs/cgroup/brig-"} {
		if err := Sweep([]string{p}); err == nil {
			t.Errorf("Sweep(%q) agreed", p)
		}
	}

	plain := dir + "/brig-x"
	if err := mkdirAll(plain + "/y"); err != nil {
		t.Fatal(err)
	}
	if err := Sweep([]string{plain}); err == nil || !exists(plain+"/y") {
		t.Errorf("Sweep of a plain directory = %v; it must be refused and stay", err)
	}
	if err := Sweep([]string{dir + "/brig-gone"}); err != nil {
		t.Errorf("Sweep of what is gone = %v", err)
	}
}

// PID-12: a group's name is one path component, for an agent, a cell and a run
// alike. Joined with the path of our own group without a check, each of these names
// leads to a path that is not below the group, or is not a group at all.
func TestGroupNamesThatEscapeAreRefused(t *testing.T) {
	const own = "/sys/fs/cgroup/memory/brig-own"
	for _, name := range []string{"..", ".", "", "/", "../x", "../brig-own-suffix", "../brig-own", "a/../../x", "./..", "../../../../../etc",
		"../brig-own/../x", "/sys/fs/cgroup/x"} {
		if joined := path.Join(own, name); strings.HasPrefix(joined, own+"/") && !strings.HasPrefix(name, "/") {
			t.Errorf("%q leads to %s: it is harmless", name, joined)
		}

		tree := &Tree{host: &Host{}, name: "brig-own"}
		if _, err := Create(&Host{}, name, func(string) error { t.Errorf("%q was recorded", name); return nil }); err == nil ||
			!strings.Contains(err.Error(), "group name") {
			t.Errorf("an agent named %q: %v", name, err)
		}
		if _, err := tree.Cell(name, 0); err == nil || !strings.Contains(err.Error(), "group name") {
			t.Errorf("a cell named %q: %v", name, err)
		}
		if _, err := (&Cell{tree: tree, name: "c0"}).NewLeaf(name); err == nil || !strings.Contains(err.Error(), "group name") {
			t.Errorf("a leaf named %q: %v", name, err)
		}
		if err := checkSweepPath(own + "/" + name); err == nil {
			t.Errorf("%s/%s may be swept", own, name)
		}
	}

	for _, name := range []string{"memory.max", "cgroup.procs", "a/b", "a\nb", "a\x00b", "A", "a_b", strings.Repeat("a", 65)} {
		if err := checkName(name); err == nil {
			t.Errorf("%q may name a group", name)
		}
	}

	if _, err := (&Cell{tree: &Tree{}, name: "c0"}).NewLeaf("init"); err == nil {
		t.Error("a run may have the group of its cell's first process")
	}
	if err := errors.Join(checkName("own-suffix"), checkSweepPath(own)); err != nil {
		t.Errorf("a fine name: %v", err)
	}
}

func TestRemovalStartsWhereForkingCannotOutrunIt(t *testing.T) {
	got := killFirst([]Hierarchy{{Controllers: []string{"memory"}}, {Controllers: []string{"pids"}}, {Unified: true}})
	if !got[0].Unified || got[1].Controllers[0] != "pids" || got[2].Controllers[0] != "memory" {
		t.Errorf("order %+v; want cgroup2, pids, the rest", got)
	}
}
