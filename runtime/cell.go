package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/specconv"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/rootfs"
)

// A cellKey says which runs a cell can serve: those of one image under one
// filter, with one kind of /proc.
type cellKey struct {
	imageTree
	policy   string // hash of the profile and its mode
	fullProc bool
	mode     api.Mode
	writable bool  // a throw-away layer over the image; such a cell serves one run
	layer    layer // its bounds
}

// An imageTree is what an image was at one time: removed or replaced, and imported again, it has
// another.
type imageTree struct {
	image    string // digest
	imported time.Time
}

func treeOf(image rootfs.Image) imageTree { return imageTree{image.Digest, image.Imported} }

// A cell is one libcontainer container whose PID 1 is cellinit. It belongs to a
// slot and serves one run at a time, or to a session. Its methods are not safe for concurrent use.
type cell struct {
	key       cellKey
	name      string
	slot      int    // or a session's seat: which host ids are its own
	dir       string // in the agent's run directory; holds the mount point of the root
	filter    *filter
	held      *heldImage
	pages     *heldPages
	group     *groups.Cell
	container *libcontainer.Container
	process   *libcontainer.Process
	ctrl      seqpacket
	listener  *os.File       // seccomp notifications; nil when the filter has no kill set
	spare     []*groups.Leaf // empty, for the next runs
	leafs     int            // made so far; names them
	dropped   bool           // a leaf is or was freed beside the runs
	freeing   *freeing       // the host's
	clock     clockPage
	step      func(name string) error // the host's
}

// A cellPlan is what newCell needs to know.
type cellPlan struct {
	key    cellKey
	name   string
	slot   int
	cpus   string // processors of PID 1 and its shells, as a kernel list; empty: all
	ids    *idMaps
	image  rootfs.Image
	filter *filter
	layer  *layer // bounds of the throw-away layer; nil: read-only root
}

// cellFor plans cells of an image under a filter.
func cellFor(image rootfs.Image, f *filter, fullProc bool, mode api.Mode) cellPlan {
	return cellPlan{
		key:    cellKey{imageTree: treeOf(image), policy: f.hash, fullProc: fullProc, mode: mode},
		image:  image,
		filter: f,
	}
}

// writable gives the cells a throw-away layer over their image, within what limits
// allow of files.
func (p *cellPlan) writable(limits api.Limits) {
	p.layer = &layer{size: limits.Scratch, inodes: limits.Inodes}
	p.key.writable, p.key.layer = true, *p.layer
}

// newCell builds a cell and waits until its PID 1 is ready to make shells. On
// failure nothing of it is left.
func (h *Host) newCell(ctx context.Context, p cellPlan) (_ *cell, err error) {
	watches := h.watches
	if p.slot >= firstSeat {
		watches = h.sessionWatches
	}
	if !p.filter.watches {
		watches = noWatches(watches)
	}
	if off(offSeccomp) {
		p.filter = nil
	}
	c := &cell{key: p.key, name: p.name, slot: p.slot, filter: p.filter, dir: filepath.Join(h.cellsDir(), p.name), step: h.step, freeing: &h.freeing}
	undo := undoing(&err)
	defer undo.run()

	// 1. The image stays whole as long as the cell, and the root hangs in our mount
	// namespace: the image's tree, with its owners shifted into the slot's range, nosuid,
	// nodev, read-only.
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
	if c.held, err = h.hold(p.image); err != nil {
		return nil, err
	}
	undo.add(c.held.Close)
	if !p.copies() {
		c.pages = h.pages.take(p.image)
		undo.add(c.pages.give)
	}
	if err := h.step("cell dev"); err != nil {
		return nil, err
	}
	if err := makeDev(c.dev()); err != nil {
		return nil, fmt.Errorf("prepare /dev: %w", err)
	}
	undo.add(c.dropDev)
	if err := h.hangRoot(ctx, c, p, root); err != nil {
		return nil, err
	}
	undo.add(func() error { return c.dropRoot() })

	// 2. The groups exist in every hierarchy, empty. libcontainer makes those of the
	// first process below the group we are in by then.
	if err := h.step("cell groups"); err != nil {
		return nil, err
	}
	if err := h.tree.Moved(); err != nil {
		return nil, err
	}
	c.group, err = h.tree.Cell(p.name, slotIDs(p.slot))
	if err != nil {
		return nil, err
	}
	undo.add(func() error { return c.group.Remove() })

	// 3. The container runs cellinit, which waits for its first message.
	if err := h.step("cell container"); err != nil {
		return nil, err
	}
	base := slotIDs(p.slot)
	config, err := h.cellConfig(cellSpec{
		rootfs: root, dev: c.dev(), cgroup: c.group.InitPath(), cpus: p.cpus, hostBase: uint32(base), readonly: p.layer == nil,
		badness: h.badness, watches: watches,
	})
	if err != nil {
		return nil, err
	}
	if err := c.start(h, config); err != nil {
		return nil, err
	}
	undo.add(c.stop)

	// 4. It has sealed its keyrings, dropped what it may, and loaded the filter;
	// its notifications come to us.
	if err := h.step("cell filter"); err != nil {
		return nil, err
	}
	if err := c.hello(ctx, h); err != nil {
		return nil, fmt.Errorf("cell %s: %w", c.name, err)
	}

	// 5. The image's files are in memory, and no run will be charged for reading them.
	if err := c.pages.wait(ctx); err != nil {
		return nil, err
	}
	if err := h.step("cell ready"); err != nil {
		return nil, err
	}
	undo.release()
	return c, nil
}

