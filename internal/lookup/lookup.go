// Package lookup opens names below a directory by openat2, whatever other processes rename meanwhile.
package lookup

import (
	"golang.org/x/sys/unix"
)

// maxTries bounds how often a lookup is repeated that others disturb. One that renames without a pause disturbs about
// every second one; each takes microseconds.
const maxTries = 1000

// Openat2 is the system call, repeated while something is renamed or mounted elsewhere on the host: then the kernel
// cannot tell whether a part .. of the name, or of a link, leads out of dir, and answers EAGAIN. That is no fault of
// the name (TestLookupsBesideRenames). The error is an errno; it is EAGAIN if each of 1,000 tries was disturbed.
func Openat2(dir int, name string, how *unix.OpenHow) (n int, err error) {
	for range maxTries {
		n, err = unix.Openat2(dir, name, how)
		if err != unix.EAGAIN && err != unix.EINTR { //nolint:errorlint // as it comes from the kernel
			break
		}
	}
	return n, err
}
