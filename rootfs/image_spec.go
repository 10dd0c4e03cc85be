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

	"github.com/brig-sandbox/brig/internal/durable"
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
		return bad("it has %d layers: the maximum is %d", len(d.Layers), MaxLayers)
	}

	for _, l := range d.Layers {
		if _, err := ParseDigest(l); err != nil {
			return bad("%v", err)
		}
	}

	c, bytes := d.Config, 0
	words := slices.Concat(c.Env, c.Entrypoint, c.Cmd,
		[]string{c.WorkingDir, c.User, d.Origin.Reference, d.Origin.Manifest, d.Origin.Config, d.Origin.Platform})

	// The kernel takes arguments and paths as strings of C, which a NUL would end early.
	for _, w := range words {
		bytes += len(w) + 1
		if strings.IndexByte(w, 0) >= 0 {
			return bad("its configuration has a NUL in %.80q", w)
		}
	}

	switch {
	case len(words) > maxConfigWords:
		return bad("its environment and command have %d words: the maximum is %d", len(words), maxConfigWords)
	case bytes > maxConfigBytes:
		return bad("its environment and command have %d bytes: the maximum is %d", bytes, maxConfigBytes)
	case len(c.Command()) > 0 && c.Command()[0] == "":
		return bad("its command begins with an empty word")
	case c.WorkingDir != "" &&
		(!path.IsAbs(c.WorkingDir) || path.Clean(c.WorkingDir) != c.WorkingDir ||
			strings.Count(c.WorkingDir, "/") > maxParts/2 || len(c.WorkingDir) >= unix.PathMax):
		return bad("its working directory is %.80q: it must be an absolute path of at most %d parts, without empty "+
			"ones, . and ..", c.WorkingDir, maxParts/2)
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

	maximum := (archive.Bounds{}).WithDefaults().Time
	ctx, cancel := context.WithTimeoutCause(ctx, maximum,
		fmt.Errorf("%w: putting its layers together took longer than %v", archive.ErrTooLarge, maximum))
	defer cancel()

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

	var paths, digests []string // topmost first
	var dirs []layerDirs        // the same
	for _, digest := range slices.Backward(meta.Layers) {
		hex := strings.TrimPrefix(digest, "sha256:")
		l, err := readLayerMeta(s.path("layers", hex), hex)
		if err != nil {
			return Image{}, err
		}
		ld, err := s.layerDirs(hex)
		if err != nil {
			return Image{}, err
		}
		meta.Size, meta.Entries = meta.Size+l.Size, meta.Entries+l.Entries
		paths, digests, dirs = append(paths, s.path("layers", hex, "root")), append(digests, digest), append(dirs, ld)
	}

	if err := meta.checkSize(); err != nil {
		return Image{}, err
	}

	layers, err := openMerged(paths)
	if err != nil {
		return Image{}, err
	}
	defer func() { err = errors.Join(err, layers.Close()) }()

	if err := layers.checkImplied(ctx, digests, dirs); err != nil {
		return Image{}, err
	}
	if err := layers.checkEtc(ctx); err != nil {
		return Image{}, err
	}

	root, err := staging.mkdir("root")
	if err != nil {
		return Image{}, err
	}
	defer root.Close()

	own, hidden, err := makeTop(ctx, root, layers, dirs, d.Config.WorkingDir)
	if err != nil {
		return Image{}, err
	}
	if hidden { // commands start in /box, as without a working directory
		d.Config.WorkingDir = ""
	}

	meta.Size, meta.Entries = meta.Size+own*archive.DirBytes, meta.Entries+own
	if err := meta.checkSize(); err != nil {
		return Image{}, err
	}
	if meta.Record, _, err = staging.record(ctx, nil); err != nil {
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

// checkSize refuses layers that are small enough one by one, and not together.
func (m imageMeta) checkSize() error {
	if maximum := (archive.Bounds{}).WithDefaults(); m.Size > maximum.Bytes || m.Entries > maximum.Entries {
		return fmt.Errorf("%w: its layers have %d files of %d bytes together: the maximum is %d and %d", archive.ErrTooLarge,
			m.Entries, m.Size, maximum.Entries, maximum.Bytes)
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
		err = errors.Join(durable.SyncDir(s.path("images", hex)), os.Chtimes(s.path("images"), now, now)) // see storeState
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
