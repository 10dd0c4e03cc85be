package oci

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A collection is the files of an OCI layout, or of an archive of docker save.
type collection interface {
	open(name string) (io.ReadCloser, int64, error) // wraps fs.ErrNotExist
}

// A directory is a layout in a directory. No name leads out of it.
type directory struct{ root *os.Root }

func (d directory) open(name string) (io.ReadCloser, int64, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// A tarball is a layout, or an archive of docker save, in an uncompressed tar.
type tarball struct {
	file    io.ReaderAt
	members map[string]section
}

// A section is where a member's content is, or another name for it.
type section struct {
	offset, size int64
	link         string
}

func (t tarball) open(name string) (io.ReadCloser, int64, error) {
	m, ok := t.members[name]
	if ok && m.link != "" { // docker save writes a layer once, and links for its repetitions
		m, ok = t.members[m.link]
	}
	if !ok || m.link != "" {
		return nil, 0, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(io.NewSectionReader(t.file, m.offset, m.size)), m.size, nil
}

// Names that an archive of layers has and that a root file system begins with by no accident.
var layoutName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(blobs(/.*)?|oci-layout|index\.json|manifest\.json|repositories|(sha256:)?[0-9a-f]{64}(\.json|\.tar(\.gz)?|/.*)?)$`)
})

// maxMembers is the most members of an archive of layers.
const maxMembers = 100_000

// openTarball tells an archive of layers from a root file system by its content, and returns nil for
// anything that is no archive of layers. Of a root file system it reads no more than the beginning.
// dir is a directory for a temporary file.
func openTarball(f *os.File, dir string) (collection, error) {
	plain, err := decompressed(io.NopCloser(io.NewSectionReader(f, 0, 1<<62)))
	if err != nil {
		return nil, nil //nolint:nilerr // the agent says what is wrong with it
	}
	defer plain.Close()

	first, err := firstMember(plain)
	if err != nil || !layoutName().MatchString(first) {
		return nil, nil //nolint:nilerr // the same
	}

	file, err := uncompressedFile(f, dir)
	if err != nil {
		return nil, err
	}

	t := tarball{file, map[string]section{}}
	counted := &position{r: io.NewSectionReader(file, 0, 1<<62)}
	r := tar.NewReader(counted)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read archive: %w", err)
		}

		name := path.Clean("/" + h.Name)[1:]
		switch h.Typeflag {
		case tar.TypeReg:
			t.members[name] = section{offset: counted.n, size: h.Size}
		case tar.TypeSymlink, tar.TypeLink:
			to := h.Linkname
			if h.Typeflag == tar.TypeSymlink {
				to = path.Join(path.Dir(name), to)
			}
			t.members[name] = section{link: path.Clean("/" + to)[1:]}
		}

		if len(t.members) > maxMembers {
			return nil, fmt.Errorf("it has more than %d members, and is no archive of layers that brig can read", maxMembers)
		}
	}

	_, layout := t.members["oci-layout"]
	_, index := t.members["index.json"]
	_, saved := t.members["manifest.json"]
	if !(layout && index) && !saved {
		return nil, nil
	}
	return t, nil
}

// A position knows where the next byte is read.
type position struct {
	r io.ReadSeeker
	n int64
}

func (p *position) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.n += int64(n)
	return n, err
}

// Seek lets the tar reader skip contents.
func (p *position) Seek(offset int64, whence int) (int64, error) {
	n, err := p.r.Seek(offset, whence)
	if err == nil {
		p.n = n
	}
	return n, err
}

// firstMember returns the name of the first member that is neither the root nor a global header.
func firstMember(r io.Reader) (string, error) {
	members := tar.NewReader(r)
	for {
		h, err := members.Next()
		if err != nil {
			return "", err
		}
		if name := path.Clean("/" + h.Name)[1:]; name != "" && h.Typeflag != tar.TypeXGlobalHeader {
			return name, nil
		}
	}
}

// uncompressedFile returns f, or a temporary file without a name that has its content uncompressed.
func uncompressedFile(f *os.File, dir string) (*os.File, error) {
	z, err := decompressed(io.NopCloser(io.NewSectionReader(f, 0, 1<<62)))
	if err != nil {
		return nil, err
	}
	defer z.Close()

	if isPlain(z) {
		return f, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}

	tmp, err := os.CreateTemp(dir, "layers-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(tmp.Name()); err != nil {
		return nil, errors.Join(err, tmp.Close())
	}

	n, err := io.Copy(tmp, io.LimitReader(z, maxBlobs+1))
	if err == nil && n > maxBlobs {
		err = fmt.Errorf("it has more than %d GiB uncompressed", maxBlobs>>30)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("decompress archive: %w", err), tmp.Close())
	}
	return tmp, nil
}

// A fileSource is an image in a collection of files.
type fileSource struct{ files collection }

func (s fileSource) read(name string, maximum int64) ([]byte, error) {
	r, _, err := s.files.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("it has no %s: it is incomplete", name)
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readBounded(r, maximum, name)
}

// blobName is where a layout has a blob.
func blobName(digest string) (string, error) {
	h, err := v1.NewHash(digest)
	if err != nil {
		return "", err
	}
	return "blobs/" + h.Algorithm + "/" + h.Hex, nil
}

// errNoImage is the error for a layout or a docker save archive that lists no image.
var errNoImage = errors.New("it lists no image: save one into it")

func severalImages(names []string) error {
	return fmt.Errorf("it has several images: %s; save one alone", strings.Join(names[:min(len(names), 10)], ", "))
}

// manifest returns what index.json names, if that is one thing, and otherwise index.json itself.
func (s fileSource) manifest(_ context.Context, digest string) ([]byte, error) {
	if digest == "" {
		text, err := s.read("index.json", maxManifest)
		if err != nil {
			return nil, err
		}
		if err := checkValues(text, "index.json"); err != nil {
			return nil, err
		}

		all, err := v1.ParseIndexManifest(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("parse index.json: %w", err)
		}

		// Entries with platforms are one image, of which find chooses. Entries without are different images.
		var names []string
		for _, m := range all.Manifests {
			names = append(names, cmp.Or(m.Annotations["org.opencontainers.image.ref.name"], m.Digest.String()))
			if m.Platform != nil {
				names = nil
				break
			}
		}

		switch {
		case len(all.Manifests) == 0:
			return nil, errNoImage
		case len(names) > 1:
			return nil, severalImages(names)
		case len(all.Manifests) != 1:
			return text, nil
		}

		digest = all.Manifests[0].Digest.String()
	}

	// The digest may be one that the archive says. blobName takes only hex, so that it leads to no other
	// file.
	name, err := blobName(digest)
	if err != nil {
		return nil, err
	}

	text, err := s.read(name, maxManifest)
	if err != nil {
		return nil, err
	}
	return text, checkDigest(text, digest, "manifest")
}

func (s fileSource) config(_ context.Context, d descriptor) ([]byte, error) {
	name, err := blobName(d.Digest.String())
	if err != nil {
		return nil, err
	}
	return s.read(name, maxConfig)
}

func (s fileSource) layer(_ context.Context, l Layer) (io.ReadCloser, error) {
	name := l.Blob
	if strings.HasPrefix(name, "sha256:") {
		var err error
		if name, err = blobName(name); err != nil {
			return nil, err
		}
	}
	r, _, err := s.files.open(name)
	return r, err
}

func (fileSource) forget(Layer) error { return nil }

// findIn finds the image in a collection: of a layout, or of docker save before version 25.
func findIn(ctx context.Context, files collection, platform v1.Platform) (source, Image, documents, error) {
	s := fileSource{files}

	// index.json comes first: docker save since version 25 writes both, and a layout names all by digest.
	r, _, err := files.open("index.json")
	if err == nil {
		r.Close()
		read := documents{}
		img, err := find(ctx, recording{s, read}, platform)
		return s, img, read, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, Image{}, nil, err
	}

	text, err := s.read(savedManifest, maxManifest)
	if err != nil {
		return nil, Image{}, nil, err
	}

	saved, err := parseSaved(text)
	if err != nil {
		return nil, Image{}, nil, err
	}

	// All layers are looked for now. An archive that lacks one is refused before a layer of it is stored.
	var layers []Layer
	for _, name := range saved.Layers {
		name = path.Clean(name)
		r, size, err := files.open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, Image{}, nil, fmt.Errorf("it has no layer %s: it is incomplete", name)
		}
		if err != nil {
			return nil, Image{}, nil, err
		}
		r.Close()
		layers = append(layers, Layer{Blob: name, Size: size})
	}

	config, err := s.read(path.Clean(saved.Config), maxConfig)
	if err != nil {
		return nil, Image{}, nil, err
	}

	img, err := describeSaved(text, config, platform)
	if err != nil {
		return nil, Image{}, nil, err
	}

	for i, l := range layers {
		img.Layers[i].Blob, img.Layers[i].Size = l.Blob, l.Size
	}
	return s, img, documents{savedManifest: text, savedConfig: config}, nil
}

// A savedImage is an image in manifest.json.
type savedImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// parseSaved returns the one image of manifest.json.
func parseSaved(text []byte) (savedImage, error) {
	if err := checkValues(text, savedManifest); err != nil {
		return savedImage{}, err
	}

	var saved []savedImage
	if err := json.Unmarshal(text, &saved); err != nil {
		return savedImage{}, fmt.Errorf("parse manifest.json: %w", err)
	}
	if len(saved) == 0 {
		return savedImage{}, errNoImage
	}
	if len(saved) > 1 {
		var names []string
		for _, i := range saved {
			names = slices.Concat(names, i.RepoTags)
		}
		return savedImage{}, severalImages(names)
	}
	if n := len(saved[0].Layers); n > maxLayers {
		return savedImage{}, fmt.Errorf("it has %d layers: the maximum is %d", n, maxLayers)
	}
	return saved[0], nil
}

// digestName matches the name of a configuration that is its digest, as tools write it.
var digestName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:blobs/sha256/|sha256:)?([0-9a-f]{64})(?:\.json)?$`)
})
