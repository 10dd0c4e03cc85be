package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
)

// A loop device on one of our files is in the inventory, even if the file was removed.
func TestInventoryHasLoopDevices(t *testing.T) {
	NeedRoot(t)
	NeedTool(t, "losetup", "mount")
	NeedFile(t, "/dev/loop-control", "modprobe loop")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}

	before := Inventory()
	out, err := exec.Command("losetup", "-f", "--show", file).Output()
	if err != nil {
		t.Fatal(err)
	}

	device := strings.TrimSpace(string(out))
	defer func() {
		if out, err := exec.Command("losetup", "-d", device).CombinedOutput(); err != nil {
			t.Errorf("losetup -d: %v %s", err, out)
		}
	}()

	shown := func(what string) {
		t.Helper()
		if !slices.ContainsFunc(Added(before, Inventory()),
			func(item string) bool { return strings.Contains(item, "loop "+filepath.Base(device)+" "+what) }) {
			t.Errorf("%s on %s is not in the inventory", device, what)
		}
	}

	shown(file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}

	shown(file + " (deleted)")
}

func TestOwnGroups(t *testing.T) {
	const table = `30 1 0:1 / / rw - ext4 /dev/vda rw
31 30 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
41 31 0:38 /outer /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`

	mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(table), nil)
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name, membership string
		want             []string
	}{
		{"at every root", "4:memory:/\n2:cpu,cpuacct:/\n0::/\n", nil},
		{"below one", "4:memory:/a/b\n2:cpu,cpuacct:/\n", []string{"/sys/fs/cgroup/memory/a/b"}},
		{"named", "9:name=systemd:/s\n", []string{"/sys/fs/cgroup/systemd/s"}},
		{"two controllers", "2:cpu,cpuacct:/c\n", []string{"/sys/fs/cgroup/cpu,cpuacct/c"}},
		{"a mount of a part", "0::/outer/mine\n", []string{"/sys/fs/cgroup/unified/mine"}},
	} {
		var got []string
		for _, g := range ownGroups(c.membership, mounts) {
			got = append(got, g.dir)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v; want %v", c.name, got, c.want)
		}
	}
}

// A group that another process has made, next to ours or to one above it, is not our leak.
func TestForeignGroups(t *testing.T) {
	own := []ownGroup{
		{mount: "/sys/fs/cgroup/memory", dir: "/sys/fs/cgroup/memory/service/mine"},
		{mount: "/sys/fs/cgroup/pids", dir: "/sys/fs/cgroup/pids/a"},
	}
	for path, want := range map[string]bool{
		"/sys/fs/cgroup":                                  false,
		"/sys/fs/cgroup/memory":                           false,
		"/sys/fs/cgroup/memory/service":                   false,
		"/sys/fs/cgroup/memory/service/mine":              false,
		"/sys/fs/cgroup/memory/service/mine/brig-1/x":     false,
		"/sys/fs/cgroup/memory/service/mine2":             true,
		"/sys/fs/cgroup/memory/service/other":             true,
		"/sys/fs/cgroup/memory/other":                     true,
		"/sys/fs/cgroup/memory/other/brig-1/cell-0-1/r19": true,
		"/sys/fs/cgroup/pids/a/b":                         false,
		"/sys/fs/cgroup/pids/b":                           true,
		"/sys/fs/cgroup/cpu/b":                            false, // this process is in the root of that hierarchy
	} {
		if got := foreign(path, own); got != want {
			t.Errorf("%s: foreign %v; want %v", path, got, want)
		}
	}
}
