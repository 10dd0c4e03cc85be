package oci

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// maxMemory limits the memory that the child may map for writing. It is well above twice the largest
// window of a compression.
const maxMemory = 1 << 30

// confine puts this process out of reach of other processes of its uid, before it gets a secret: they
// cannot trace it, nor read its memory, environment and descriptors (IMG-43). It writes no core file,
// and a source that would have it take more memory or descriptors ends it.
func confine() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl dumpable: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl no_new_privs: %w", err)
	}
	for _, l := range []struct {
		resource int
		max      uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_NOFILE, 256}, {unix.RLIMIT_DATA, maxMemory}} {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.max, Max: l.max}); err != nil {
			return fmt.Errorf("limit %d: %w", l.resource, err)
		}
	}
	debug.SetMemoryLimit(maxMemory / 2) // so that the garbage collector runs in time
	return nil
}

// setUp takes over what the parent sent: the variables, and the credentials in a file without a name.
func (r Request) setUp() error {
	var errs []error
	for name, value := range r.Env {
		errs = append(errs, os.Setenv(name, value))
	}
	if len(r.Credentials) == 0 {
		return errors.Join(errs...)
	}
	fd, err := unix.MemfdCreate("credentials", unix.MFD_CLOEXEC) // open until this process ends
	if err != nil {
		return os.NewSyscallError("memfd_create", err)
	}
	for rest := r.Credentials; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if err != nil {
			return os.NewSyscallError("write", err)
		}
		rest = rest[n:]
	}
	return errors.Join(append(errs, os.Unsetenv("DOCKER_CONFIG"), os.Setenv("REGISTRY_AUTH_FILE", fmt.Sprintf("/proc/self/fd/%d", fd)))...)
}
