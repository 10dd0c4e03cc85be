package problem

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/inputfile"
)

const maxTarget = 4096 // bytes of a link's target

// IsZip reports whether content begins as a zip archive does.
func IsZip(content []byte) bool {
	return bytes.HasPrefix(content, []byte("PK\x03\x04")) || bytes.HasPrefix(content, []byte("PK\x05\x06"))
}

// OpenZip opens the zip archive in content. name is for messages.
func OpenZip(name string, content []byte) (*Tree, error) {
	t, err := openZip(name, bytes.NewReader(content), int64(len(content)))
	if err == nil {
		t.close = func() error { return nil }
	}
	return t, err
}

// openZip lists an archive. The sizes that it declares are bounded in total, and a member that
// unpacks to more than it declares is an error when it is read (TestTreesAreBounded).
func openZip(name string, in io.ReaderAt, size int64) (*Tree, error) {
	z, err := zip.NewReader(in, size)
	if errors.Is(err, zip.ErrFormat) {
		return nil, fmt.Errorf("%s is neither a directory nor a zip archive", name)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t := &Tree{label: name, files: map[string]treeFile{}}
	if len(z.File) > MaxFiles {
		return nil, fmt.Errorf("%s: there are more than %d files", name, MaxFiles)
	}
	var links []*zip.File
	var total uint64
	for _, f := range z.File {
		inside := strings.TrimPrefix(strings.ReplaceAll(f.Name, `\`, "/"), "./") // old tools of Windows write backslashes
		if strings.HasSuffix(inside, "/") || ignored(inside) {
			continue
		}
		if err := api.FileName(inside); err != nil {
			return nil, fmt.Errorf("%s: the archive has a file with the name %q, which is not the name of a file below a directory", name, f.Name)
		}
		f.Name = inside
		if f.Flags&1 != 0 {
			return nil, fmt.Errorf("%s: %q is encrypted: make an archive without a password", name, inside)
		}
		if total += f.UncompressedSize64; f.UncompressedSize64 > uint64(MaxBytes) || total > uint64(MaxBytes) {
			return nil, fmt.Errorf("%s: its files have more than %s unpacked", name, api.Size(MaxBytes))
		}
		if f.Mode()&fs.ModeSymlink != 0 {
			links = append(links, f)
			continue
		}
		if err := t.add(inside, treeFile{size: int64(f.UncompressedSize64), executable: f.Mode()&0o111 != 0, read: unpack(f)}); err != nil {
			return nil, err
		}
	}
	slices.Sort(t.names)
	if err := t.addLinks(links); err != nil {
		return nil, err
	}
	slices.Sort(t.names)
	for _, name := range t.names {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if t.Has(dir) {
				return nil, fmt.Errorf("%s: %q is a file and the directory of %q", t.label, dir, name)
			}
		}
	}
	return t, nil
}

// addLinks adds the links of an archive to its other files: a link to a file is that file, and a link
// to a directory is all files below it.
func (t *Tree) addLinks(links []*zip.File) error {
	added := map[string]treeFile{}
	linkTo := func(name string) treeFile { f := t.files[name]; f.linked = true; return f }
	for _, f := range links {
		text, err := unpack(f)(maxTarget)
		if err != nil {
			return fmt.Errorf("%s: %w", t.label, err)
		}
		target := path.Join(path.Dir(f.Name), string(text))
		outside := path.IsAbs(string(text)) || target == ".." || strings.HasPrefix(target, "../")
		switch below := t.Below(target); {
		case !outside && t.Has(target):
			added[f.Name] = linkTo(target)
		case !outside && target != "." && len(below) > 0 && !strings.HasPrefix(f.Name, target+"/"):
			for _, name := range below {
				added[f.Name+strings.TrimPrefix(name, target)] = linkTo(name)
			}
		default:
			link := f.Name
			added[link] = treeFile{linked: true, broken: string(text), read: func(int64) ([]byte, error) {
				return nil, fmt.Errorf("%s is a link that leads out of the archive, or to a missing file: put the file itself there", link)
			}}
		}
		if len(added)+len(t.names) > MaxFiles {
			return fmt.Errorf("%s: there are more than %d files", t.label, MaxFiles)
		}
	}
	for name, f := range added {
		if err := t.add(name, f); err != nil {
			return err
		}
	}
	return nil
}

// unpack returns the function that reads a member.
func unpack(f *zip.File) func(int64) ([]byte, error) {
	return func(most int64) ([]byte, error) {
		if f.UncompressedSize64 > uint64(most) {
			return nil, &inputfile.TooLargeError{Path: f.Name, Size: api.Size(f.UncompressedSize64).About(), Limit: most}
		}
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", f.Name, err)
		}
		content, err := io.ReadAll(io.LimitReader(r, most+1))
		if int64(len(content)) > most {
			err = errors.Join(err, &inputfile.TooLargeError{Path: f.Name, Size: "more than " + api.Size(most).About(), Limit: most})
		}
		if err := errors.Join(err, r.Close()); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", f.Name, err)
		}
		return content, nil
	}
}
