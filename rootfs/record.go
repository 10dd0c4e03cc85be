package rootfs

import (
	"bytes"
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
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// A tree's record has one line per member, in the order of a directory walk: the quoted path, then
// the description of describeMember. It is stored next to the tree as the file "record"; its sha256
// is in image.json.
const recordName = "record"

// writeRecord writes the record of the tree below root to w. It calls seen, if not nil, for each
// member. It reads the files whose sum it does not find in sums.
func writeRecord(ctx context.Context, root string, w io.Writer, sums archive.Sums, seen func(size int64)) error {
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
		what, size, err := describeMember(path, sums)
		if err != nil {
			return err
		}
		if seen != nil {
			seen(size)
		}
		_, err = fmt.Fprintf(w, "%s %s\n", strconv.Quote(name), what)
		return err
	})
}

// describeMember describes a member: kind and mode, owner, the target of a link, and the size, time
// and sha256 of a file. It follows no links.
func describeMember(path string, sums archive.Sums) (what string, size int64, err error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return "", 0, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	what = fmt.Sprintf("%06o %d:%d", st.Mode, st.Uid, st.Gid)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		target, err := os.Readlink(path)
		return what + " " + strconv.Quote(target), 0, err
	case unix.S_IFREG:
		if sum, ok := sums[st.Ino]; ok {
			return fmt.Sprintf("%s %d %d.%09d %x", what, st.Size, st.Mtim.Sec, st.Mtim.Nsec, sum), st.Size, nil
		}
		sum, size, err := hashFile(path)
		return fmt.Sprintf("%s %d %d.%09d %s", what, size, st.Mtim.Sec, st.Mtim.Nsec, sum), size, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR && archive.IsOpaque(path) {
		what += " opaque"
	}
	return what, 0, nil // the mode shows any other kind
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

// record writes the record of the tree in a staging directory and returns its sha256.
func (w *StagingDir) record(ctx context.Context, sums archive.Sums) (string, error) {
	var text bytes.Buffer
	if err := writeRecord(ctx, filepath.Join(w.Path, "root"), &text, sums, nil); err != nil {
		return "", fmt.Errorf("record image: %w", err)
	}
	return recordSum(text.Bytes()), writeFile(filepath.Join(w.Path, recordName), text.Bytes())
}

// recordSum returns the sha256 of a record.
func recordSum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}

// parseRecord maps paths to their descriptions in the record.
func parseRecord(text []byte) (map[string]string, error) {
	members := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		quoted, err := strconv.QuotedPrefix(line)
		name, err2 := strconv.Unquote(quoted)
		if err = errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		members[name] = line[len(quoted):]
	}
	return members, nil
}
