package oci

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/brig-sandbox/brig/internal/confine"
)

// A Request says what the child is to read.
type Request struct {
	Reference string `json:"reference,omitempty"` // of an image in a registry
	Directory string `json:"directory,omitempty"` // a layout; without both the file is FileFD
	Platform  string `json:"platform,omitempty"`  // such as linux/arm64; empty: this machine's
	Insecure  bool   `json:"insecure,omitempty"`  // the registry may speak http
	Cache     string `json:"cache"`               // directory for downloads and temporary files

	Env         map[string]string `json:"env,omitempty"`         // for the child: HOME, PATH, proxies
	Credentials []byte            `json:"credentials,omitempty"` // a file of docker or podman; empty: the child's user has them
}

// FileFD is the descriptor of the file that the child reads.
const FileFD = 3

// downloads is how many layers are downloaded at once.
const downloads = 4

// ChildMain is the main function of the process that reads images. It says when it is ready, gets a
// Request, and then the list of the diffIDs that are needed, as JSON on in, and writes frames to out. It
// returns the exit status. Its user is the one that it was started as: its parent must have given up
// root's privileges.
func ChildMain(in, out *os.File) int {
	if confine.Self(confine.Limits{Memory: maxMemory}) != nil { // before it gets a secret (IMG-43)
		return 1
	}

	confine.EndWith(in)
	c := &child{in: json.NewDecoder(in), out: &sender{w: bufio.NewWriterSize(out, 256<<10)},
		keys: authn.DefaultKeychain, timing: patient}
	err := c.out.send(frameReady, nil)
	if err == nil {
		err = c.run(context.Background())
	}
	if err != nil {
		text := err.Error()
		_ = c.out.send(frameError, []byte(text[:min(len(text), 16<<10)])) // nobody is left to tell
		return 1
	}

	return 0
}

type child struct {
	in     *json.Decoder
	out    *sender
	keys   authn.Keychain
	timing timing
}

func (c *child) run(ctx context.Context) error {
	var r Request
	if err := c.in.Decode(&r); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	if err := r.setUp(); err != nil {
		return err
	}

	platform, err := parsePlatform(r.Platform)
	if err != nil {
		return err
	}

	s, img, read, err := c.find(ctx, r, platform)
	if err != nil {
		return err
	}
	if s == nil {
		return c.out.send(framePlain, nil)
	}
	if err := errors.Join(read.send(c.out), c.out.send(frameImage, nil)); err != nil {
		return err
	}

	for {
		var needed []string
		if err := c.in.Decode(&needed); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the needed layers: %w", err)
		}
		if err := c.sendLayers(ctx, s, img, needed); err != nil {
			return err
		}
	}
}

// find finds the image, and the documents that say so.
func (c *child) find(ctx context.Context, r Request, platform v1.Platform) (source, Image, documents, error) {
	switch {
	case r.Reference != "":
		s, err := openRegistry(ctx, r.Reference, r.Insecure, c.keys, &blobCache{r.Cache}, c.timing)
		if err != nil {
			return nil, Image{}, nil, err
		}
		read := documents{}
		img, err := find(ctx, recording{s, read}, platform)
		return s, img, read, err

	case r.Directory != "":
		root, err := os.OpenRoot(r.Directory)
		if err != nil {
			return nil, Image{}, nil, fmt.Errorf("%w: it is read as uid %d", err, os.Getuid())
		}
		if _, err := root.Lstat("index.json"); errors.Is(err, os.ErrNotExist) {
			return nil, Image{}, nil, fmt.Errorf("%s has no index.json: it is no OCI layout", r.Directory)
		}
		return findIn(ctx, directory{root}, platform)
	}

	files, err := openTarball(os.NewFile(FileFD, "archive"), r.Cache)
	if err != nil || files == nil {
		return nil, Image{}, nil, err
	}
	return findIn(ctx, files, platform)
}

