package rootfs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// layerDirs is the content of directories.json: what only AddImage needs of a layer, and may be long.
type layerDirs struct {
	Implied   []string `json:"implied"`   // see archive.Contents
	Whiteouts []string `json:"whiteouts"` // the same
}

// layerDirs reads them for a stored layer.
func (s *Store) layerDirs(hex string) (d layerDirs, err error) {
	text, err := os.ReadFile(s.path("layers", hex, "directories.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return d, fmt.Errorf("%w: sha256:%.12s was stored by another version of brig: import it again, or remove its "+
			"images, run brig rootfs gc, and try again", ErrNoLayer, hex)
	}
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	return d, err
}

// makeTop fills the tree that is to lie above the layers of an image: with what a cell relies on, the
// working directory, and the directories in which whiteouts would show. It returns the number of
// entries, and whether the working directory is one that no program of a cell can see.
func makeTop(ctx context.Context, root *os.File, layers merged, dirs []layerDirs,
	workingDir string) (entries int64, hidden bool, err error) {
	read := func(name string) ([]byte, error) { return layers.readAccounts(ctx, name) }
	if err := archive.FinalizeAbove(root, read); err != nil {
		return 0, false, err
	}

	all := append(merged{root}, layers...)
	var add []string
	start, hidden, err := all.startDir(ctx, workingDir)
	if err != nil {
		return 0, false, err
	}
	if start != "" {
		add = append(add, start)
	}

	lonely, err := all.lonelyWhiteouts(ctx, dirs)
	if err != nil {
		return 0, false, err
	}

	made, err := all.copyDirs(ctx, root, append(add, lonely...))
	return made + fixedPlaces, hidden, err
}

// fixedPlaces is the number of entries that archive.FinalizeAbove makes.
const fixedPlaces = 9

// checkImplied refuses an image in which a layer has members below a name that is no directory in the
// layers below it. Other programs would write them where a link there leads, which a layer that is
// stored once for many images cannot do; an overlay would hide the link with all behind it (IMG-27).
func (m merged) checkImplied(ctx context.Context, digests []string, dirs []layerDirs) error {
	for i, d := range dirs {
		w := m[i+1:].walk(ctx)
		w.ends = func(name string) bool { return isOpaque(m[i], name) } // the layer removes what is there
		for _, name := range d.Implied {
			below, err := w.at(name)
			if err != nil {
				return err
			}
			if below.mode != 0 && !below.is(unix.S_IFDIR) {
				return &archive.UnsafeError{Member: name,
					Reason: fmt.Sprintf("is a directory in layer %.19s, which has no member for it, and a link or a "+
						"file in the layers below: build the image again, with the directory in the layer or the "+
						"files where the link leads", digests[i])}
			}
		}
	}

	return nil
}

// lonelyWhiteouts returns the directories with whiteouts that only one layer shows. For overlayfs such
// a directory is not merged, and it shows the whiteouts: names without a file, on which ls and cp fail
// (IMG-51). In brig's own tree above the layers the directory has a second part, and is merged. dirs
// are those of m[1:].
func (m merged) lonelyWhiteouts(ctx context.Context, dirs []layerDirs) (lonely []string, err error) {
	w := m.walk(ctx)
	for i, d := range dirs {
		for _, name := range d.Whiteouts {
			found, err := w.at(name)
			if err != nil {
				return nil, err
			}
			if found.is(unix.S_IFDIR) && len(found.in) == 1 && found.in[0] == i+1 {
				lonely = append(lonely, name)
			}
		}
	}

	return lonely, nil
}

// copyDirs makes directories in the tree root, m's topmost, with those above them, as they look in m. It
// returns how many.
func (m merged) copyDirs(ctx context.Context, root *os.File, names []string) (int64, error) {
	all := map[string]bool{}
	for _, name := range names {
		for ; name != "." && !all[name]; name = path.Dir(name) {
			all[name] = true
		}
	}

	var dirs []archive.TopDir
	w := m.walk(ctx)
	for name := range all {
		found, err := w.at(name)
		if err != nil {
			return 0, err
		}
		if slices.Contains(found.in, 0) {
			continue // the tree has it
		}
		d := archive.TopDir{Name: name, Mode: 0o755}
		if found.is(unix.S_IFDIR) {
			d.Mode, d.Time = found.mode&0o777, found.time
		}
		dirs = append(dirs, d)
	}

	slices.SortFunc(dirs, func(a, b archive.TopDir) int { return cmp.Compare(a.Name, b.Name) })
	return int64(len(dirs)), archive.MakeTopDirs(ctx, root, dirs)
}

// ownPlaces are the directories over which every cell has mounts of its own.
var ownPlaces = []string{"box", "tmp", "proc", "dev"}

// startDir returns the directory that is to be made for a working directory to exist, without links in
// its name, and nothing if it is there or cannot be made. hidden says that it is below a directory over
// which a cell mounts its own: no program could ever start in it.
func (m merged) startDir(ctx context.Context, dir string) (missing string, hidden bool, err error) {
	if dir == "" || dir == "/" {
		return "", false, nil
	}

	name := ""
	for above := dir; name == ""; above = path.Dir(above) {
		found, err := m.find(ctx, above, true)
		switch {
		case errors.Is(err, unix.ENOENT):
			continue
		case notThere(err):
			return "", false, nil
		case err != nil:
			return "", false, err
		}

		if err := found.close(); err != nil {
			return "", false, err
		}

		name = path.Join(found.name, strings.TrimPrefix(dir, above))
		if above == dir || !found.is(unix.S_IFDIR) {
			break
		}

		missing = name
	}

	place, rest, _ := strings.Cut(name, "/")
	if rest != "" && slices.Contains(ownPlaces, place) {
		return "", true, nil
	}
	return missing, false, nil
}

// checkEtc refuses layers whose /etc is no directory: brig's account files would hide what it is.
func (m merged) checkEtc(ctx context.Context) error {
	found, err := m.find(ctx, "etc", false)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := found.close(); err != nil {
		return err
	}
	if !found.is(unix.S_IFDIR) {
		return &archive.UnsafeError{Member: "etc", Reason: "is no directory"}
	}
	return nil
}

// A walker looks directories up by their real names, without following links, and keeps what it found:
// many names have the same directories above them.
type walker struct {
	ctx   context.Context
	m     merged
	ends  func(name string) bool // nothing is looked up at and below such a name; may be nil
	known map[string]member
}

func (m merged) walk(ctx context.Context) *walker {
	root := member{mode: unix.S_IFDIR}
	for i := range m {
		root.in = append(root.in, i)
	}
	return &walker{ctx: ctx, m: m, known: map[string]member{".": root}}
}

// at returns what m shows at a name, without its file; the zero member if nothing.
func (w *walker) at(name string) (member, error) {
	if found, ok := w.known[name]; ok {
		return found, nil
	}

	above, err := w.at(path.Dir(name))
	if err != nil {
		return member{}, err
	}

	var found member
	if above.is(unix.S_IFDIR) {
		found, err = w.m.child(w.ctx, above, path.Base(name))
		if notThere(err) {
			found, err = member{}, nil
		}
		if err == nil {
			err = found.close()
		}
		if err != nil {
			return member{}, err
		}

		found.file = nil
		if found.mode != 0 && w.ends != nil && w.ends(name) {
			found = member{}
		}
	}

	w.known[name] = found
	return found, nil
}
