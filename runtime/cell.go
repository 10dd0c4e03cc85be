package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/specconv"
	"golang.org/x/sys/unix"

	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/rootfs"
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
	reclaimer *reclaimer     // the host's
	clock     clockPage
	step      func(name string) error // the host's
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

// cellPlan adds the compiled filter to a cell's plan.
func (h *Host) cellPlan(c plan.Cell) (cellPlan, error) {
	f, err := h.filters.get(c.Policy)
	return cellPlan{Cell: c, filter: f}, err
}

// newCell builds a cell and waits until its PID 1 is ready to make shells. On failure it leaves
// nothing behind.
func (h *Host) newCell(ctx context.Context, p cellPlan) (_ *cell, err error) {
	inotifyLimits := h.inotifyLimits
	if p.slot >= firstSessionRange {
		inotifyLimits = h.sessionInotifyLimits
	}
	if !p.filter.UsesInotify {
		inotifyLimits = noInotify(inotifyLimits)
	}
	if ablated(offSeccomp) {
		p.filter = nil
	}
	c := &cell{key: p.Key, name: p.name, slot: p.slot, filter: p.filter, dir: filepath.Join(h.cellsDir(), p.name), step: h.step, reclaimer: &h.reclaimer}
	undo := undoing(&err)
	defer undo.run()

	// 1. The image stays complete as long as the cell lives. The root is mounted in our mount
	// namespace: the image's tree, with its owners shifted into the slot's range, nosuid, nodev,
	// read-only.
	root := filepath.Join(c.dir, "root")
	if err := os.MkdirAll(root, 0o711); err != nil {
		return nil, err
	}
	undo.add(c.removeDir)
	if err := os.Mkdir(c.dev(), 0o711); err != nil {
		return nil, err
	}
	if err := h.step("cell root"); err != nil {
		return nil, err
	}
	if c.imageLock, err = h.lockImage(p.Image); err != nil {
		return nil, err
	}
	undo.add(c.imageLock.Close)
	if !p.Copies() {
		c.pages = h.pages.acquire(p.Image)
		undo.add(c.pages.release)
	}
	if err := h.step("cell dev"); err != nil {
		return nil, err
	}
	if err := makeDev(c.dev()); err != nil {
		return nil, fmt.Errorf("prepare /dev: %w", err)
	}
	undo.add(c.unmountDev)
	if err := h.mountRoot(ctx, c, p, root); err != nil {
		return nil, err
	}
	undo.add(func() error { return c.unmountRoot() })

	// 2. The groups exist in every hierarchy and are empty. libcontainer makes those of the first
	// process below the group that we are in at that time.
	if err := h.step("cell groups"); err != nil {
		return nil, err
	}
	if err := h.tree.CheckMoved(); err != nil {
		return nil, err
	}
	c.group, err = h.tree.Cell(p.name, plan.SlotIDs(p.slot))
	if err != nil {
		return nil, err
	}
	undo.add(func() error { return c.group.Remove() })

	// 3. The container runs cellinit, which waits for its first message.
	if err := h.step("cell container"); err != nil {
		return nil, err
	}
	base := plan.SlotIDs(p.slot)
	config, err := h.cellConfig(cellSpec{
		rootfs: root, dev: c.dev(), cgroup: c.group.InitPath(), cpus: p.cpus, hostBase: uint32(base), readonly: p.Layer == nil,
		oomScoreAdj: h.oomScoreAdj, inotifyLimits: inotifyLimits,
	})
	if err != nil {
		return nil, err
	}
	if err := c.start(h, config); err != nil {
		return nil, err
	}
	undo.add(c.stop)

	// 4. cellinit has sealed its keyrings, dropped its privileges as far as it can, and loaded the
	// filter. Its notifications arrive here.
	if err := h.step("cell filter"); err != nil {
		return nil, err
	}
	if err := c.handshake(ctx, h); err != nil {
		return nil, fmt.Errorf("cell %s: %w", c.name, err)
	}

	// 5. The image's files are in memory, so that no run is charged for reading them.
	if err := c.pages.wait(ctx); err != nil {
		return nil, err
	}
	if err := h.step("cell ready"); err != nil {
		return nil, err
	}
	undo.release()
	return c, nil
}

