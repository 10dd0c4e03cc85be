package volume

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/durable"
	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A directory of volumes holds
//
//	lock              flocked while one is made
//	UID/NAME.ext4     the volumes of a user
//	UID/NAME%%RUN.ext4  those that belong to a run
//	UID/.new-RANDOM   one that is being made; its maker holds a flock on it
//
// and belongs to root alone.
const (
	volumeSuffix    = ".ext4"
	runSeparator    = "%%" // no escaped name has it
	newVolumePrefix = ".new-"
)

// path returns the file of a volume; run is empty for one that lasts. The names come from a caller: parts that could
// lead elsewhere, or hide the file, are escaped.
func (s *Store) path(owner uint32, name, run string) (string, error) {
	escape := strings.NewReplacer("%", "%25", "/", "%2F", "\x00", "%00").Replace
	base := escape(name)
	if base[0] == '.' {
		base = "%2E" + base[1:]
	}
	if run != "" {
		base += runSeparator + escape(run)
	}

	switch {
	case len(base)+len(volumeSuffix) <= 255:
		return filepath.Join(s.Dir, strconv.FormatUint(uint64(owner), 10), base+volumeSuffix), nil
	case run != "":
		return "", api.Refuse(api.CodeBadRequest,
			"the temporary volume %.80q of run %.80q has %d bytes in its name, and the maximum is %d: choose a shorter "+
				"name or run", name, run, len(base), 255-len(volumeSuffix))
	}
	return "", api.Refuse(api.CodeBadRequest,
		"volume name %.80q has too many characters that need escaping: choose a shorter one", name)
}

// namesOf is the reverse of path for the name of a file.
func namesOf(file string) (name, run string, ok bool) {
	base, ok := strings.CutSuffix(file, volumeSuffix)
	base, run, temporary := strings.Cut(base, runSeparator)
	if !ok || base == "" || base[0] == '.' || temporary && run == "" {
		return "", "", false
	}
	name, err := url.PathUnescape(base)
	run, rerr := url.PathUnescape(run)
	return name, run, err == nil && rerr == nil
}

// A volumeFile describes a volume's file on disk.
type volumeFile struct {
	api.Volume
	path string
}

// files lists an owner's volumes.
func (s *Store) files(owner uint32) ([]volumeFile, error) {
	if s.Dir == "" {
		return nil, nil
	}

	dir := filepath.Join(s.Dir, strconv.FormatUint(uint64(owner), 10))
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	var out []volumeFile
	for _, e := range entries {
		name, run, is := namesOf(e.Name())
		st, serr := e.Info()
		if !is || serr != nil || !st.Mode().IsRegular() {
			continue // a file of the operator's, or one that was removed a moment ago
		}
		out = append(out, volumeFile{
			api.Volume{Name: name, Run: run, Size: api.Size(st.Size()), Modified: st.ModTime().UTC().Format(time.RFC3339)},
			filepath.Join(dir, e.Name()),
		})
	}

	return out, nil
}

// roundVolume returns the space that a volume of the requested size takes.
func roundVolume(size api.Size) api.Size { return (size + api.MiB - 1) / api.MiB * api.MiB }

