package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/runtime/ablate"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A factory builds cells.
type factory struct {
	log                  *slog.Logger
	cellsDir             string // with a directory for each cell
	stateDir             string // libcontainer's
	tree                 *groups.Tree
	images               *images
	filters              filters
	cellinit             *os.File // sealed memfd
	oomScoreAdj          int      // see cellOOMScoreAdj
	inotifyLimits        map[string]string
	sessionInotifyLimits map[string]string
	reclaimer            reclaimer
	serial               atomic.Uint64           // names cells
	builders             chan struct{}           // a token for each cell being built: many first runs at once must not start as many runtimes
	step                 func(name string) error // see Host.step
}

// A factoryConfig is what a factory needs of its host.
type factoryConfig struct {
	log         *slog.Logger
	dir         string // with the directories cells and state
	tree        *groups.Tree
	store       *rootfs.Store
	imageMemory api.Size // see newImages
	readImages  bool     // see newImages
	slots       int
	sessions    int
	builders    int // cells that may be built at once
	step        func(name string) error
}

func newFactory(c factoryConfig) (_ *factory, err error) {
	f := &factory{
		log: c.log, cellsDir: filepath.Join(c.dir, "cells"), stateDir: filepath.Join(c.dir, "state"), tree: c.tree,
		reclaimer: reclaimer{log: c.log}, builders: make(chan struct{}, c.builders), step: c.step,
		inotifyLimits: inotifyShares(2, c.slots), sessionInotifyLimits: inotifyShares(4, max(c.sessions, 1)),
	}
	if f.oomScoreAdj, err = cellOOMScoreAdj(); err != nil {
		return nil, err
	}
	if f.cellinit, err = sealedMemfd("cellinit", cellinitELF, true); err != nil {
		return nil, err
	}
	if f.images, err = newImages(c.store, c.log, f.oomScoreAdj, c.imageMemory, c.readImages, c.step); err != nil {
		return nil, errors.Join(err, f.cellinit.Close())
	}
	return f, nil
}

// Close ends what works in the background. No cell may exist. The groups remain.
func (f *factory) Close() error {
	f.reclaimer.Close()
	return errors.Join(f.images.Close(), f.cellinit.Close())
}

// acquireBuilder waits until one more cell may be built.
func (f *factory) acquireBuilder() (release func()) {
	f.builders <- struct{}{}
	return func() { <-f.builders }
}

// cellName names a cell of a slot.
func (f *factory) cellName(slot int) string {
	return fmt.Sprintf("cell-%d-%d", slot, f.serial.Add(1))
}

// sessionCellName names the cell of a session.
func (f *factory) sessionCellName() string { return fmt.Sprintf("session-%d", f.serial.Add(1)) }

// cellPlan adds the compiled filter to a cell's plan.
func (f *factory) cellPlan(c plan.Cell) (cellPlan, error) {
	filter, err := f.filters.get(c.Policy)
	return cellPlan{Cell: c, filter: filter}, err
}

// newCell builds a cell and waits until its PID 1 is ready to make shells. On failure it leaves
// nothing behind.
func (f *factory) newCell(ctx context.Context, p cellPlan) (_ *cell, err error) {
	inotifyLimits := f.inotifyLimits
	if p.slot >= plan.FirstSessionRange {
		inotifyLimits = f.sessionInotifyLimits
	}
	if !p.filter.UsesInotify {
		inotifyLimits = noInotify(inotifyLimits)
	}
	if ablate.Off(ablate.Seccomp) {
		p.filter = nil
	}
	c := &cell{key: p.Key, name: p.name, slot: p.slot, filter: p.filter, dir: filepath.Join(f.cellsDir, p.name), step: f.step, reclaimer: &f.reclaimer}
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
	if err := f.step("cell root"); err != nil {
		return nil, err
	}
	if c.imageLock, err = f.images.lockImage(p.Image); err != nil {
		return nil, err
	}
	undo.Add(c.imageLock.Close)
	if !p.Copies() {
		c.pages = f.images.pages.acquire(p.Image)
		undo.Add(c.pages.release)
	}
	if err := f.step("cell dev"); err != nil {
		return nil, err
	}
	if err := makeDev(c.dev()); err != nil {
		return nil, fmt.Errorf("prepare /dev: %w", err)
	}
	undo.Add(c.unmountDev)
	if err := f.mountRoot(ctx, c, p, root); err != nil {
		return nil, err
	}
	undo.Add(func() error { return c.unmountRoot() })

	// 2. The groups exist in every hierarchy and are empty. libcontainer makes those of the first
	// process below the group that we are in at that time.
	if err := f.step("cell groups"); err != nil {
		return nil, err
	}
	if err := f.tree.CheckMoved(); err != nil {
		return nil, err
	}
	c.group, err = f.tree.Cell(p.name, plan.SlotIDs(p.slot))
	if err != nil {
		return nil, err
	}
	undo.Add(func() error { return c.group.Remove() })

	// 3. The container runs cellinit, which waits for its first message.
	if err := f.step("cell container"); err != nil {
		return nil, err
	}
	base := plan.SlotIDs(p.slot)
	config, err := cellConfig(cellSpec{
		rootfs: root, dev: c.dev(), cgroup: c.group.InitPath(), cpus: p.cpus, hostBase: uint32(base), readonly: p.Layer == nil,
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
	if err := f.step("cell filter"); err != nil {
		return nil, err
	}
	if err := c.handshake(ctx); err != nil {
		return nil, fmt.Errorf("cell %s: %w", c.name, err)
	}

	// 5. The image's files are in memory, so that no run is charged for reading them.
	if err := c.pages.wait(ctx); err != nil {
		return nil, err
	}
	if err := f.step("cell ready"); err != nil {
		return nil, err
	}
	undo.Release()
	return c, nil
}

// mountRoot mounts the cell's root at dir.
func (f *factory) mountRoot(ctx context.Context, c *cell, p cellPlan, dir string) error {
	base := plan.SlotIDs(p.slot)
	if p.Layer != nil {
		return f.mountLayer(ctx, c, p, base, dir)
	}
	tree, err := f.mountTree(ctx, c, p, base, dir)
	if err != nil {
		return err
	}
	return tree.Close()
}

// mountTree mounts the image's tree, or a copy of it, at dir and returns a handle of the mount.
func (f *factory) mountTree(ctx context.Context, c *cell, p cellPlan, base int, dir string) (*os.File, error) {
	if p.Copies() {
		return f.images.mountCopy(ctx, c.imageLock, p.Cell, base, dir)
	}
	ids := p.ids.forImage
	if p.Layer != nil {
		ids = p.ids.forLayer
	}
	userns, err := ids(base)
	if err != nil {
		return nil, err
	}
	return mountImage(c.imageLock, userns, dir)
}

// mountImage mounts an image's tree at dir, with its owners shifted by userns, and returns a handle
// of the mount.
func mountImage(lock *imageLock, userns *os.File, dir string) (*os.File, error) {
	tree, err := lock.tree()
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	clone, err := cloneTree(tree, attrImage, userns)
	if err != nil {
		return nil, err
	}
	if err := moveMount(clone, dir); err != nil {
		return nil, errors.Join(err, clone.Close())
	}
	return clone, nil
}
