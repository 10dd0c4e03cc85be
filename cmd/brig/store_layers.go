package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/oci"
)

// storeLayers has a reader read an image, and stores its layers and then the image. It reports false if
// the file is no archive of layers.
func (c *cli) storeLayers(ctx context.Context, a *caller.Agent, r oci.Request, file *os.File, name, digest string,
	asJSON bool) (ok bool, err error) {
	if err := needsRoot(); err != nil {
		return false, err
	}

	who, err := c.chooseReader()
	if err != nil {
		return false, fmt.Errorf("read image: %w", err)
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	p, err := c.startReader(ctx, who, r, file)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, p.close()) }()

	what := cmp.Or(r.Reference, name)
	shown := c.progress("storing " + what)
	defer func() { shown.end() }()

	p.Progress = func(d oci.Amount) {
		shown.setStep(fmt.Sprintf("%s of %s downloaded", formatSize(d.Bytes), formatSize(d.Of)))
	}
	img, ok, err := p.Image()
	if err != nil {
		return true, fmt.Errorf("%s: %w", what, err)
	}
	if !ok {
		return false, nil
	}
	if digest != "" && digest != img.Manifest {
		return true, api.Refuse(api.CodeBadImage,
			"the digest of its manifest is %s, not %s: nothing was stored", img.Manifest, digest)
	}
	if r.Reference != "" {
		c.note("%s has %d layers of %s together, as they are downloaded", terminal.OneLine(r.Reference), len(img.Layers),
			formatSize(sizeOf(img)))
	}

	s := &layerStore{agent: a, reader: p, shown: shown, img: img, spec: specOf(img), resumes: r.Reference != ""}
	out, err := s.store(ctx, name)
	if err != nil {
		return true, fmt.Errorf("%s: %w", what, err)
	}
	if u := img.Run.User; u != "" && !slices.Contains([]string{"root", "0", "1000"}, u) {
		c.note("the image names %s as its user: brig runs every program as uid 1000", terminal.OneLine(u))
	}
	if dir := s.spec.Config.WorkingDir; dir != "" && out.Config.WorkingDir == "" {
		c.note("the image names %s as its working directory, where a sandbox has files of its own: its commands start in /box", terminal.OneLine(dir))
	}
	if asJSON {
		c.stdout.Write(marshal(out))
		return true, nil
	}

	fmt.Fprintf(c.text(), "stored as %s: %s, %d layers, %d of them new (%s)\n", name, img.Manifest, len(img.Layers),
		len(s.stored), formatSize(sumSizes(s.stored)))
	return true, nil
}

// specOf is what the agent stores of an image.
func specOf(img oci.Image) api.ImageSpec {
	spec := api.ImageSpec{Config: api.ImageConfig(img.Run),
		Origin: api.ImageOrigin{Reference: img.Reference, Manifest: img.Manifest, Config: img.Config, Platform: img.Platform}}
	if spec.Config.WorkingDir != "" {
		spec.Config.WorkingDir = path.Clean("/" + spec.Config.WorkingDir)
	}
	for _, l := range img.Layers {
		spec.Layers = append(spec.Layers, l.DiffID)
	}
	return spec
}

// A layerStore stores the layers of one image, and the image.
type layerStore struct {
	agent   *caller.Agent
	reader  *imageReader
	shown   *progress
	img     oci.Image
	spec    api.ImageSpec
	resumes bool        // another attempt goes on with what is stored
	stored  []api.Layer // by us
}

// attempts is how often an image is stored of which another command removes layers.
const attempts = 5

// store stores the image. Of one that is refused nothing stays: neither layers nor downloads. Its
// description is checked before any layer is sent (IMG-45).
func (s *layerStore) store(ctx context.Context, name string) (out api.Image, err error) {
	check := rootfs.Spec{Layers: s.spec.Layers, Config: rootfs.Config(s.spec.Config), Origin: rootfs.Origin(s.spec.Origin)}
	if err := check.Check(); err != nil {
		return out, api.Refuse(api.CodeBadRequest, "%w: nothing was stored", err)
	}

	for n := 1; ; n++ {
		if err = s.sendMissing(ctx); err == nil {
			out, err = s.agent.AddImage(ctx, s.spec, name)
		}

		switch {
		case err == nil:
			return out, nil
		case !api.HasCode(err, api.CodeNoImage): // another command removed a layer that the agent had (IMG-46)
		case n < attempts:
			continue
		default:
			err = fmt.Errorf("%w; other commands remove its layers: wait until they end (brig rootfs gc, brig rootfs rm)", err)
		}

		if !s.resumes || isRefusal(err) {
			err = errors.Join(err, s.abandon(ctx))
		}
		return out, err
	}
}

