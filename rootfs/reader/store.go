package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/oci"
)

// SpecOf is what the agent stores of an image.
func SpecOf(img oci.Image) api.ImageSpec {
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

// An Agent stores layers and images.
type Agent interface {
	Health(ctx context.Context) (api.Health, error)
	Layers(ctx context.Context) ([]api.Layer, error)
	ImportLayer(ctx context.Context, body io.Reader, diffID string) (api.Layer, error)
	AddImage(ctx context.Context, spec api.ImageSpec, name string) (api.Image, error)
	AbandonLayer(ctx context.Context, digest string) error
}

// A Store stores the layers of one image, and the image.
type Store struct {
	Agent   Agent
	Reader  *Process
	Image   oci.Image
	Resumes bool              // another attempt goes on with what is stored
	Step    func(step string) // shows what is under way

	Stored []api.Layer // by us
	spec   api.ImageSpec
}

// attempts is how often an image is stored of which another command removes layers.
const attempts = 5

// Add stores the image. Of one that is refused nothing stays: neither layers nor downloads. Its
// description is checked before any layer is sent (IMG-45).
func (s *Store) Add(ctx context.Context, name string) (out api.Image, err error) {
	s.spec = SpecOf(s.Image)
	check := rootfs.Spec{Layers: s.spec.Layers, Config: rootfs.Config(s.spec.Config), Origin: rootfs.Origin(s.spec.Origin)}
	if err := check.Check(); err != nil {
		return out, api.Refuse(api.CodeBadRequest, "%w: nothing was stored", err)
	}

	for n := 1; ; n++ {
		if err = s.sendMissing(ctx); err == nil {
			out, err = s.Agent.AddImage(ctx, s.spec, name)
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

		if !s.Resumes || isRefusal(err) {
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
func (s *Store) abandon(ctx context.Context) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer stop()

	refused := make(chan struct{})
	go func() { // ends with the reader
		defer close(refused)
		s.Reader.Refused()
	}()
	var errs []error
	for _, l := range s.Stored {
		if err := s.Agent.AbandonLayer(ctx, l.Digest); err != nil && !api.HasCode(err, api.CodeNoImage) {
			errs = append(errs, fmt.Errorf("remove layer %.19s: %w; brig rootfs gc removes it in an hour", l.Digest, err))
		}
	}

	select {
	case <-refused:
	case <-ctx.Done():
		errs = append(errs, s.Reader.cmd.Process.Kill())
		<-refused
	}

	return errors.Join(errs...)
}

// sendMissing sends the agent the layers that it lacks.
func (s *Store) sendMissing(ctx context.Context) error {
	// The agent is asked in each attempt: another command may have removed a layer meanwhile (IMG-46).
	have, err := s.Agent.Layers(ctx)
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
	for _, l := range s.Image.Layers {
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
	if len(need) == 0 && len(s.Stored) > 0 {
		return nil
	}
	if err := Room(ctx, s.Agent, room); err != nil { // a layer is larger than what is downloaded of it
		return err
	}
	if err := s.Reader.Need(need); err != nil {
		return err
	}

	for i := range need {
		diffID, body, err := s.Reader.Layer()
		if err != nil {
			return err
		}

		s.Step(fmt.Sprintf("layer %d of %d", i+1, len(need)))

		// A manifest says only the compressed size. So what a layer unpacks to is bounded while it is sent.
		limited := &boundedBody{r: body, left: rootfs.MaxImageBytes() - total + tarOverhead}
		l, err := s.Agent.ImportLayer(ctx, limited, diffID)
		if limited.left < 0 {
			err = tooMuch()
		}
		if err != nil {
			return fmt.Errorf("layer %.19s: %w", diffID, err)
		}

		s.Stored = append(s.Stored, l)
		total += l.Size
		if err := checkSum(total); err != nil {
			return err
		}
		if err := s.Reader.Stored(); err != nil {
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
		api.Size(rootfs.MaxImageBytes()).About())
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

// Room refuses what the agent's store has no room for. An agent of an older version does not say how much it has.
func Room(ctx context.Context, a Agent, atLeast int64) error {
	h, err := a.Health(ctx)
	if err != nil {
		return err
	}
	if free := h.ImageRoom; free != nil && *free < atLeast {
		return api.Refuse(api.CodeHostExhausted, "the agent's store has %s free, and the image takes more than %s: "+
			"free some (brig rootfs gc, brig rootfs rm), or give brigd another --data-dir",
			api.Size(*free).About(), api.Size(atLeast).About())
	}
	return nil
}
