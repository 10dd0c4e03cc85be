package doctor

import (
	"errors"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/cgroups"
)

// volumes probes for the three things that a volume needs (mkfs.ext4, loop devices and ext4), and
// makes no volume.
func volumes() Answer {
	tool, err := exec.LookPath("mkfs.ext4")
	for _, path := range []string{"/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4"} {
		if err != nil {
			tool, err = path, unix.Access(path, unix.X_OK)
		}
	}

	if err != nil {
		return Answer{cgroups.No, "mkfs.ext4 is not installed"}
	}

	ctl, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if errors.Is(err, os.ErrPermission) {
		return unknown(err.Error())
	}
	if err != nil {
		return unsupported(err)
	}

	ctl.Close()
	ctx, err := unix.Fsopen("ext4", unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.EPERM) {
		return unknown("fsopen ext4: " + err.Error())
	}
	if err != nil {
		return Answer{cgroups.No, "fsopen ext4: " + err.Error()}
	}

	unix.Close(ctx)
	return Answer{cgroups.Yes, tool}
}
