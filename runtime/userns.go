package runtime

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The host ids of slot k's cells are idBase+k*idCount and the 65,535 after it:
// above what distributions hand out (subuid ranges start at 100,000 and end
// below 600,100,000 by default), below 2^31, and shared with no other slot, so
// that per-uid quotas of one run never bind another (NS-14, PID-14).
const (
	IDBase  = 0x40000000
	IDCount = 65536
	MaxSlot = 4096
)

// The program's identity inside a cell.
const (
	UID = 1000
	GID = 1000
)

// slotIDs returns the first host id of a slot.
func SlotIDs(slot int) int { return IDBase + slot*IDCount }

// The idMaps of a slot are user namespaces without processes. They only tell mount_setattr how to
// shift the ids of an image; a cell's own namespace is new and has the mapping of the first one.
// Making one takes a process, so they are kept.
type idMaps struct {
	mu    sync.Mutex
	image *os.File // guarded by mu; 0..65535 are the slot's ids
	layer *os.File // guarded by mu; the same, with root and the run's uid swapped
}

// forImage shifts the image's ids into the range that starts at base. The idMaps keep ownership of
// the handle.
func (m *idMaps) forImage(base int) (*os.File, error) {
	return m.get(&m.image, []syscall.SysProcIDMap{{ContainerID: 0, HostID: base, Size: IDCount}})
}

// forLayer is forImage for a throw-away layer: what belongs to root in the image belongs to the
// run's uid in the cell, and the other way round.
func (m *idMaps) forLayer(base int) (*os.File, error) {
	return m.get(&m.layer, []syscall.SysProcIDMap{
		{ContainerID: 0, HostID: base + UID, Size: 1},
		{ContainerID: 1, HostID: base + 1, Size: UID - 1},
		{ContainerID: UID, HostID: base, Size: 1},
		{ContainerID: UID + 1, HostID: base + UID + 1, Size: IDCount - UID - 1},
	})
}

func (m *idMaps) get(kept **os.File, ids []syscall.SysProcIDMap) (_ *os.File, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if *kept == nil {
		*kept, err = mappedNamespace(ids)
	}
	return *kept, err
}

// Close closes the namespaces. It may be called when no cell is being built.
func (m *idMaps) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for _, f := range []*os.File{m.image, m.layer} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// mappedNamespace makes a user namespace and returns a handle. The process that
// carries the mapping is stopped before its first instruction and never runs.
func mappedNamespace(ids []syscall.SysProcIDMap) (*os.File, error) {
	goruntime.LockOSThread() // ptrace binds the tracer's thread
	defer goruntime.UnlockOSThread()
	p, err := os.StartProcess("/proc/self/exe", []string{"brigd-idmap"}, &os.ProcAttr{
		Sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids,
			Ptrace: true, Pdeathsig: syscall.SIGKILL,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make a user namespace for the ids from %d on: %w", ids[0].HostID, err)
	}
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", p.Pid))
	killErr := p.Kill()
	_, waitErr := p.Wait()
	if err := errors.Join(err, killErr, waitErr); err != nil {
		if ns != nil {
			err = errors.Join(err, ns.Close())
		}
		return nil, err
	}
	return ns, nil
}
