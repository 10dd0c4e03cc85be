package problem

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/inputfile"
)

// IsZip reports whether content begins as a zip archive does.
func IsZip(content []byte) bool {
	return bytes.HasPrefix(content, []byte("PK\x03\x04")) || bytes.HasPrefix(content, []byte("PK\x05\x06"))
}

// OpenZip opens the zip archive in content. name is for messages.
func OpenZip(name string, content []byte) (*Tree, error) {
	t, err := openZip(name, bytes.NewReader(content), int64(len(content)), false)
	if err == nil {
		t.close = func() error { return nil }
	}
	return t, err
}

// openZip lists an archive. The sizes that it declares are bounded in total, and a member that
// unpacks to more than it declares is an error when it is read (TestTreesAreBounded).
func openZip(name string, in io.ReaderAt, size int64, tolerant bool) (*Tree, error) {
	z, err := zip.NewReader(in, size)
	head := make([]byte, 4)
	if n, _ := in.ReadAt(head, 0); errors.Is(err, zip.ErrFormat) && IsZip(head[:n]) {
		return nil, fmt.Errorf("%s: %w", name, errIncomplete)
	} else if errors.Is(err, zip.ErrFormat) {
		return nil, fmt.Errorf("%s is no archive that brig reads: make a .zip, .tar, .tar.gz or .tar.zst", name)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}

	t := &Tree{label: name, files: map[string]treeFile{}, tolerant: tolerant}
	if err := t.listZip(z); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// listZip adds the members of an archive.
func (t *Tree) listZip(z *zip.Reader) error {
	if len(z.File) > MaxFiles {
		return fmt.Errorf("there are more than %d files", MaxFiles)
	}

	var links []link
	var total uint64
	for _, f := range z.File {
		written := zipName(f)
		inside := strings.TrimPrefix(strings.ReplaceAll(written, `\`, "/"), "./") // old tools of Windows write backslashes
		if folder, is := strings.CutSuffix(inside, "/"); is || Ignored(inside) {
			if err := t.addFolder(folder); err != nil {
				return err
			}
			continue
		}
		if err := t.checkMember(f, inside, written); err != nil {
			if err := t.refuse(inside, err); err != nil {
				return err
			}
			continue
		}
		if total += f.UncompressedSize64; total > uint64(MaxBytes) {
			return ErrTooLarge
		}

		f.Name = inside
		if f.Mode()&fs.ModeSymlink != 0 {
			target, err := unpack(f)(maxTarget)
			if err != nil {
				if err := t.refuse(inside, err); err != nil {
					return err
				}
				continue
			}
			links = append(links, link{inside, string(target)})
			continue
		}

		if err := t.add(inside,
			treeFile{size: int64(f.UncompressedSize64), executable: f.Mode()&0o111 != 0, read: unpack(f)}); err != nil {
			return err
		}
	}

	// A link may lead to a member further down, so links are resolved last.
	return t.finish(links)
}

// zipName is the name of a member. One that is not UTF-8 is in code page 437, as the format says (APPNOTE, appendix
// D): the Explorer of Windows writes umlauts so.
func zipName(f *zip.File) string {
	if utf8.ValidString(f.Name) {
		return f.Name
	}
	name, err := charmap.CodePage437.NewDecoder().String(f.Name)
	if err != nil { // it has a character for each byte
		return f.Name
	}
	return name
}

// checkMember is an error if a member of this name cannot be read.
func (t *Tree) checkMember(f *zip.File, inside, written string) error {
	maximum := uint64(MaxBytes)
	if t.tolerant {
		maximum = MaxArchive
	}

	switch err := memberName(inside, written); {
	case err != nil:
		return err
	case f.Flags&1 != 0:
		return fmt.Errorf("%q is encrypted: make an archive without a password", inside)
	case f.UncompressedSize64 > maximum && t.tolerant:
		return &inputfile.TooLargeError{Path: inside, Size: api.Size(f.UncompressedSize64).About(), Limit: int64(maximum)}
	case f.UncompressedSize64 > maximum:
		return ErrTooLarge
	}

	return nil
}

// unpack returns the function that reads a member.
func unpack(f *zip.File) func(int64) ([]byte, error) {
	return func(maximum int64) ([]byte, error) {
		if f.UncompressedSize64 > uint64(maximum) {
			return nil, &inputfile.TooLargeError{Path: f.Name, Size: api.Size(f.UncompressedSize64).About(), Limit: maximum}
		}

		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", f.Name, err)
		}

		content, err := io.ReadAll(io.LimitReader(r, maximum+1))
		if int64(len(content)) > maximum {
			err = errors.Join(err,
				&inputfile.TooLargeError{Path: f.Name, Size: "more than " + api.Size(maximum).About(), Limit: maximum})
		}
		if err := errors.Join(err, r.Close()); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", f.Name, err)
		}
		return content, nil
	}
}
