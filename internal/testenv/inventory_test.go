package testenv

import (
	"slices"
	"testing"
)

func TestOwnGroups(t *testing.T) {
	const table = `30 1 0:1 / / rw - ext4 /dev/vda rw
31 30 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
41 31 0:38 /outer /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`
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
		if got := ownGroups(c.membership, table); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v; want %v", c.name, got, c.want)
		}
	}
}
