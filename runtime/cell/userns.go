package cell

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// The IDMaps of a slot are user namespaces without processes. They only tell mount_setattr how to
// shift the ids of an image; a cell's own namespace is new and has the mapping of the first one.
// Making one takes a process, so they are kept.
type IDMaps struct {
	mu    sync.Mutex
	image *os.File // guarded by mu; 0..65535 are the slot's ids
	layer *os.File // guarded by mu; the same, with root and the run's uid swapped
}

// ForImage shifts the image's ids into the range that starts at base. The IDMaps keep ownership of
// the handle.
func (m *IDMaps) ForImage(base int) (*os.File, error) {
	return m.get(&m.image, []syscall.SysProcIDMap{{ContainerID: 0, HostID: base, Size: plan.IDCount}})
}

// forLayer is ForImage for a throw-away layer: what belongs to root in the image belongs to the
// run's uid in the cell, and the other way round.
func (m *IDMaps) forLayer(base int) (*os.File, error) {
	return m.get(&m.layer, []syscall.SysProcIDMap{
		{ContainerID: 0, HostID: base + plan.UID, Size: 1},
		{ContainerID: 1, HostID: base + 1, Size: plan.UID - 1},
		{ContainerID: plan.UID, HostID: base, Size: 1},
		{ContainerID: plan.UID + 1, HostID: base + plan.UID + 1, Size: plan.IDCount - plan.UID - 1},
	})
}

func (m *IDMaps) get(kept **os.File, ids []syscall.SysProcIDMap) (_ *os.File, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if *kept == nil {
		*kept, err = linux.MappedNamespace(ids)
	}
	return *kept, err
}

// Close closes the namespaces. It may be called when no cell is being built. The next cell makes them anew.
func (m *IDMaps) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for _, f := range []**os.File{&m.image, &m.layer} {
		if *f != nil {
			err = errors.Join(err, (*f).Close())
			*f = nil
		}
	}
	return err
}