// create creates a volume. Its space is reserved, so that a full disk of the host never breaks it.
// The volume gets its name when it is complete and on disk. The name itself is on disk with the
// first of what a session writes: ext4 and xfs flush a file with its name.
func (s *Store) create(ctx context.Context, path string, asked api.Size) (err error) {
	if err := s.mountable(); err != nil {
		return err
	}

	size := roundVolume(cmp.Or(asked, min(api.VolumeSize, s.Most)))
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}

	lock, err := os.OpenFile(filepath.Join(s.Dir, "lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()

	if err := flock.Lock(lock); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return nil // another agent was quicker
	}

	total, err := s.totalSize()
	if err != nil {
		return err
	}
	if total+size > s.Total {
		return api.Fail(api.CodeHostExhausted,
			"volumes take up %s of the %s that this agent may give them, and %s are requested: remove one, or have "+
				"the operator raise it (brigd --volumes-total)", total, s.Total, size)
	}

	tmp, err := os.CreateTemp(dir, newVolumePrefix)
	if err != nil {
		return err
	}
	defer tmp.Close()

	made := false
	defer func() {
		if !made {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()

	if err := flock.Try(tmp); err != nil {
		return err
	}

	disableCopyOnWrite(tmp)
	err = linux.IgnoringEINTR(func() error { return unix.Fallocate(linux.FD(tmp), 0, 0, int64(size)) })
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return api.Refuse(api.CodeUnsupported,
			"the file system of %s cannot reserve space (fallocate): keep volumes on ext4, xfs or btrfs (brigd --volumes)",
			s.Dir)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return api.Fail(api.CodeHostExhausted,
			"there is no space for a volume of %s: remove one, or have the operator free space in their directory (brigd --volumes)", size)
	case err != nil:
		return os.NewSyscallError("fallocate", err)
	}

	if err := makeExt4(ctx, tmp, size); err != nil {
		return err
	}
	if err := errors.Join(tmp.Sync(), os.Rename(tmp.Name(), path)); err != nil {
		return err
	}

	made = true
	return nil
}

// disableCopyOnWrite makes btrfs write a file where its space is reserved (chattr +C), which is possible while
// the file is empty. With copy on write, a volume would be damaged when the host's disk is full.
// The other file systems do not know this flag, and do not need it.
func disableCopyOnWrite(f *os.File) {
	const noCopy = 0x00800000 // FS_NOCOW_FL (linux/fs.h)
	if flags, err := unix.IoctlGetUint32(linux.FD(f), unix.FS_IOC_GETFLAGS); err == nil {
		_ = unix.IoctlSetPointerInt(linux.FD(f), unix.FS_IOC_SETFLAGS, int(flags|noCopy))
	}
}

// totalSize returns the total size of all volumes, and removes unfinished ones that a killed agent
// left.
func (s *Store) totalSize() (total api.Size, err error) {
	err = filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if strings.HasPrefix(d.Name(), newVolumePrefix) {
			f, err := linux.LockFile(path, false)
			if err == nil {
				err = errors.Join(os.Remove(path), f.Close())
			}
			return err // no other agent can be making this one: its maker would hold the lock that this agent holds
		}

		st, err := d.Info()
		if err == nil {
			total += api.Size(st.Size())
		}
		return nil
	})

	return total, err
}

// makeExt4 creates the file system. The file reads as zeros, so tables and journal need not be
// written. Its features, which decide what the kernel may do with it, depend on no file of the
// host. mkfs works on a file in memory because it flushes repeatedly, and each flush to a disk
// takes milliseconds.
func makeExt4(ctx context.Context, f *os.File, size api.Size) error {
	tool, err := mkfs()
	if err != nil {
		return err
	}

	n, err := unix.MemfdCreate("brig-volume", unix.MFD_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("memfd_create", err)
	}

	mem := os.NewFile(uintptr(n), "brig-volume")
	defer mem.Close()

	if err := mem.Truncate(int64(size)); err != nil {
		return err
	}

	journal := 4
	for at := 128 * api.MiB; at <= size && journal < 64; at *= 4 {
		journal *= 2
	}

	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, tool, "-q", "-F", "-t", "ext4", "-b", "4096", "-I", "256", "-i", "8192", "-m",
		"0", "-e", "remount-ro",
		"-J", "size="+strconv.Itoa(journal), "-O",
		"none,has_journal,extent,filetype,dir_index,ext_attr,sparse_super,large_file,huge_file,flex_bg,dir_nlink,extra_isize,metadata_csum,64bit",
		"-E", fmt.Sprintf("nodiscard,lazy_itable_init=1,lazy_journal_init=1,root_owner=%d:%d", plan.UID,
			plan.GID), "/proc/self/fd/3")

	cmd.ExtraFiles = []*os.File{mem}
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %.500s", tool, err, output.Bytes())
	}
	return copyWritten(f, mem)
}

// copyWritten copies the written parts of a file to the same offsets, and skips the holes.
func copyWritten(to, from *os.File) error {
	for end := int64(0); ; {
		begin, err := unix.Seek(linux.FD(from), end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil
		}
		if err == nil {
			end, err = unix.Seek(linux.FD(from), begin, unix.SEEK_HOLE)
		}
		if err == nil {
			_, err = io.Copy(io.NewOffsetWriter(to, begin), io.NewSectionReader(from, begin, end-begin))
		}
		if err != nil {
			return fmt.Errorf("write the file system: %w", err)
		}
	}
}

func mkfs() (string, error) {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin") {
		path := filepath.Join(dir, "mkfs.ext4")
		if filepath.IsAbs(path) && unix.Access(path, unix.X_OK) == nil {
			return path, nil
		}
	}
	return "", api.Refuse(api.CodeUnsupported,
		"no volume can be made: mkfs.ext4 is not installed on the agent's host: have the operator install the package e2fsprogs")
}

// unlinkVolume removes a volume that no session of this agent uses.
func unlinkVolume(path, name string) error {
	f, err := openVolume(path, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lockVolume(f, name, volumeLockTimeout); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}
