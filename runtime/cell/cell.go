// Package cell builds cells, the containers that are kept between runs, and the shells, scratches and
// groups that each run gets for itself. It is the only user of libcontainer.
package cell

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
	"github.com/brig-sandbox/brig/runtime/image"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A Cell is one libcontainer container whose PID 1 is cellinit. It belongs to a slot and serves one
// run at a time, or it belongs to a session. Its methods are not safe for concurrent use.
type Cell struct {
	Key        plan.CellKey
	Name       string
	Slot       int    // or a session's id range: it selects the cell's own host ids
	dir        string // in the agent's run directory; holds the mount point of the root
	Filter     *Filter
	imageLock  *image.Lock
	pages      image.Held
	Group      *groups.Cell
	container  *libcontainer.Container
	process    *libcontainer.Process
	ctrl       linux.Seqpacket
	Listener   *os.File       // seccomp notifications; nil when the cell has no filter (tag ablate)
	freeLeaves []*groups.Leaf // empty, for the next runs
	Leaves     int            // made so far; names them
	freedLeaf  bool           // a leaf is being freed, or was, in the background
	reclaimer  *reclaimer     // the factory's
	clock      clockPage
	machine    *machine
	Step       func(name string) error // the factory's
}

// A Plan is what New needs to know.
type Plan struct {
	plan.Cell
	filter *Filter
	Name   string
	Slot   int
	CPUs   string // processors of PID 1 and its shells, as a kernel list; empty: all
	IDs    *IDMaps
}

// unmountRoot unmounts the root from our mount namespace; the cell has its own copy of the mount.
func (c *Cell) unmountRoot() error {
	err := unix.Unmount(filepath.Join(c.dir, "root"), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if c.Key.Writable {
		err = errors.Join(err, c.unmountLayer())
	}
	return err
}

// start creates the container and executes cellinit in it, from a sealed memfd:
// nothing is added to the image and no path inside it is resolved.
func (c *Cell) start(f *Factory, config *configs.Config) error {
	container, err := libcontainer.Create(f.stateDir, c.Name, config)
	if err != nil {
		return fmt.Errorf("create cell %s: %w", c.Name, err)
	}

	ctrl, peer, err := linux.SeqpacketPair(true)
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
		return errors.Join(fmt.Errorf("start cell %s: %w", c.Name, err), ctrl.Close(), container.Destroy())
	}

	c.container, c.process, c.ctrl = container, process, ctrl
	return nil
}

// stop ends everything in the cell: it closes the socket, at whose end cellinit exits, then sends
// SIGKILL in addition, and removes the container.
func (c *Cell) stop() error {
	err := c.ctrl.Close()
	if kerr := c.container.Signal(unix.SIGKILL); kerr != nil && !errors.Is(kerr, libcontainer.ErrNotRunning) &&
		!errors.Is(kerr, os.ErrProcessDone) {
		err = errors.Join(err, kerr)
	}
	if _, werr := c.process.Wait(); werr != nil {
		var exit interface{ ExitCode() int }
		if !errors.As(werr, &exit) { // an exit status is no failure here
			err = errors.Join(err, werr)
		}
	}
	if c.Listener != nil {
		err = errors.Join(err, c.Listener.Close())
	}
	return errors.Join(err, c.clock.Close(), c.container.Destroy())
}

// Close destroys the cell. When it returns, nothing of the cell is on the host, except for empty
// groups while the memory charged to them is freed. Host.Close waits for that.
func (c *Cell) Close() error {
	err := errors.Join(c.stop(), c.Step("cell close"))
	for _, leaf := range c.freeLeaves {
		err = errors.Join(err, leaf.Close())
	}
	return errors.Join(err, c.unmountRoot(), c.unmountDev(), c.closeMachine(), c.pages.Release(), c.imageLock.Close(),
		c.removeGroup(), c.removeDir())
}

// dev is where the cell's /dev is mounted in our mount namespace. Each cell has its own: programs
// of other cells would see locks on shared files.
func (c *Cell) dev() string { return filepath.Join(c.dir, "dev") }

func (c *Cell) unmountDev() error {
	return unix.Unmount(c.dev(), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
}

// removeDir removes the mount points and their parent, which are empty by now. It never descends:
// that would delete a root that is still mounted.
func (c *Cell) removeDir() error {
	var err error
	for _, dir := range []string{c.dev(), c.machineDir()} {
		if rerr := os.Remove(dir); !errors.Is(rerr, fs.ErrNotExist) { // it was not made
			err = errors.Join(err, rerr)
		}
	}
	return errors.Join(err, os.Remove(filepath.Join(c.dir, "root")), os.Remove(c.dir))
}

// handshake sends the filters and waits for the listener.
func (c *Cell) handshake(ctx context.Context) error {
	msg := wireHello{Magic: wireMagic, Kind: kindHello, UID: plan.UID, GID: plan.GID}
	if c.Key.OwnsImage {
		msg.Flags |= helloOwnsImage
	}
	page, clock, err := newClockPage()
	if err != nil {
		return err
	}
	defer page.Close()

	c.clock = clock
	files := []*os.File{page}
	if c.Filter != nil {
		wide, err := linux.SealedMemfd("brig-filter", c.Filter.wide, false)
		if err != nil {
			return err
		}
		defer wide.Close()
		files = append(files, wide)
		msg.Wide, msg.Last = uint32(len(c.Filter.wide)/8), uint32(len(c.Filter.last)/8)
		copy(msg.Insns[:], c.Filter.last)
	}

	if err := c.ctrl.Send(encode(&msg), files...); err != nil {
		return err
	}

	_, listener, err := reply(ctx, c.ctrl, kindReady)
	if err != nil {
		if listener != nil {
			err = errors.Join(err, listener.Close())
		}
		return err
	}
	if (listener != nil) != (c.Filter != nil) {
		return errors.New("BUG: a cell has a filter without a listener, or a listener without a filter")
	}

	c.Listener = listener
	if listener == nil {
		return nil
	}
	return linux.WakeOnSameCPU(listener)
}