// parsePlatform reads os/arch[/variant].
func parsePlatform(text string) (v1.Platform, error) {
	if text == "" {
		text = "linux/" + runtime.GOARCH
	}
	p, err := v1.ParsePlatform(text)
	if err != nil || p.OS == "" || p.Architecture == "" {
		return v1.Platform{}, fmt.Errorf("platform %q: write it as linux/amd64 or linux/arm64/v8", text)
	}
	if p.OS != "linux" {
		return v1.Platform{}, fmt.Errorf("platform %q: brig runs programs of linux", text)
	}
	return *p, nil
}

// sendLayers sends the needed layers in the order of the image, while it downloads the next ones.
func (c *child) sendLayers(ctx context.Context, s source, img Image, needed []string) (err error) {
	var layers []Layer
	var total int64
	for _, l := range img.Layers {
		if slices.Contains(needed, l.DiffID) &&
			!slices.ContainsFunc(layers, func(o Layer) bool { return o.DiffID == l.DiffID }) {
			layers = append(layers, l)
			total += l.Size
		}
	}

	if r, ok := s.(*registry); ok {
		r.expect(total, c.progress())
	}

	ctx, cancel := context.WithCancel(ctx)
	type opened struct {
		r   io.ReadCloser
		err error
	}

	ready := make([]chan opened, len(layers))
	slots := make(chan struct{}, downloads)
	var wg sync.WaitGroup
	for i := range layers {
		ready[i] = make(chan opened, 1)
	}

	wg.Go(func() {
		for i, l := range layers {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				ready[i] <- opened{err: ctx.Err()}
				continue
			}
			wg.Go(func() {
				r, err := s.layer(ctx, l)
				<-slots
				ready[i] <- opened{r, err}
			})
		}
	})

	sent, refused := 0, false
	defer func() {
		cancel()
		wg.Wait()
		for _, l := range layers {
			if refused { // of a refused image nothing stays (IMG-45)
				err = errors.Join(err, s.forget(l))
			}
		}
		for _, w := range ready[sent:] {
			if o := <-w; o.r != nil {
				o.r.Close()
			}
		}
	}()

	for i, l := range layers {
		o := <-ready[i]
		sent = i + 1
		if o.err != nil {
			return o.err
		}
		if err := c.sendLayer(l, o.r); err != nil {
			var damaged *damagedError
			if errors.As(err, &damaged) { // its download is complete, and will not get better
				err = errors.Join(err, s.forget(l))
			}
			return fmt.Errorf("layer %.19s: %w", l.DiffID, err)
		}

		var stored bool
		if err := c.in.Decode(&stored); err != nil {
			return fmt.Errorf("wait for the agent: %w", err)
		}
		if !stored {
			refused = true
			return errRefused
		}
		if err := s.forget(l); err != nil {
			return err
		}
	}

	return nil
}

var errRefused = errors.New("the image is refused")

// A damagedError says that a layer cannot be decompressed.
type damagedError struct{ err error }

func (e *damagedError) Error() string { return "decompress: " + e.err.Error() }
func (e *damagedError) Unwrap() error { return e.err }

func (c *child) sendLayer(l Layer, blob io.ReadCloser) (err error) {
	defer func() { err = errors.Join(err, blob.Close()) }()

	plain, err := decompressed(blob)
	if err != nil {
		return &damagedError{err}
	}
	if err := c.out.send(frameLayer, []byte(l.DiffID)); err != nil {
		return err
	}

	buf := make([]byte, 256<<10)
	for {
		n, err := plain.Read(buf)
		if n > 0 {
			if err := c.out.send(frameData, buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return c.out.send(frameEnd, nil)
		}
		if err != nil {
			return &damagedError{err}
		}
	}
}

// progress returns a function that reports a few times a second.
func (c *child) progress() func(Amount) {
	var mu sync.Mutex
	var last time.Time
	return func(a Amount) {
		mu.Lock()
		report := time.Since(last) > 200*time.Millisecond
		if report {
			last = time.Now()
		}
		mu.Unlock()
		if report {
			_ = c.out.sendJSON(frameProgress, a) // the next frame finds out
		}
	}
}
