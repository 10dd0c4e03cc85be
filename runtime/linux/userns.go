package linux

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// MappedNamespace makes a user namespace and returns a handle. The process that
// carries the mapping is stopped before its first instruction and never runs.
func MappedNamespace(ids []syscall.SysProcIDMap) (*os.File, error) {
	runtime.LockOSThread() // ptrace binds the tracer's thread
	defer runtime.UnlockOSThread()

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
