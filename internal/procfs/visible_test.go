package procfs

import (
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
)

func TestVisible(t *testing.T) {
	const host = "23 1 0:20 / / rw - ext4 /dev/vda rw\n"
	for _, c := range []struct{ name, table, says string }{
		{"a host", host + "24 23 0:21 / /proc rw,nosuid shared:1 - proc proc rw\n", ""},
		{"a host with binfmt_misc",
			host + "24 23 0:21 / /proc rw - proc proc rw\n25 24 0:22 / /proc/sys/fs/binfmt_misc rw - autofs none rw\n", ""},
		{"a container", host +
			"24 23 0:21 / /proc rw - proc proc rw\n25 24 0:22 /null /proc/keys rw - tmpfs none rw\n26 24 0:21 /sys " +
			"/proc/sys ro - proc proc rw\n",
			"/proc/keys, /proc/sys is covered by a mount"},
		{"a container with a second, whole one",
			host + "24 23 0:21 / /proc rw - proc proc rw\n25 24 0:22 /null /proc/keys rw - tmpfs none rw\n26 23 0:21 " +
				"/ /mnt/proc rw - proc proc rw\n", ""},
		{"read-only", host + "24 23 0:21 / /proc ro,nosuid - proc proc rw\n", "read-only"},
		{"none", host, "no proc is mounted"},
	} {
		mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(c.table), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = visible(mounts)
		if got := err == nil; got != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", c.name, err, c.says)
		}
	}
}
