package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// How long the agent waits for a volume: for the kernel to release it after a session, which writes
// it out first, and for an agent that has just been killed to release it.
const (
	detachTimeout     = 30 * time.Second
	volumeLockTimeout = 5 * time.Second // also for a loop device that others take, or that is not yet fully released
)

// An attachment is a volume's file on a loop device. It lasts as long as the device is open: by a
// mount of its file system, or by loop. Sessions start and stop using a volume at the same time. If
// only their mounts kept the device, the last session to leave would make the kernel free it, maybe
// after another session was given the device number and before that session mounted it. That
// session would then mount whatever volume is attached there next, even one of another key
// (TestVolumeKeepsItsDeviceWhileSessionsChange).
type attachment struct {
	loop   *os.File
	device string
	number uint64 // of the device
	size   api.Size
}

// attach opens a volume's file, makes it if there is none, and attaches it to a loop device.
//
// The lock keeps two agents from mounting one file system twice, which would destroy it. The lock
// belongs to the open file description that the loop device keeps. So it lasts exactly as long as
// the attachment, even if an agent is killed meanwhile.
func (s *Store) attach(ctx context.Context, path, name string, ask *api.VolumeRequest) (*attachment, error) {
	for {
		f, err := openVolume(path, name)
		made := false
		var none *api.Error
		if errors.As(err, &none) && none.Code == api.CodeNotFound && !ask.ReadOnly {
			if err := s.create(ctx, path, ask.Size); err != nil {
				return nil, err
			}
			made = true
			f, err = openVolume(path, name)
		}
		if err != nil {
			return nil, err
		}

		at, same, err := s.attachFile(f, path, name)
		if made && same && err != nil { // this agent still has the lock, so the new file is unused
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

// attachFile returns same = false if the file was replaced or removed before the lock was acquired.
func (s *Store) attachFile(f *os.File, path, name string) (at *attachment, same bool, err error) {
	if err := lockVolume(f, name, volumeLockTimeout); err != nil {
		return nil, false, err
	}

	var ours, named unix.Stat_t
	if err := unix.Fstat(linux.FD(f), &ours); err != nil {
		return nil, false, os.NewSyscallError("fstat", err)
	}

	err = unix.Lstat(path, &named)
	if errors.Is(err, unix.ENOENT) || err == nil && (named.Ino != ours.Ino || named.Dev != ours.Dev) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, os.NewSyscallError("lstat", err)
	}

	at, err = s.loop(f)
	if at != nil {
		at.size = api.Size(ours.Size)
	}
	return at, true, err
}

// openVolume opens a volume's file. It refuses anything that is not a regular file.
func openVolume(path, name string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, api.Refuse(api.CodeNotFound, "there is no volume %q", name)
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.ENXIO):
		return nil, badVolume(name, "its file is not a regular file")
	case err != nil:
		return nil, err
	}

	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = badVolume(name, "its file is not a regular file")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func badVolume(name, why string) *api.Error {
	return api.Refuse(api.CodeBadVolume,
		"volume %q cannot be mounted: %s: have the operator repair it (e2fsck), or remove it", name, why)
}

// lockVolume waits for a volume's lock, for at most the given time.
func lockVolume(f *os.File, name string, maximum time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), maximum)
	defer cancel()
	err := flock.Wait(ctx, f, 5*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		return api.Fail(api.CodeConflict,
			"volume %q is in use by another agent, or was until that agent was killed: end its session there, or "+
				"send the request again later", name)
	}
	return err
}

// waitUnlocked waits until no agent uses a volume, which is when its lock can be acquired.
func waitUnlocked(path string, maximum time.Duration) error {
	f, err := openVolume(path, "")
	var e *api.Error
	if errors.As(err, &e) {
		return nil // removed, or replaced, meanwhile
	}
	if err != nil {
		return err
	}
	return errors.Join(lockVolume(f, path, maximum), f.Close())
}

func (s *Store) loopControl() (*os.File, error) {
	ctl, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, s.unsupported("loop devices (CONFIG_BLK_DEV_LOOP; modprobe loop)", err)
	}
	return ctl, nil
}

// loop attaches a file to a free loop device. LOOP_CONFIGURE since Linux 5.8.
func (s *Store) loop(f *os.File) (*attachment, error) {
	ctl, err := s.loopControl()
	if err != nil {
		return nil, err
	}
	defer ctl.Close()

	config := unix.LoopConfig{Fd: uint32(linux.FD(f)), Size: volumeBlock}
	config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO
	copy(config.Info.File_name[:], "brig volume")

	for end := time.Now().Add(volumeLockTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		n, err := unix.IoctlRetInt(linux.FD(ctl), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a free loop device: %w", err)
		}

		device := fmt.Sprintf("/dev/loop%d", n)
		loop, err := os.OpenFile(device, os.O_RDWR, 0)
		if err != nil {
			return nil, s.unsupported(fmt.Sprintf("a node for %s (mknod -m 600 %[1]s b 7 %d)", device, n), err)
		}

		err = unix.IoctlLoopConfigure(linux.FD(loop), &config)
		if err == nil { // from here on it is open for reading only: a device open for writing may forbid mounts
			var held *os.File
			held, err = os.Open(device)
			if err = errors.Join(err, loop.Close()); err == nil {
				return holding(held, device)
			}
			return nil, fmt.Errorf("hold %s: %w", device, err)
		}

		err = errors.Join(err, loop.Close())
		switch {
		case errors.Is(err, unix.EBUSY): // another process was quicker, or it is not fully released; until then the kernel names it again
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTTY):
			return nil, s.unsupported("LOOP_CONFIGURE (Linux 5.8)", err)
		default:
			return nil, fmt.Errorf("attach %s: %w", device, err)
		}
	}

	return nil, api.Fail(api.CodeHostExhausted, "no loop device stays free: send the request again later")
}

// holding makes the attachment of a device that was configured.
func holding(loop *os.File, device string) (*attachment, error) {
	var st unix.Stat_t
	if err := unix.Fstat(linux.FD(loop), &st); err != nil {
		return nil, errors.Join(os.NewSyscallError("fstat", err), loop.Close())
	}
	return &attachment{loop: loop, device: device, number: st.Rdev}, nil
}

const volumeBlock = 4096 // block size of the file system and its device

// unsupported reports what the kernel does not support.
func (s *Store) unsupported(what string, err error) error {
	return api.Refuse(api.CodeUnsupported,
		"volumes need %s, which this host (Linux %s) does not have: %w", what, s.kernel, err)
}