// mountRoot mounts the cell's root at dir.
func (h *Host) mountRoot(ctx context.Context, c *cell, p cellPlan, dir string) error {
	base := plan.SlotIDs(p.slot)
	if p.Layer != nil {
		return h.mountLayer(ctx, c, p, base, dir)
	}
	tree, err := h.mountTree(ctx, c, p, base, dir)
	if err != nil {
		return err
	}
	return tree.Close()
}

// mountTree mounts the image's tree, or a copy of it, at dir and returns a handle of the mount.
func (h *Host) mountTree(ctx context.Context, c *cell, p cellPlan, base int, dir string) (*os.File, error) {
	if p.Copies() {
		return h.mountCopy(ctx, c, p, base, dir)
	}
	ids := p.ids.forImage
	if p.Layer != nil {
		ids = p.ids.forLayer
	}
	userns, err := ids(base)
	if err != nil {
		return nil, err
	}
	return mountImage(c.imageLock.lock, userns, dir)
}

// mountImage mounts an image's tree at dir, with its owners shifted by userns, and returns a handle
// of the mount.
func mountImage(lock *rootfs.ImageLock, userns *os.File, dir string) (*os.File, error) {
	image, err := lock.Tree()
	if err != nil {
		return nil, err
	}
	defer image.Close()
	clone, err := cloneTree(image, attrImage, userns)
	if err != nil {
		return nil, err
	}
	if err := moveMount(clone, dir); err != nil {
		return nil, errors.Join(err, clone.Close())
	}
	return clone, nil
}

// unmountRoot unmounts the root from our mount namespace; the cell has its own copy of the mount.
func (c *cell) unmountRoot() error {
	err := unix.Unmount(filepath.Join(c.dir, "root"), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if c.key.Writable {
		err = errors.Join(err, c.unmountLayer())
	}
	return err
}

// specconv writes the container's root id into its package variable
// AllowedDevices (runc 1.5.2), so only one conversion may run at a time.
var converting sync.Mutex

// cellConfig converts the spec into libcontainer's configuration.
func (h *Host) cellConfig(s cellSpec) (*configs.Config, error) {
	converting.Lock()
	defer converting.Unlock()
	config, err := specconv.CreateLibcontainerConfig(&specconv.CreateOpts{
		CgroupName: "brig", NoNewKeyring: true, Spec: ablateSpec(s.spec()),
	})
	if err != nil {
		return nil, fmt.Errorf("cell configuration: %w", err)
	}
	config.Devices = nil  // libcontainer shares these between all cells; /dev is our own mount
	config.Networks = nil // not even a loopback that is up
	// We set the groups' limits ourselves, on the leaves. The device controller adds nothing: a
	// user namespace cannot make device nodes, and every mount is nodev.
	config.Cgroups = &cgroups.Cgroup{Path: s.cgroup, Resources: &cgroups.Resources{CpusetCpus: s.cpus}}
	config.Rlimits = nil
	for _, r := range ablateSpec(s.spec()).Process.Rlimits {
		n, err := rlimitNumber(r.Type)
		if err != nil {
			return nil, err
		}
		var own unix.Rlimit
		if err := unix.Getrlimit(n, &own); err != nil {
			return nil, os.NewSyscallError("getrlimit", err)
		}
		hard := min(r.Hard, own.Max) // a confined root lacks the privilege to give more than we have
		config.Rlimits = append(config.Rlimits, configs.Rlimit{Type: n, Hard: hard, Soft: min(r.Soft, hard)})
	}
	return config, nil
}

// start creates the container and executes cellinit in it, from a sealed memfd:
// nothing is added to the image and no path inside it is resolved.
func (c *cell) start(h *Host, config *configs.Config) error {
	container, err := libcontainer.Create(h.stateDir(), c.name, config)
	if err != nil {
		return fmt.Errorf("create cell %s: %w", c.name, err)
	}
	ctrl, peer, err := seqpacketPair(true)
	if err != nil {
		return errors.Join(err, container.Destroy())
	}
	process := &libcontainer.Process{
		Args: cellinitArgs(), Env: []string{}, Cwd: "/", Init: true,
		ExtraFiles: []*os.File{h.cellinit, peer},
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
func (c *cell) handshake(ctx context.Context, h *Host) error {
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
	_, listener, err := c.ctrl.reply(ctx, kindReady)
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
