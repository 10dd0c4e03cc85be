package rootfs

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// A tree's record has one line per member, in the order of a directory walk: the quoted path, then
// the description of describeMember. It is stored next to the tree as the file "record"; its sha256
// is in image.json. It is never in memory as a whole: with names that a hostile package chose it was
// 1 GB of text in the agent (PKG-11, TestRecordsTakeLittleMemory).
const recordName = "record"

// maxRecordLine is more than the longest line has: a path and the target of a link, of 4,095 bytes each,
// of which quoting makes four times as many.
const maxRecordLine = 64 << 10

// walkRecord calls do for each member of the tree below root, with its description and size, by describe.
func walkRecord(ctx context.Context, root string, describe func(path string) (what string, size int64, err error),
	do func(m recorded, size int64) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}

		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}

		what, size, err := describe(path)
		if err != nil {
			return err
		}
		return do(recorded{name, what}, size)
	})
}

// describeMember describes a member: kind and mode, owner, the target of a link, and the size, time
// and sha256 of a file. It reads the file if its sum is not in sums. It follows no links.
func describeMember(path string, sums archive.Sums) (what string, size int64, err error) {
	what, st, err := describeMetadata(path)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return what, 0, err
	}
	if sum, ok := sums[st.Ino]; ok {
		return fmt.Sprintf("%s%x", what, sum), st.Size, nil
	}
	sum, _, err := hashFile(path)
	return what + sum, st.Size, err
}

// describeMetadata is describeMember by lstat(2) alone: the description of a file ends with a blank, without a sum.
func describeMetadata(path string) (what string, st unix.Stat_t, err error) {
	if err := unix.Lstat(path, &st); err != nil {
		return "", st, &os.PathError{Op: "lstat", Path: path, Err: err}
	}

	what = fmt.Sprintf("%06o %d:%d", st.Mode, st.Uid, st.Gid)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		target, err := os.Readlink(path)
		return what + " " + strconv.Quote(target), st, err
	case unix.S_IFREG:
		return fmt.Sprintf("%s %d %d.%09d ", what, st.Size, st.Mtim.Sec, st.Mtim.Nsec), st, nil
	}

	if st.Mode&unix.S_IFMT == unix.S_IFDIR && archive.IsOpaque(path) {
		what += " opaque"
	}
	return what, st, nil // the mode shows any other kind
}

func hashFile(path string) (sum string, size int64, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// record writes the record of the tree in a staging directory. It returns the record's sha256 and size.
func (w *StagingDir) record(ctx context.Context, sums archive.Sums) (sum string, size int64, err error) {
	sum, size, err = w.writeRecord(func(out io.Writer) error {
		return walkRecord(ctx, filepath.Join(w.Path, "root"),
			func(path string) (string, int64, error) { return describeMember(path, sums) },
			func(m recorded, _ int64) error { return m.write(out) })
	})
	if err != nil {
		return "", 0, fmt.Errorf("record image: %w", err)
	}
	return sum, size, nil
}

// writeRecord makes the file of a record, which fill writes.
func (w *StagingDir) writeRecord(fill func(out io.Writer) error) (sum string, size int64, err error) {
	h := sha256.New()
	err = createFile(filepath.Join(w.Path, recordName), func(f io.Writer) error {
		counted := &writeCounter{w: io.MultiWriter(f, h)}
		out := bufio.NewWriterSize(counted, maxRecordLine)
		err := fill(out)
		err = errors.Join(err, out.Flush())
		size = counted.n
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// A writeCounter counts what is written through it.
type writeCounter struct {
	w io.Writer
	n int64
}

func (c *writeCounter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// recorded is one line of a record.
type recorded struct{ name, what string }

func (m recorded) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s %s\n", strconv.Quote(m.name), m.what)
	return err
}

// A recordReader reads the lines of a record.
type recordReader struct {
	f    *os.File
	in   *bufio.Reader
	line recorded
	left bool // line is the next one
}

// openRecord opens the record in dir, whose sha256 must be sum, and reads its first line. The caller
// closes it.
func openRecord(dir, sum string) (_ *recordReader, err error) {
	path := filepath.Join(dir, recordName)
	got, _, err := hashFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && got != sum {
		return nil, ErrNoRecord
	}
	if err != nil {
		return nil, err
	}

	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}

	r := &recordReader{f: f, in: bufio.NewReaderSize(f, maxRecordLine)}
	if err := r.next(); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// next reads the next line; left is false after the last one.
func (r *recordReader) next() error {
	line, err := r.in.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) == 0 {
		r.line, r.left = recorded{}, false
		return nil
	}

	quoted, qerr := strconv.QuotedPrefix(string(line))
	name, uerr := strconv.Unquote(quoted)
	if err = errors.Join(err, qerr, uerr); err != nil {
		return fmt.Errorf("line %.100q of the record: %w", line, err)
	}

	what := string(line[min(len(quoted)+1, len(line)-1) : len(line)-1]) // between the blank and the end of the line
	r.line, r.left = recorded{name, what}, true
	return nil
}

func (r *recordReader) close() error { return r.f.Close() }
