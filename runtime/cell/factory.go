package cell

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/runtime/ablate"
	"github.com/brig-sandbox/brig/runtime/image"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/mount"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A Factory builds cells.
type Factory struct {
	Log                  *slog.Logger
	cellsDir             string // with a directory for each cell
	stateDir             string // libcontainer's
	Tree                 *groups.Tree
	Images               *image.Images
	Filters              *Filters
	cellinit             *os.File // sealed memfd
	oomScoreAdj          int      // see cellOOMScoreAdj
	inotifyLimits        map[string]string
	sessionInotifyLimits map[string]string
	reclaimer            reclaimer
	machine              hostMachine
	serial               atomic.Uint64           // names cells
	builders             chan struct{}           // a token for each cell being built: many first runs at once must not start as many runtimes
	Step                 func(name string) error // see Host.step
}

// A FactoryConfig is what a factory needs of its host.
type FactoryConfig struct {
	Log         *slog.Logger
	Dir         string // with the directories cells and state
	Tree        *groups.Tree
	Store       *rootfs.Store
	ImageMemory api.Size // see New
	ReadImages  bool     // see New
	Slots       int
	Sessions    int
	Builders    int   // cells that may be built at once
	CPUs        []int // the agent's processors
	Filters     *Filters
	Step        func(name string) error
}

// NewFactory makes a factory. The caller closes it.
func NewFactory(c FactoryConfig) (_ *Factory, err error) {
	f := &Factory{
		Log: c.Log, cellsDir: filepath.Join(c.Dir, "cells"), stateDir: filepath.Join(c.Dir, "state"), Tree: c.Tree,
		reclaimer: reclaimer{log: c.Log}, builders: make(chan struct{}, c.Builders), Step: c.Step, Filters: c.Filters,
		inotifyLimits: inotifyShares(2, c.Slots), sessionInotifyLimits: inotifyShares(4, max(c.Sessions, 1)),
	}
	if f.machine, err = readHostMachine(c.CPUs); err != nil {
		return nil, err
	}
	if f.oomScoreAdj, err = cellOOMScoreAdj(); err != nil {
		return nil, err
	}
	if f.cellinit, err = linux.SealedMemfd("cellinit", cellinitELF, true); err != nil {
		return nil, err
	}
	if f.Images, err = image.New(c.Store, c.Log, f.oomScoreAdj, c.ImageMemory, c.ReadImages, c.Step); err != nil {
		return nil, errors.Join(err, f.cellinit.Close())
	}
	return f, nil
}

// Close ends what works in the background. No cell may exist. The groups remain.
func (f *Factory) Close() error {
	f.reclaimer.Close()
	return errors.Join(f.Images.Close(), f.cellinit.Close())
}

// AcquireBuilder waits until one more cell may be built.
func (f *Factory) AcquireBuilder() (release func()) {
	f.builders <- struct{}{}
	return func() { <-f.builders }
}

// CellName names a cell of a slot.
func (f *Factory) CellName(slot int) string {
	return fmt.Sprintf("cell-%d-%d", slot, f.serial.Add(1))
}

// SessionCellName names the cell of a session.
func (f *Factory) SessionCellName() string { return fmt.Sprintf("session-%d", f.serial.Add(1)) }

// Plan adds the compiled filter to a cell's plan. An image that is known to be damaged is refused.
func (f *Factory) Plan(c plan.Cell) (Plan, error) {
	if err := f.Images.KnownIntact(c.Image); err != nil {
		return Plan{}, err
	}
	filter, err := f.Filters.Get(c.Policy)
	return Plan{Cell: c, filter: filter}, err
}

