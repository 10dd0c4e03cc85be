package rootfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// A Config is what an image says about running it. brig honours all but the user.
type Config struct {
	Env        []string `json:"env,omitempty"` // NAME=VALUE
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	WorkingDir string   `json:"working_dir,omitempty"` // absolute; empty: none
	User       string   `json:"user,omitempty"`        // told and not followed: every program is uid 1000
}

// Command returns the command that the image runs when its user names none.
func (c Config) Command() []string { return slices.Concat(c.Entrypoint, c.Cmd) }

// An Origin says where an image of layers came from. It decides nothing.
type Origin struct {
	Reference string `json:"reference,omitempty"`
	Manifest  string `json:"manifest,omitempty"` // digest
	Config    string `json:"config,omitempty"`   // digest
	Platform  string `json:"platform,omitempty"` // such as linux/amd64
}

// A Spec describes an image of layers to be stored.
type Spec struct {
	Layers []string `json:"layers"` // digests, lowest first
	Config Config   `json:"config"`
	Origin Origin   `json:"origin"`
}

// ErrSpec is wrapped by the error for a Spec with a value that is not allowed.
var ErrSpec = errors.New("invalid image")

// Bounds of a Config. A run can have no more (api.MaxArgBytes, api.MaxEnv, api.MaxArgv).
const (
	maxConfigBytes = 24 << 10
	maxConfigWords = 512
)

// Check refuses values that a run could not use (IMG-32).
func (d Spec) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrSpec, fmt.Sprintf(format, args...))
	}
	if len(d.Layers) == 0 {
		return bad("it has no layers")
	}
	if len(d.Layers) > MaxLayers {
		return bad("it has %d layers: the most is %d", len(d.Layers), MaxLayers)
	}
	for _, l := range d.Layers {
		if _, err := ParseDigest(l); err != nil {
			return bad("%v", err)
		}
	}
	c, bytes := d.Config, 0
	words := slices.Concat(c.Env, c.Entrypoint, c.Cmd, []string{c.WorkingDir, c.User, d.Origin.Reference, d.Origin.Manifest, d.Origin.Config, d.Origin.Platform})
	for _, w := range words {
		bytes += len(w) + 1
		if strings.IndexByte(w, 0) >= 0 {
			return bad("its configuration has a NUL in %.80q", w)
		}
	}
	switch {
	case len(words) > maxConfigWords:
		return bad("its environment and command have %d words: the most is %d", len(words), maxConfigWords)
	case bytes > maxConfigBytes:
		return bad("its environment and command have %d bytes: the most is %d", bytes, maxConfigBytes)
	case len(c.Command()) > 0 && c.Command()[0] == "":
		return bad("its command begins with an empty word")
	case c.WorkingDir != "" && (!path.IsAbs(c.WorkingDir) || path.Clean(c.WorkingDir) != c.WorkingDir || len(c.WorkingDir) >= unix.PathMax):
		return bad("its working directory is %.80q: it must be an absolute path without empty parts, . and ..", c.WorkingDir)
	}
	for _, e := range c.Env {
		if i := strings.IndexByte(e, '='); i <= 0 {
			return bad("its environment has %.80q, which is not NAME=VALUE", e)
		}
	}
	return nil
}

// digest returns the image's digest: of its layers and its configuration, wherever it came from.
func (d Spec) digest() string {
	d.Origin = Origin{}
	text, err := json.Marshal(d)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	s := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(s[:])
}

// AddImage stores an image of layers that the store has. name may be empty. The error wraps ErrNoLayer
// if a layer is missing, ErrSpec for values that are not allowed, and *archive.UnsafeError if the
// layers do not fit together.
func (s *Store) AddImage(ctx context.Context, d Spec, name string) (Image, error) {
	if name != "" {
		if err := CheckName(name); err != nil {
			return Image{}, err
		}
	}
	if err := d.Check(); err != nil {
		return Image{}, err
	}
	if err := s.checkLayers(d.Layers); err != nil {
		return Image{}, err
	}
	staging, err := s.newStagingDir()
	if err != nil {
		return Image{}, err
	}
	img, err := s.addInto(ctx, staging, d, name)
	if err == nil {
		s.holds.end(d.Layers)
	}
	return img, errors.Join(s.removedMeanwhile(d, err), staging.Close())
}

