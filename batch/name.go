package batch

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ContentDigest is the name of content in a store of blobs.
func ContentDigest(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// IDOf is the id of a batch that writes its results to a file, the same when it is resumed; -: stdout, each time
// another.
func IDOf(file string) string { return ContentDigest([]byte(nameOf(file)))[:16] }

// nameOf is a file of results, with its inode and the time when it was made: a new file of the same path is
// another batch, to which results that workers still send of the earlier one do not belong.
func nameOf(file string) string {
	path, err := filepath.Abs(file)
	if err != nil || file == "-" {
		return rand.Text()
	}
	host, _ := os.ReadFile("/etc/machine-id") // without one the path alone names the batch
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return string(host) + path
	}
	return fmt.Sprint(string(host), path, st.Ino, st.Btime.Sec, st.Btime.Nsec)
}