// New builds a cell and waits until its PID 1 is ready to make shells. On failure it leaves
// nothing behind.
func (f *Factory) New(ctx context.Context, p Plan) (_ *Cell, err error) {
	inotifyLimits := f.inotifyLimits
	if p.Slot >= plan.FirstSessionRange {
		inotifyLimits = f.sessionInotifyLimits
	}
	if !p.filter.UsesInotify {
		inotifyLimits = noInotify(inotifyLimits)
	}
	if ablate.Off(ablate.Seccomp) {
		p.filter = nil
	}

	c := &Cell{Key: p.Key, Name: p.Name, Slot: p.Slot, Filter: p.filter, dir: filepath.Join(f.cellsDir, p.Name),
		Step: f.Step, reclaimer: &f.reclaimer}
	undo := rollback.On(&err)
	defer undo.Run()

	// 1. The image stays complete as long as the cell lives. The root is mounted in our mount
	// namespace: the image's tree, with its owners shifted into the slot's range, nosuid, nodev,
	// read-only.
	root := filepath.Join(c.dir, "root")
	if err := os.MkdirAll(root, 0o711); err != nil {
		return nil, err
	}

	undo.Add(c.removeDir)
	if err := os.Mkdir(c.dev(), 0o711); err != nil {
		return nil, err
	}
	if err := f.Step("cell root"); err != nil {
		return nil, err
	}
	if c.imageLock, err = f.Images.Lock(p.Image); err != nil {
		return nil, err
	}

	undo.Add(c.imageLock.Close)
	if !p.Copies() {
		c.pages = f.Images.Pages.Acquire(p.Image)
		undo.Add(c.pages.Release)
	}
	if err := f.Step("cell dev"); err != nil {
		return nil, err
	}
	if err := makeDev(c.dev()); err != nil {
		return nil, fmt.Errorf("prepare /dev: %w", err)
	}

	undo.Add(c.unmountDev)
	if err := os.Mkdir(c.machineDir(), 0o711); err != nil {
		return nil, err
	}
	if c.machine, err = newMachine(c.machineDir(), f.machine); err != nil {
		return nil, fmt.Errorf("prepare the files of /proc: %w", err)
	}

	undo.Add(c.closeMachine)
	if err := f.mountRoot(ctx, c, p, root); err != nil {
		return nil, err
	}

	undo.Add(func() error { return c.unmountRoot() })

	// 2. The groups exist in every hierarchy and are empty. libcontainer makes those of the first
	// process below the group that we are in at that time.
	if err := f.Step("cell groups"); err != nil {
		return nil, err
	}
	if err := f.Tree.CheckMoved(); err != nil {
		return nil, err
	}

	c.Group, err = f.Tree.Cell(p.Name, plan.SlotIDs(p.Slot))
	if err != nil {
		return nil, err
	}

	undo.Add(func() error { return c.Group.Remove() })

	// 3. The container runs cellinit, which waits for its first message.
	if err := f.Step("cell container"); err != nil {
		return nil, err
	}

	base := plan.SlotIDs(p.Slot)
	config, err := cellConfig(cellSpec{
		rootfs: root, dev: c.dev(), machine: c.machineDir(), cgroup: c.Group.InitPath(), cpus: p.CPUs, hostBase: uint32(base),
		readonly:    p.Layer == nil,
		ownsImage:   p.Key.OwnsImage,
		oomScoreAdj: f.oomScoreAdj, inotifyLimits: inotifyLimits,
	})
	if err != nil {
		return nil, err
	}
	if err := c.start(f, config); err != nil {
		return nil, err
	}

	undo.Add(c.stop)

	// 4. cellinit has sealed its keyrings, dropped its privileges as far as it can, and loaded the
	// filter. Its notifications arrive here.
	if err := f.Step("cell filter"); err != nil {
		return nil, err
	}
	if err := c.handshake(ctx); err != nil {
		return nil, fmt.Errorf("cell %s: %w", c.Name, namespaceError(err))
	}

	// 5. The image's files are in memory, so that no run is charged for reading them.
	if err := c.pages.Wait(ctx); err != nil {
		return nil, err
	}
	if err := f.Step("cell ready"); err != nil {
		return nil, err
	}

	undo.Release()
	return c, nil
}

