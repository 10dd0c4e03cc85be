package cell

import (
	"errors"
	"fmt"
	"time"

	groups "github.com/brig-sandbox/brig/cgroups"
)

// TakeLeaf returns an empty leaf group for the next run: one whose counters can be reset, or a new
// one.
func (c *Cell) TakeLeaf() (*groups.Leaf, error) {
	if n := len(c.freeLeaves); n > 0 {
		leaf := c.freeLeaves[n-1]
		c.freeLeaves = c.freeLeaves[:n-1]
		return leaf, nil
	}
	c.Leaves++
	return c.Group.NewLeaf(fmt.Sprintf("r%d", c.Leaves))
}

// GiveLeaf keeps a leaf for the next run. It removes the leaf when one of its counters cannot be
// reset or memory of the last run is still charged to it (MEM-16).
func (c *Cell) GiveLeaf(leaf *groups.Leaf) error {
	empty, err := leaf.Empty()
	if err == nil && !empty {
		err = errors.New("processes remain in a leaf group")
	}

	charged, cerr := leaf.Current()
	if err = errors.Join(err, cerr, c.Step("leaf keep")); err != nil {
		return errors.Join(err, leaf.Close()) // the groups go with the cell
	}
	if !leaf.Reusable() || charged > maxLeftCharge {
		return c.removeLeaf(leaf)
	}

	c.freeLeaves = append(c.freeLeaves, leaf)
	return nil
}

// Reclaim does what removeLeaf does, at once, for a session that ends.
func Reclaim(leaf *groups.Leaf) error {
	kernel, err := leaf.Kernel()
	if err != nil || kernel <= maxLeftKernel {
		return err
	}
	return leaf.Reclaim()
}

// maxLeftKernel is how much kernel memory may stay charged to a leaf. The kernel objects of the image
// files that a run opens are not worth freeing and making anew. The first run of a Node image
// leaves 256 KiB. Runs that each leave a little less than this limit add up until the kernel needs
// the memory.
const maxLeftKernel = 1 << 20

// maxLeftCharge is how much of an earlier run's page cache and kernel objects may stay charged to a
// leaf. It counts against the next run's limit until it is reclaimed.
const maxLeftCharge = 1 << 20

// The time that the kernel gets to end the processes of a run after all of them were killed. If the
// end of the run is known, because a limit ended it, the caller has left, or its first process has
// ended by itself, the time is KillTimeout: a program can shape its memory such that the kernel needs
// a long time to free it. The processes of a session that ends get KillTimeout, too. All others get
// EmptyTimeout. If a process is alive after that, its cell is destroyed.
var (
	KillTimeout    = 120 * time.Second
	EmptyTimeout   = 10 * time.Second
	DestroyTimeout = 10 * time.Second // of a shell, whose other processes have ended
)

// ErrStillRunning reports that processes of a run are still there when their time to end is over.
var ErrStillRunning = errors.New("processes remain in the group after SIGKILL")

// WaitEmpty waits until the killed processes of a group are gone.
func WaitEmpty(leaf *groups.Leaf, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		empty, err := leaf.Empty()
		switch {
		case err != nil || empty:
			return err
		case time.Now().After(deadline):
			return ErrStillRunning
		}
		time.Sleep(pause)
	}
}

// removeLeaf removes a leaf that no other run uses. Kernel memory that its run left, which would be
// charged to the agent when the group goes, is freed before that, in the background (RES-12). A
// leaf with page cache alone is removed at once: the cache is mostly that of the image, and the
// next run needs it.
func (c *Cell) removeLeaf(leaf *groups.Leaf) error {
	kernel, err := leaf.Kernel()
	if err != nil || kernel <= maxLeftKernel {
		return errors.Join(err, leaf.Remove())
	}

	free := func(stopping bool) (err error) {
		if !stopping {
			err = leaf.Reclaim()
		}
		return errors.Join(err, leaf.Remove())
	}
	if c.reclaimer.add(free) {
		c.freedLeaf = true
		return nil
	}
	return free(false)
}

// removeGroup removes the cell's groups, after any leaf of it that is being freed.
func (c *Cell) removeGroup() error {
	if c.freedLeaf && c.reclaimer.add(func(bool) error { return c.Group.Remove() }) {
		return nil
	}
	return c.Group.Remove()
}
