package cell

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A Stamp identifies a file's content as it was placed. A program can set a file's mtime, but not
// its ctime. A change within the same clock tick leaves ctime as it was before Linux 6.13
// (multigrain timestamps), but it moves mtime away from the past, where placing put it. A write
// through a shared mapping moves neither on tmpfs (its pages are writable from the first fault on),
// so in the end the bytes decide.
type Stamp struct {
	ino          uint64
	ctime, mtime unix.Timespec
}

// StampOf returns the stamp of a file with this status.
func StampOf(st *unix.Stat_t) Stamp { return Stamp{st.Ino, st.Ctim, st.Mtim} }

// An Input is a file in the state in which it was placed.
type Input struct {
	Stamp
	Content  []byte
	Artifact bool // an artifact, which is no output: its stamp alone decides
	Link     bool // a symbolic link
}

// placedAgo is how many seconds older than the run its inputs appear.
const placedAgo = 1

// largeFile is the size from which a file is worth two more system calls.
const largeFile = 128 << 10

// PlaceFiles writes the inputs of a plan, what its compile stage made of some, and the files of its test
// below the box of a scratch.
func (s *Scratch) PlaceFiles(p *plan.Run, uid, gid int) (placed map[string]Input, err error) {
	files, made, given := p.Files, p.Built, p.TestFiles()
	sealed := slices.Concat(made, given)
	if slices.ContainsFunc(slices.Concat(files, sealed), func(f api.File) bool { return len(f.Content) >= largeFile }) {
		if err := s.largeFolios(true); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.largeFolios(false)) }()
	}
	inBox, inTmp := splitInputs(files)
	if placed, err = placeFiles(s.Box, inBox, sealed, p.Dirs, uid, gid); err == nil {
		err = s.placeInTmp(inTmp, uid, gid)
	}
	if err != nil {
		return nil, placementError(made, p.Source, err)
	}

	for _, f := range made {
		placed[f.Name] = Input{Stamp: placed[f.Name].Stamp, Artifact: true}
	}
	return placed, nil
}

// splitInputs separates the inputs in /tmp, and names these relative to it.
func splitInputs(files []api.File) (inBox, inTmp []api.File) {
	if !slices.ContainsFunc(files, func(f api.File) bool { return strings.HasPrefix(f.Name, api.TmpDir) }) {
		return files, nil
	}

	for _, f := range files {
		if name, is := strings.CutPrefix(f.Name, api.TmpDir); is {
			f.Name = name
			inTmp = append(inTmp, f)
		} else {
			inBox = append(inBox, f)
		}
	}
	return inBox, inTmp
}

// placeInTmp writes inputs in /tmp. No output is there, so that nobody asks for their stamps.
func (s *Scratch) placeInTmp(files []api.File, uid, gid int) error {
	if len(files) == 0 {
		return nil
	}
	tmp, err := linux.OpenBeneath(s.Root, "tmp", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("place files in /tmp: %w", err)
	}
	defer tmp.Close()

	_, err = placeFiles(tmp, files, nil, nil, uid, gid)
	if at := (*placeError)(nil); errors.As(err, &at) {
		at.name = api.TmpDir + at.name
	}
	return err
}

// placeFiles writes inputs and sealed files below box, which no other process has accessed yet, and
// returns their stamps. Inputs and directories belong to the run and count against its memory (see
// counted). Artifacts, files of tests, and inputs to be executed, belong to the cell's root and cannot
// be opened for writing: the program cannot use their pages, which no limit counts, as memory
// (MEM-20). It may remove these files and create others in their place.
//
// Links come last: no input is placed through one (TestLinksArePlacedLast). Where they lead is the program's affair, who
// could make the same ones.
func placeFiles(box *os.File, files, sealed []api.File, empty []string, uid, gid int) (map[string]Input, error) {
	if len(files)+len(sealed)+len(empty) == 0 {
		return nil, nil
	}

	placed := make(map[string]Input, len(files)+len(sealed))
	dirs := map[string]bool{".": true}
	for i, f := range slices.Concat(files, sealed) {
		if f.Link != "" {
			continue
		}
		if err := makeDirs(box, path.Dir(f.Name), dirs, uid, gid); err != nil {
			return nil, &placeError{f.Name, err}
		}
		write := placeInput
		if i >= len(files) || plan.Sealed(f) {
			write = placeSealed
		}
		s, err := write(box, f, uid, gid)
		if err != nil {
			return nil, &placeError{f.Name, err}
		}
		placed[f.Name] = Input{Stamp: s, Content: f.Content}
	}

	for _, dir := range empty {
		if err := makeDirs(box, dir, dirs, uid, gid); err != nil {
			return nil, &placeError{dir, err}
		}
	}

	for _, f := range files {
		if f.Link == "" {
			continue
		}
		if err := makeDirs(box, path.Dir(f.Name), dirs, uid, gid); err != nil {
			return nil, &placeError{f.Name, err}
		}
		if err := placeLink(box, f, uid, gid); err != nil {
			return nil, &placeError{f.Name, err}
		}
		placed[f.Name] = Input{Link: true}
	}
	return placed, nil
}

