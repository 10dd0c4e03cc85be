package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	"golang.org/x/sys/unix"

	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A cell is one libcontainer container whose PID 1 is cellinit. It belongs to a slot and serves one
// run at a time, or it belongs to a session. Its methods are not safe for concurrent use.
type cell struct {
	key       plan.CellKey
	name      string
	slot      int    // or a session's id range: it selects the cell's own host ids
	dir       string // in the agent's run directory; holds the mount point of the root
	filter    *filter
	imageLock *imageLock
	pages     *lockedPages
	group     *groups.Cell
	container *libcontainer.Container
	process   *libcontainer.Process
	ctrl      seqpacket
	listener  *os.File       // seccomp notifications; nil when the cell has no filter (tag ablate)
	spare     []*groups.Leaf // empty, for the next runs
	leaves    int            // made so far; names them
	freedLeaf bool           // a leaf is being freed, or was, in the background
	reclaimer *reclaimer     // the factory's
	clock     clockPage
	step      func(name string) error // the factory's
}

// A cellPlan is what newCell needs to know.
type cellPlan struct {
	plan.Cell
	filter *filter
	name   string
	slot   int
	cpus   string // processors of PID 1 and its shells, as a kernel list; empty: all
	ids    *idMaps
}

// unmountRoot unmounts the root from our mount namespace; the cell has its own copy of the mount.
func (c *cell) unmountRoot() error {
	err := unix.Unmount(filepath.Join(c.dir, "root"), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if c.key.Writable {
		err = errors.Join(err, c.unmountLayer())
	}
	return err
}

// start creates the container and executes cellinit in it, from a sealed memfd:
// nothing is added to the image and no path inside it is resolved.
func (c *cell) start(f *factory, config *configs.Config) error {
	container, err := libcontainer.Create(f.stateDir, c.name, config)
	if err != nil {
		return fmt.Errorf("create cell %s: %w", c.name, err)
	}
	ctrl, peer, err := seqpacketPair(true)
	if err != nil {
		return errors.Join(err, container.Destroy())
	}
	process := &libcontainer.Process{
		Args: cellinitArgs(), Env: []string{}, Cwd: "/", Init: true,
		ExtraFiles: []*os.File{f.cellinit, peer},
	}
	err = container.Run(process)
	closeErr := peer.Close()
	if err = errors.Join(err, closeErr); err != nil {
		return errors.Join(fmt.Errorf("start cell %s: %w", c.name, err), ctrl.Close(), container.Destroy())
	}
	c.container, c.process, c.ctrl = container, process, ctrl
	return nil
}

// stop ends everything in the cell: it closes the socket, at whose end cellinit exits, then sends
// SIGKILL in addition, and removes the container.
func (c *cell) stop() error {
	err := c.ctrl.Close()
	if kerr := c.container.Signal(unix.SIGKILL); kerr != nil && !errors.Is(kerr, libcontainer.ErrNotRunning) && !errors.Is(kerr, os.ErrProcessDone) {
		err = errors.Join(err, kerr)
	}
	if _, werr := c.process.Wait(); werr != nil {
		var exit interface{ ExitCode() int }
		if !errors.As(werr, &exit) { // an exit status is no failure here
			err = errors.Join(err, werr)
		}
	}
	if c.listener != nil {
		err = errors.Join(err, c.listener.Close())
	}
	return errors.Join(err, c.clock.Close(), c.container.Destroy())
}

// Close destroys the cell. When it returns, nothing of the cell is on the host, except for empty
// groups while the memory charged to them is freed. Host.Close waits for that.
func (c *cell) Close() error {
	err := errors.Join(c.stop(), c.step("cell close"))
	for _, leaf := range c.spare {
		err = errors.Join(err, leaf.Close())
	}
	return errors.Join(err, c.unmountRoot(), c.unmountDev(), c.pages.release(), c.imageLock.Close(), c.removeGroup(), c.removeDir())
}

// dev is where the cell's /dev is mounted in our mount namespace. Each cell has its own: programs
// of other cells would see locks on shared files.
func (c *cell) dev() string { return filepath.Join(c.dir, "dev") }

func (c *cell) unmountDev() error {
	return unix.Unmount(c.dev(), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
}

// removeDir removes the mount points and their parent, which are empty by now. It never descends:
// that would delete a root that is still mounted.
func (c *cell) removeDir() error {
	err := os.Remove(c.dev())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it was not made
	}
	return errors.Join(err, os.Remove(filepath.Join(c.dir, "root")), os.Remove(c.dir))
}

// handshake sends the filters and waits for the listener.
func (c *cell) handshake(ctx context.Context) error {
	msg := wireHello{Magic: wireMagic, Kind: kindHello, UID: plan.UID, GID: plan.GID}
	page, clock, err := newClockPage()
	if err != nil {
		return err
	}
	defer page.Close()
	c.clock = clock
	files := []*os.File{page}
	if c.filter != nil {
		wide, err := sealedMemfd("brig-filter", c.filter.wide, false)
		if err != nil {
			return err
		}
		defer wide.Close()
		files = append(files, wide)
		msg.Wide, msg.Last = uint32(len(c.filter.wide)/8), uint32(len(c.filter.last)/8)
		copy(msg.Insns[:], c.filter.last)
	}
	if err := c.ctrl.send(encode(&msg), files...); err != nil {
		return err
	}
	_, listener, err := reply(ctx, c.ctrl, kindReady)
	if err != nil {
		if listener != nil {
			err = errors.Join(err, listener.Close())
		}
		return err
	}
	if (listener != nil) != (c.filter != nil) {
		return errors.New("BUG: a cell has a filter without a listener, or a listener without a filter")
	}
	c.listener = listener
	if listener == nil {
		return nil
	}
	return wakeOnSameCPU(listener)
}
