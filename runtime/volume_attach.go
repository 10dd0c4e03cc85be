package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// How long we wait for a volume: to be let go by the kernel after a session, which
// writes it out first; and by an agent that has just been killed.
const (
	letGoTime = 30 * time.Second
	otherTime = 5 * time.Second // and for a loop device, which others take or have not quite let go
)

// An attachment is a volume's file on a loop device, which lasts as long as anybody
// has the device open: a mount of its file system, or loop. Sessions come to a volume and
// leave it at the same time. Were it only their mounts, the last to leave would have the
// kernel free the device between the moment at which another was told its number and that
// one's mount, which would be of whatever volume is put there next, and be it another key's
// (TestVolumeKeepsItsDeviceWhileSessionsChange).
type attachment struct {
	loop   *os.File
	device string
	size   api.Size
}

// attach opens a volume's file, makes it where there is none, and puts it on a loop
// device.
//
// The lock is what keeps two agents from mounting one file system twice, which would
// destroy it. It belongs to the very description of the open file that the loop device
// keeps: so it lasts exactly as long as that, whoever was killed meanwhile.
func (all *volumes) attach(ctx context.Context, path, name string, ask *api.VolumeRequest) (*attachment, error) {
	for {
		f, err := openVolume(path, name)
		made := false
		var none *api.Error
		if errors.As(err, &none) && none.Code == api.CodeNotFound && !ask.ReadOnly {
			if err := all.make(ctx, path, ask.Size); err != nil {
				return nil, err
			}
			made = true
			f, err = openVolume(path, name)
		}
		if err != nil {
			return nil, err
		}
		at, same, err := all.attachFile(f, path, name)
		if made && same && err != nil { // its lock is still ours, so nobody has used it
			err = errors.Join(err, os.Remove(path))
		}
		if err = errors.Join(err, f.Close()); err != nil || same {
			return at, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// attachFile is false for a file that was replaced, or removed, before we had the lock.
func (all *volumes) attachFile(f *os.File, path, name string) (at *attachment, same bool, err error) {
	if err := lockVolume(f, name, otherTime); err != nil {
		return nil, false, err
	}
	var ours, named unix.Stat_t
	if err := unix.Fstat(fd(f), &ours); err != nil {
		return nil, false, os.NewSyscallError("fstat", err)
	}
	err = unix.Lstat(path, &named)
	if errors.Is(err, unix.ENOENT) || err == nil && (named.Ino != ours.Ino || named.Dev != ours.Dev) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, os.NewSyscallError("lstat", err)
	}
	at, err = all.loop(f)
	if at != nil {
		at.size = api.Size(ours.Size)
	}
	return at, true, err
}

// openVolume opens a volume's file, and nothing else that may lie there.
func openVolume(path, name string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, api.Refuse(api.CodeNotFound, "there is no volume %q", name)
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.ENXIO):
		return nil, badVolume(name, "what lies in its place is no regular file")
	case err != nil:
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = badVolume(name, "what lies in its place is no regular file")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func badVolume(name, why string) *api.Error {
	return api.Refuse(api.CodeBadVolume, "volume %q cannot be mounted: %s: have the operator mend it (e2fsck), or remove it", name, why)
}

// lockVolume waits for a volume's lock for a while.
func lockVolume(f *os.File, name string, most time.Duration) error {
	for end := time.Now().Add(most); ; time.Sleep(5 * time.Millisecond) {
		err := unix.Flock(fd(f), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return os.NewSyscallError("flock", err)
		case time.Now().After(end):
			return api.Fail(api.CodeConflict, "volume %q is another agent's just now, or was until it was killed: end its session there, or come again later", name)
		}
	}
}

// untilFree waits until nobody has a volume: when its lock can be had.
func untilFree(path string, most time.Duration) error {
	f, err := openVolume(path, "")
	var e *api.Error
	if errors.As(err, &e) {
		return nil // removed, or replaced, meanwhile
	}
	if err != nil {
		return err
	}
	return errors.Join(lockVolume(f, path, most), f.Close())
}

func (all *volumes) loopControl() (*os.File, error) {
	ctl, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, all.lacks("loop devices (CONFIG_BLK_DEV_LOOP; modprobe loop)", err)
	}
	return ctl, nil
}

// loop puts a file on a free loop device. LOOP_CONFIGURE since Linux 5.8.
func (all *volumes) loop(f *os.File) (*attachment, error) {
	ctl, err := all.loopControl()
	if err != nil {
		return nil, err
	}
	defer ctl.Close()
	config := unix.LoopConfig{Fd: uint32(fd(f)), Size: volumeBlock}
	config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO
	copy(config.Info.File_name[:], "brig volume")
	for end := time.Now().Add(otherTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		n, err := unix.IoctlRetInt(fd(ctl), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a free loop device: %w", err)
		}
		device := fmt.Sprintf("/dev/loop%d", n)
		loop, err := os.OpenFile(device, os.O_RDWR, 0)
		if err != nil {
			return nil, all.lacks(fmt.Sprintf("a node for %s (mknod -m 600 %[1]s b 7 %d)", device, n), err)
		}
		err = unix.IoctlLoopConfigure(fd(loop), &config)
		if err == nil { // from here on it is held for reading: one open for writing may forbid mounts
			var held *os.File
			held, err = os.Open(device)
			if err = errors.Join(err, loop.Close()); err == nil {
				return &attachment{loop: held, device: device}, nil
			}
			return nil, fmt.Errorf("hold %s: %w", device, err)
		}
		err = errors.Join(err, loop.Close())
		switch {
		case errors.Is(err, unix.EBUSY): // another was quicker, or is not yet quite gone: the kernel names the same one again until then
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTTY):
			return nil, all.lacks("LOOP_CONFIGURE (Linux 5.8)", err)
		default:
			return nil, fmt.Errorf("attach %s: %w", device, err)
		}
	}
	return nil, api.Fail(api.CodeHostExhausted, "no loop device stays free: send the request again later")
}

const volumeBlock = 4096 // of the file system and its device

// lacks names what the kernel has not.
func (all *volumes) lacks(what string, err error) error {
	return api.Refuse(api.CodeUnsupported, "volumes need %s, which this host (Linux %s) does not have: %w", what, all.kernel, err)
}