// placeLink makes a symbolic link. Nobody follows it here.
func placeLink(box *os.File, f api.File, uid, gid int) error {
	dir, err := linux.OpenBeneath(box, path.Dir(f.Name), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()

	base := path.Base(f.Name)
	if err := unix.Symlinkat(f.Link, linux.FD(dir), base); err != nil {
		return &os.PathError{Op: "symlinkat", Path: f.Name, Err: err}
	}
	return unix.Fchownat(linux.FD(dir), base, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
}

// A placeError is a file that could not be placed.
type placeError struct {
	name string
	err  error
}

func (e *placeError) Error() string { return fmt.Sprintf("place file %q: %v", e.name, e.err) }
func (e *placeError) Unwrap() error { return e.err }

// placementError distinguishes files that do not fit, which their author must fix, from our own failures.
func placementError(made []api.File, source string, err error) error {
	var at *placeError
	if !errors.As(err, &at) || !errors.Is(err, unix.ENOSPC) {
		return err
	}
	if at.name == source { // placed last: the files sent with it did fit
		return &plan.InvalidSource{Reason: fmt.Sprintf("brig: %s is too large: it does not fit into the limit of "+
			"scratch or inodes\n", source)}
	}
	if slices.ContainsFunc(made, func(f api.File) bool { return f.Name == at.name }) {
		return plan.ArtifactTooLarge(at.name, "it does not fit into the run's limit of scratch or inodes")
	}
	return api.Refuse(api.CodeBadFile,
		"file %q does not fit into the scratch limit: raise limits.scratch or limits.inodes", at.name)
}

func placeInput(box *os.File, f api.File, uid, gid int) (Stamp, error) {
	return placeFile(box, f, 0o644, uid, gid)
}

func placeSealed(box *os.File, f api.File, uid, gid int) (Stamp, error) {
	return placeFile(box, f, 0o444, uid-plan.UID, gid-plan.GID)
}

// placeFile writes a file with a mode, adding the x bits if it is executable.
func placeFile(box *os.File, f api.File, mode uint64, uid, gid int) (Stamp, error) {
	if f.Executable {
		mode |= 0o111
	}

	// When another cell is started meanwhile, the agent forks. The child would hold the file open
	// for writing until its exec, and the run could not execute the file (ETXTBSY; FIO-13).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()

	file, err := linux.OpenBeneath(box, f.Name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, mode)
	if err != nil {
		return Stamp{}, err
	}
	defer file.Close() // before the program starts, or it could not be executed (ETXTBSY; FIO-13)

	if _, err := file.Write(f.Content); err != nil {
		return Stamp{}, err
	}
	if err := errors.Join(unix.Fchown(linux.FD(file), uid, gid), unix.Fchmod(linux.FD(file), uint32(mode))); err != nil {
		return Stamp{}, err
	}

	var st unix.Stat_t
	if err := unix.Fstat(linux.FD(file), &st); err != nil {
		return Stamp{}, err
	}

	st.Mtim.Sec -= placedAgo
	if err := unix.UtimesNanoAt(linux.FD(file), "", []unix.Timespec{st.Mtim, st.Mtim}, unix.AT_EMPTY_PATH); err != nil {
		return Stamp{}, err
	}
	if err := unix.Fstat(linux.FD(file), &st); err != nil { // for ctime, which utimensat has changed
		return Stamp{}, err
	}
	return StampOf(&st), nil
}

func makeDirs(box *os.File, dir string, made map[string]bool, uid, gid int) error {
	if made[dir] {
		return nil
	}
	if err := makeDirs(box, path.Dir(dir), made, uid, gid); err != nil {
		return err
	}

	parent, err := linux.OpenBeneath(box, path.Dir(dir), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer parent.Close()

	base := path.Base(dir)
	if err := unix.Mkdirat(linux.FD(parent), base, 0o755); err != nil {
		return &os.PathError{Op: "mkdirat", Path: dir, Err: err}
	}

	made[dir] = true
	return errors.Join(
		unix.Fchownat(linux.FD(parent), base, uid, gid, unix.AT_SYMLINK_NOFOLLOW),
		unix.Fchmodat(linux.FD(parent), base, 0o755, 0))
}
