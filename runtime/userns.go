package runtime

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"sync"
	"syscall"

	"github.com/brig-sandbox/brig/runtime/plan"

	"golang.org/x/sys/unix"
)

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
	return m.get(&m.image, []syscall.SysProcIDMap{{ContainerID: 0, HostID: base, Size: plan.IDCount}})
}

// forLayer is forImage for a throw-away layer: what belongs to root in the image belongs to the
// run's uid in the cell, and the other way round.
func (m *idMaps) forLayer(base int) (*os.File, error) {
	return m.get(&m.layer, []syscall.SysProcIDMap{
		{ContainerID: 0, HostID: base + plan.UID, Size: 1},
		{ContainerID: 1, HostID: base + 1, Size: plan.UID - 1},
		{ContainerID: plan.UID, HostID: base, Size: 1},
		{ContainerID: plan.UID + 1, HostID: base + plan.UID + 1, Size: plan.IDCount - plan.UID - 1},
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