// hangRoot mounts the cell's root at dir.
func (h *Host) hangRoot(ctx context.Context, c *cell, p cellPlan, dir string) error {
	base := slotIDs(p.slot)
	if p.layer != nil {
		return h.hangLayer(ctx, c, p, base, dir)
	}
	tree, err := h.hangTree(ctx, c, p, base, dir)
	if err != nil {
		return err
	}
	return tree.Close()
}

// hangTree mounts the image's tree at dir, or a copy of it, and returns a handle of what
// hangs there.
func (h *Host) hangTree(ctx context.Context, c *cell, p cellPlan, base int, dir string) (*os.File, error) {
	if p.copies() {
		return h.hangCopy(ctx, c, p, base, dir)
	}
	ids := p.ids.forImage
	if p.layer != nil {
		ids = p.ids.forLayer
	}
	userns, err := ids(base)
	if err != nil {
		return nil, err
	}
	return hangImage(c.held.hold, userns, dir)
}

// hangImage mounts an image's tree at dir, with its owners shifted by userns, and
// returns a handle of what hangs there.
func hangImage(held *rootfs.Hold, userns *os.File, dir string) (*os.File, error) {
	image, err := held.Tree()
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

// dropRoot takes the root out of our mount namespace; the cell has its own copy.
func (c *cell) dropRoot() error {
	err := unix.Unmount(filepath.Join(c.dir, "root"), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if c.key.writable {
		err = errors.Join(err, c.dropLayer())
	}
	return err
}

// specconv writes the container's root id into its package variable
// AllowedDevices (runc 1.5.2), so only one conversion may run at a time.
var converting sync.Mutex

// cellConfig turns the spec into libcontainer's form.
func (h *Host) cellConfig(s cellSpec) (*configs.Config, error) {
	converting.Lock()
	defer converting.Unlock()
	config, err := specconv.CreateLibcontainerConfig(&specconv.CreateOpts{
		CgroupName: "brig", NoNewKeyring: true, Spec: ablateSpec(s.spec()),
	})
	if err != nil {
		return nil, fmt.Errorf("cell configuration: %w", err)
	}
	config.Devices = nil  // those are shared with every other cell; /dev is our own mount
	config.Networks = nil // not even a loopback that is up
	// The groups' limits are ours to set, on the leaves. The device controller
	// adds nothing: a user namespace cannot make nodes, and nodev is everywhere.
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
		hard := min(r.Hard, own.Max) // giving more than we have takes a privilege that a confined root lacks
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

// stop ends everything in the cell by closing the socket cellinit lives by, and
// behind that with SIGKILL, and removes the container.
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

// Close destroys the cell. When it returns, nothing of it is on the host, but empty groups
// while what is charged to them is freed, which the host's end waits for.
func (c *cell) Close() error {
	err := errors.Join(c.stop(), c.step("cell close"))
	for _, leaf := range c.spare {
		err = errors.Join(err, leaf.Close())
	}
	return errors.Join(err, c.dropRoot(), c.dropDev(), c.pages.give(), c.held.Close(), c.dropGroup(), c.removeDir())
}

// dev is where the /dev of the cell hangs in our mount namespace. Each cell has its own: what
// programs lock there others would see.
func (c *cell) dev() string { return filepath.Join(c.dir, "dev") }

func (c *cell) dropDev() error {
	return unix.Unmount(c.dev(), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
}

// removeDir removes the mount points and their parent, which are empty by now. It
// never descends: a root that is still mounted must not be deleted through it.
func (c *cell) removeDir() error {
	err := os.Remove(c.dev())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it was not made
	}
	return errors.Join(err, os.Remove(filepath.Join(c.dir, "root")), os.Remove(c.dir))
}

// hello sends the filters and waits for the listener.
func (c *cell) hello(ctx context.Context, h *Host) error {
	msg := wireHello{Magic: wireMagic, Kind: kindHello, UID: runUID, GID: runGID}
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
		return errors.New("BUG: listener and filter do not come together")
	}
	c.listener = listener
	if listener == nil {
		return nil
	}
	return wakeHere(listener)
}
