package oci

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxMemory limits the memory that the child may map for writing. It is well above twice the largest
// window of a compression.
const maxMemory = 1 << 30

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

	return errors.Join(append(errs, os.Unsetenv("DOCKER_CONFIG"),
		os.Setenv("REGISTRY_AUTH_FILE", fmt.Sprintf("/proc/self/fd/%d", fd)))...)
}
