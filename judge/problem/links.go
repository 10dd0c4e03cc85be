package problem

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

const maxTarget = 4096 // bytes of a link's target

// A link is a symbolic link in an archive.
type link struct{ name, target string }

// memberName checks the name of an archive's member; written is how the archive writes it.
func memberName(name, written string) error {
	if err := api.FileName(name); err != nil {
		return fmt.Errorf("the archive has a file with the name %q, which is not the name of a file below a directory",
			written)
	}
	return nil
}

// finish adds the links of an archive whose other files are in the tree, and checks the names.
func (t *Tree) finish(links []link) error {
	slices.Sort(t.names)
	if err := t.addLinks(links); err != nil {
		return err
	}

	slices.Sort(t.names)

	for _, name := range t.names { // not each directory of each: names may have hundreds of them
		below := t.Below(name)
		if len(below) == 0 {
			continue
		}
		err := fmt.Errorf("%q is a file and the directory of %q", name, below[0])
		if !t.tolerant {
			return err
		}
		t.files[name] = treeFile{read: func(int64) ([]byte, error) { return nil, err }}
	}

	return nil
}

// addLinks adds the links of an archive to its other files: a link to a file is that file, and a link
// to a directory is all files below it. A tolerant tree has a link as a file.
func (t *Tree) addLinks(links []link) error {
	added := map[string]treeFile{}
	linkTo := func(name string) treeFile { f := t.files[name]; f.linked = true; return f }
	for _, l := range links {
		target := path.Join(path.Dir(l.name), l.target)
		outside := path.IsAbs(l.target) || target == ".." || strings.HasPrefix(target, "../")
		switch below := t.Below(target); {
		case t.tolerant:
			added[l.name] = treeFile{linked: true,
				read: func(int64) ([]byte, error) { return nil, fmt.Errorf("%s is a link", l.name) }}
		case !outside && t.Has(target):
			added[l.name] = linkTo(target)
		case !outside && target != "." && len(below) > 0 && !strings.HasPrefix(l.name, target+"/"):
			for _, name := range below {
				added[l.name+strings.TrimPrefix(name, target)] = linkTo(name)
			}
		default:
			added[l.name] = treeFile{linked: true, broken: l.target, read: func(int64) ([]byte, error) {
				return nil, fmt.Errorf("%s is a link that leads out of the archive, or to a missing file: put the "+
					"file itself there", l.name)
			}}
		}

		if len(added)+len(t.names) > MaxFiles {
			return fmt.Errorf("there are more than %d files", MaxFiles)
		}
	}

	for name, f := range added {
		if err := t.add(name, f); err != nil {
			return err
		}
	}

	return nil
}
