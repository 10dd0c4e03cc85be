package problems

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

// ReaderMemory bounds the memory of the process that reads a package.
const ReaderMemory = 384 * api.MiB

// MaxFile bounds the files of one package together, unpacked, and the file that is kept of it.
const MaxFile = 1 * api.GiB

// A stored package is one file, so that a rename replaces it as a whole: the parts that Read wrote, an
// entry in JSON, the entry's length in 8 bytes, and the magic number of this layout.
const (
	magic     = "brigprb1"
	tailSize  = 8 + len(magic)
	maxEntry  = 64 << 10
	maxMemory = 256 << 20 // of the parts that a run has in memory
)

// An entry is what the store knows of a package without reading it.
type entry struct {
	Parts
	Memory int64 `json:"memory"` // bytes that a run of it has in memory
}

// appendEntry appends the entry to the parts.
func appendEntry(f *os.File, e entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	text = append(binary.LittleEndian.AppendUint64(text, uint64(len(text))), magic...)
	_, err = f.WriteAt(text, e.size())
	return err
}

// readEntry reads the entry at the end of a file.
func readEntry(f *os.File) (e entry, err error) {
	info, err := f.Stat()
	if err != nil {
		return e, err
	}

	tail := make([]byte, tailSize)
	if _, err := f.ReadAt(tail, info.Size()-int64(tailSize)); err != nil {
		return e, fmt.Errorf("%w: %w", errDamaged, err)
	}

	n := binary.LittleEndian.Uint64(tail)
	if string(tail[8:]) != magic || n > maxEntry {
		return e, fmt.Errorf("%w, or another version of brig wrote it", errDamaged)
	}

	text := make([]byte, n)
	if _, err := f.ReadAt(text, info.Size()-int64(tailSize)-int64(n)); err != nil {
		return e, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if e.Archive < 0 || e.Contents < 0 || e.Run < 0 || e.Manifest < 0 || e.size()+int64(n)+int64(tailSize) != info.Size() {
		return e, errDamaged
	}

	e.About.Bytes = info.Size()
	return e, nil
}

// A Stored is an open package. It stays what it is while it is replaced or removed.
type Stored struct {
	entry
	file *os.File
}

// About says what the package is, without its manifest.
func (s *Stored) About() api.StoredProblem { return s.entry.About }

// Memory is how many bytes a run of it has in memory.
func (s *Stored) Memory() int64 { return s.entry.Memory }

// Manifest is the package in brig's words, as brig problem show --json prints it.
func (s *Stored) Manifest() (json.RawMessage, error) {
	return s.part(s.Archive+s.Contents+s.Run, s.entry.Manifest)
}

// Problem reads what runs of the package need, except its blobs.
func (s *Stored) Problem() (Problem, error) {
	contents, err := s.part(s.Archive, s.Contents)
	if err != nil {
		return Problem{}, err
	}
	text, err := s.part(s.Archive+s.Contents, s.Run)
	if err != nil {
		return Problem{}, err
	}
	kept, err := readPrepared(text, contents)
	return Problem{kept}, err
}

func (s *Stored) part(at, size int64) ([]byte, error) {
	if size > maxMemory {
		return nil, errDamaged
	}
	b := make([]byte, size)
	_, err := s.file.ReadAt(b, at)
	return b, err
}

// Blob opens a large file of the package.
func (s *Stored) Blob(b Blob) (io.ReadCloser, error) {
	z, err := zip.NewReader(io.NewSectionReader(s.file, 0, s.Archive), s.Archive)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}

	for _, f := range z.File {
		if f.Name != b.File {
			continue
		}
		in, err := f.Open()
		if err != nil || !b.Text {
			return in, err
		}
		text, err := io.ReadAll(in) // the archive is the store's own, and has files that were read whole
		if err := errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
		return io.NopCloser(bytes.NewReader(problem.UnixLines(text))), nil
	}

	return nil, errDamaged
}

// Package is the package itself: what it says, and its files. The caller closes the tree.
func (s *Stored) Package() (*problem.Problem, *problem.Tree, error) {
	text, err := s.Manifest()
	if err != nil {
		return nil, nil, err
	}

	about := new(problem.Problem)
	if err := json.Unmarshal(text, about); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errDamaged, err)
	}

	fd, err := unix.FcntlInt(s.file.Fd(), unix.F_DUPFD_CLOEXEC, 0) // the tree closes its own
	if err != nil {
		return nil, nil, os.NewSyscallError("fcntl", err)
	}

	tree, err := problem.OpenFile(s.entry.About.Name, os.NewFile(uintptr(fd), s.file.Name()), s.Archive)
	return about, tree, err
}

// Close closes the file.
func (s *Stored) Close() error { return s.file.Close() }

// openStored opens a stored package.
func openStored(path string) (*Stored, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	e, err := readEntry(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Stored{e, f}, nil
}