// isRefusal reports whether the image will be refused again.
func isRefusal(err error) bool {
	return api.HasCode(err, api.CodeBadImage) || api.HasCode(err, api.CodeBadRequest) || api.HasCode(err, api.CodeTooLarge)
}

// abandon removes what was stored of a refused image.
func (s *layerStore) abandon(ctx context.Context) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer stop()

	refused := make(chan struct{})
	go func() { // ends with the reader
		defer close(refused)
		s.reader.Refused()
	}()
	var errs []error
	for _, l := range s.stored {
		if err := s.agent.AbandonLayer(ctx, l.Digest); err != nil && !api.HasCode(err, api.CodeNoImage) {
			errs = append(errs, fmt.Errorf("remove layer %.19s: %w; brig rootfs gc removes it in an hour", l.Digest, err))
		}
	}

	select {
	case <-refused:
	case <-ctx.Done():
		errs = append(errs, s.reader.cmd.Process.Kill())
		<-refused
	}

	return errors.Join(errs...)
}

// sendMissing sends the agent the layers that it lacks.
func (s *layerStore) sendMissing(ctx context.Context) error {
	have, err := s.agent.Layers(ctx)
	if err != nil {
		return err
	}

	known := map[string]int64{}
	for _, l := range have {
		known[l.Digest] = l.Size
	}

	need := []string{}
	var total, room int64
	seen := map[string]bool{}
	for _, l := range s.img.Layers {
		size, ok := known[l.DiffID]
		if !ok && !seen[l.DiffID] {
			need = append(need, l.DiffID)
			room += l.Size
		}
		if !seen[l.DiffID] {
			total += size
		}
		seen[l.DiffID] = true
	}

	if err := checkSum(total); err != nil {
		return err
	}
	if len(need) == 0 && len(s.stored) > 0 {
		return nil
	}
	if err := storeRoom(ctx, s.agent, room); err != nil { // a layer is larger than what is downloaded of it
		return err
	}
	if err := s.reader.Need(need); err != nil {
		return err
	}

	for i := range need {
		diffID, body, err := s.reader.Layer()
		if err != nil {
			return err
		}

		s.shown.setStep(fmt.Sprintf("layer %d of %d", i+1, len(need)))
		limited := &boundedBody{r: body, left: rootfs.MaxImageBytes() - total + tarOverhead}
		l, err := s.agent.ImportLayer(ctx, limited, diffID)
		if limited.left < 0 {
			err = tooMuch()
		}
		if err != nil {
			return fmt.Errorf("layer %.19s: %w", diffID, err)
		}

		s.stored = append(s.stored, l)
		total += l.Size
		if err := checkSum(total); err != nil {
			return err
		}
		if err := s.reader.Stored(); err != nil {
			return err
		}
	}

	return nil
}

// checkSum bounds the layers of an image together while they are stored. Each has a bound of its own,
// and 128 of those are a terabyte (IMG-45).
func checkSum(total int64) error {
	if total > rootfs.MaxImageBytes() {
		return tooMuch()
	}
	return nil
}

func tooMuch() error {
	return api.Refuse(api.CodeBadImage, "its layers have more than %s together: nothing was stored",
		formatSize(rootfs.MaxImageBytes()))
}

// tarOverhead is what a tar has in addition to the contents of a million files.
const tarOverhead = 2 << 30

// A boundedBody fails after a number of bytes.
type boundedBody struct {
	r    io.Reader
	left int64 // negative: there were more
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, tooMuch()
	}
	return n, err
}

// sizeOf is the size of all layers of an image as a registry has them.
func sizeOf(img oci.Image) (n int64) {
	for _, l := range img.Layers {
		n += l.Size
	}
	return n
}

func sumSizes(layers []api.Layer) (n int64) {
	for _, l := range layers {
		n += l.Size
	}
	return n
}
