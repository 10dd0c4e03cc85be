package judging

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/durable"
	"github.com/brig-sandbox/brig/internal/inputfile"
)

// replaceOutput has write write a large file that the user named. An earlier file of that name stays as it is until
// all of the new one is on disk, which keeps its mode, and its owner if this process may give files away. What
// cli.OpenOutput refuses is refused. A process that is killed meanwhile can leave a file .brig-TEXT in that directory.
func replaceOutput(path string, write func(io.Writer) error) error {
	if cli.OwnDescriptor(filepath.Clean(path)) {
		out, err := cli.OpenOutput(path)
		if err != nil {
			return err
		}
		return errors.Join(write(out), out.Close())
	}

	old, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return inputfile.WithoutSyscall(err)
	default:
		if err := cli.CheckWritable(path, old); err != nil {
			return err
		}
	}

	staged, err := os.OpenFile(filepath.Join(filepath.Dir(path), ".brig-"+rand.Text()),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("%s is written into a new file in its directory first: %w", path, inputfile.WithoutSyscall(err))
	}

	err = write(staged)
	if err == nil && old != nil {
		s := old.Sys().(*syscall.Stat_t)
		_ = staged.Chown(int(s.Uid), int(s.Gid)) // most users may not: then it is theirs
		err = staged.Chmod(old.Mode().Perm())
	}

	return durable.Commit(staged, path, err)
}