func (s *Store) addInto(ctx context.Context, staging *StagingDir, d Spec, name string) (_ Image, err error) {
	meta := imageMeta{Digest: d.digest(), Imported: time.Now().UTC(), Config: &d.Config, Origin: &d.Origin}
	if meta.Layers, err = s.visible(d.Layers); err != nil {
		return Image{}, err
	}
	var paths []string // topmost first
	var metas []layerMeta
	for _, digest := range slices.Backward(meta.Layers) {
		hex := strings.TrimPrefix(digest, "sha256:")
		l, err := readLayerMeta(s.path("layers", hex), hex)
		if err != nil {
			return Image{}, err
		}
		meta.Size, meta.Entries = meta.Size+l.Size, meta.Entries+l.Entries
		paths, metas = append(paths, s.path("layers", hex, "root")), append(metas, l)
	}
	if most := (archive.Bounds{}).WithDefaults(); meta.Size > most.Bytes || meta.Entries > most.Entries {
		return Image{}, fmt.Errorf("%w: its layers have %d files of %d bytes together: the most is %d and %d", archive.ErrTooLarge, meta.Entries, meta.Size, most.Entries, most.Bytes)
	}
	layers, err := openMerged(paths)
	if err != nil {
		return Image{}, err
	}
	defer func() { err = errors.Join(err, layers.Close()) }()
	if err := layers.checkImplied(metas); err != nil {
		return Image{}, err
	}
	root, err := staging.mkdir("root")
	if err != nil {
		return Image{}, err
	}
	defer root.Close()
	dir, err := layers.missingDir(d.Config.WorkingDir)
	if err != nil {
		return Image{}, err
	}
	if err := layers.checkEtc(); err != nil {
		return Image{}, err
	}
	if err := archive.FinalizeAbove(root, layers.readAccounts, dir); err != nil {
		return Image{}, err
	}
	meta.Entries += maxFixedPlaces
	if meta.Record, err = staging.record(ctx, nil); err != nil {
		return Image{}, err
	}
	if err := s.keepOrigins(&meta, name); err != nil {
		return Image{}, err
	}
	if err := staging.writeMeta(meta); err != nil {
		return Image{}, err
	}
	if err := unix.Syncfs(int(root.Fd())); err != nil {
		return Image{}, fmt.Errorf("write image to disk: %w", err)
	}
	damaged, err := s.damaged(ctx, meta.Digest)
	if err != nil {
		return Image{}, err
	}
	img, err := s.publish(staging, meta, name, damaged)
	img.Replaced = damaged && err == nil
	return img, err
}

// maxFixedPlaces is the most entries that brig's own tree has above the layers: the fixed places, the
// account files, and a working directory.
const maxFixedPlaces = 16 + 128

// checkImplied refuses an image in which a layer has members below a name that is no directory in the
// layers below it. Other programs would write them where a link there leads, which a layer that is
// stored once for many images cannot do; an overlay would hide the link with all behind it (IMG-27).
func (m merged) checkImplied(metas []layerMeta) error {
	for i, l := range metas {
		for _, name := range l.Implied {
			hidden, err := m.hides(i, name)
			if err != nil {
				return err
			}
			if hidden {
				return &archive.UnsafeError{Member: name, Reason: fmt.Sprintf("is a directory in layer %.19s, which has no member for it, and a link or a file in the layers below: build the image again, with the directory in the layer or the files where the link leads", l.Digest)}
			}
		}
	}
	return nil
}

// hides reports whether the directory name of tree i takes the place of something else that the trees
// below show there.
func (m merged) hides(i int, name string) (bool, error) {
	below := m[i+1:]
	at := member{mode: unix.S_IFDIR}
	for k := range below {
		at.in = append(at.in, k)
	}
	for part := range strings.SplitSeq(name, "/") {
		next, err := below.child(at, part)
		if errors.Is(err, unix.ENOENT) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if err := next.close(); err != nil {
			return false, err
		}
		switch {
		case isOpaque(m[i], next.name): // the tree removes what is there
			return false, nil
		case !next.is(unix.S_IFDIR):
			return next.name == name, nil // one above it is found by its own name
		}
		at = next
	}
	return false, nil
}

// missingDir returns the part of the working directory that is to be made, and nothing if it is there
// or cannot be made.
func (m merged) missingDir(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	found, err := m.find(dir, true)
	if err == nil {
		return "", found.close()
	}
	if !errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	above := path.Dir(dir)
	for ; above != "/"; above = path.Dir(above) {
		found, err := m.find(above, true)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil || !found.is(unix.S_IFDIR) {
			return "", errors.Join(err, found.close())
		}
		return path.Join(found.name, strings.TrimPrefix(dir, above)), found.close()
	}
	return strings.TrimPrefix(dir, "/"), nil
}

// checkEtc refuses layers whose /etc is no directory: brig's account files would hide what it is.
func (m merged) checkEtc() error {
	found, err := m.find("etc", false)
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

// updateOrigin records where a stored image came from this time, for the name that it gets. Its other
// names keep their origin.
func (s *Store) updateOrigin(hex, name string, o Origin) error {
	meta, err := s.readMeta(hex)
	if err != nil || name == "" || meta.Origins[name] == o {
		return err
	}
	meta.Origins = withOrigin(meta.Origins, name, o)
	w, err := MakeStagingDir(s.path("work"), "")
	if err != nil {
		return err
	}
	err = w.writeMeta(meta)
	if err == nil {
		err = os.Rename(w.Path+"/image.json", s.path("images", hex, "image.json"))
	}
	if err == nil {
		now := time.Now()
		err = errors.Join(syncDir(s.path("images", hex)), os.Chtimes(s.path("images"), now, now)) // see storeState
	}
	return errors.Join(err, w.Close())
}

// withOrigin returns origins with that of a name.
func withOrigin(origins map[string]Origin, name string, o Origin) map[string]Origin {
	all := maps.Clone(origins)
	if all == nil {
		all = map[string]Origin{}
	}
	all[name] = o
	return all
}

// keepOrigins adds the origins that a stored image has, which this one may replace, to that of name.
func (s *Store) keepOrigins(meta *imageMeta, name string) error {
	hex, err := ParseDigest(meta.Digest)
	if err != nil {
		return err
	}
	now := *meta.Origin
	if old, err := s.readMeta(hex); err == nil && old.Origin != nil {
		meta.Origin, meta.Origins = old.Origin, old.Origins
	}
	if name != "" {
		meta.Origins = withOrigin(meta.Origins, name, now)
	}
	return nil
}