// mountRoot mounts the cell's root at dir.
func (f *Factory) mountRoot(ctx context.Context, c *Cell, p Plan, dir string) (err error) {
	base := plan.SlotIDs(p.Slot)
	if p.Layer != nil {
		return f.mountLayer(ctx, c, p, base, dir)
	}
	if p.Copies() && p.Key.Alias == "" {
		tree, err := f.Images.MountCopy(ctx, c.imageLock, p.Cell, base, dir)
		if err != nil {
			return err
		}
		return tree.Close()
	}

	trees, err := f.lowerTrees(ctx, c, p, base, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(trees)) }()
	return c.mountImage(trees, dir)
}

// mountImage mounts trees at dir, read-only. Several lie one above the other in an overlay.
func (c *Cell) mountImage(trees []*os.File, dir string) error {
	if len(trees) == 1 {
		return mount.MoveMount(trees[0], dir)
	}
	return overlayError(mount.OverlayClones(trees, "", dir, c.lower(), unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV))
}

// lowerTrees returns the trees of a cell's root, or those below its throw-away layer, the topmost first and mounted
// nowhere: that of the alias, and those of the image, or its copy.
func (f *Factory) lowerTrees(ctx context.Context, c *Cell, p Plan, base int, dir string) (trees []*os.File, err error) {
	if trees, err = f.imageTrees(ctx, c, p, base, dir); err != nil || p.Key.Alias == "" {
		return trees, err
	}

	owner := base
	if p.Layer != nil {
		owner = base + plan.UID
	}
	alias, err := aliasTree(p.Key.Alias, owner)
	if err != nil {
		return nil, errors.Join(err, closeAll(trees))
	}
	return append([]*os.File{alias}, trees...), nil
}

// imageTrees returns the image's trees, or the copy of it, mounted nowhere.
func (f *Factory) imageTrees(ctx context.Context, c *Cell, p Plan, base int, dir string) ([]*os.File, error) {
	if p.Copies() {
		tree, err := f.Images.MountCopy(ctx, c.imageLock, p.Cell, base, dir)
		if err != nil {
			return nil, err
		}
		clone, err := mount.CloneTree(tree, mount.AttrImage, nil)
		if uerr := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); uerr != nil {
			err = errors.Join(err, os.NewSyscallError("umount2", uerr))
		}
		if err = errors.Join(err, tree.Close()); err != nil {
			return nil, err
		}
		return []*os.File{clone}, nil
	}

	shift := p.IDs.ForImage
	if p.Layer != nil {
		shift = p.IDs.forLayer
	}
	userns, err := shift(base)
	if err != nil {
		return nil, err
	}
	return c.cloneTrees(userns)
}

// cloneTrees makes detached copies of the mounts of the image's trees, the topmost first, read-only and
// with their owners shifted by userns.
func (c *Cell) cloneTrees(userns *os.File) (clones []*os.File, err error) {
	trees, err := c.imageLock.Trees()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = errors.Join(err, closeAll(trees)); err != nil {
			err = errors.Join(err, closeAll(clones))
			clones = nil
		}
	}()

	for _, t := range trees {
		clone, err := mount.CloneTree(t, mount.AttrImage, userns)
		if err != nil {
			return clones, err
		}
		clones = append(clones, clone)
	}

	return clones, nil
}

func closeAll(files []*os.File) (err error) {
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// namespaceError says what programs that own their image need.
func namespaceError(err error) error {
	var step *StepError
	if errors.As(err, &step) && step.Step == stepNamespace {
		return api.Refuse(api.CodeUnsupported, "own_image needs a user namespace below that of the cell, which this "+
			"host refuses (sysctl user.max_user_namespaces, a security module): use writable_root: %w", err)
	}
	return err
}

// overlayError says what an overlay needs.
func overlayError(err error) error {
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) {
		return api.Refuse(api.CodeUnsupported,
			"an image of layers, a writable root and a workdir_alias need overlayfs over idmapped mounts (Linux 5.19): %w", err)
	}
	return err
}
