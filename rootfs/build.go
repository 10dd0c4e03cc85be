package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// BuildOptions are what a build may use of this host.
type BuildOptions struct {
	Cache  string    // directory downloads are kept in; empty: nothing is kept
	Mirror string    // where Debian packages come from; empty: $BRIG_MIRROR, or where this host's come from
	Log    io.Writer // what the tools say; may be nil

	Step func(string) // called with what is being done now, from one goroutine at a time; may be nil
}

// Build makes an image by its recipe and writes it to out, a tar compressed with
// zstd. The same recipe and the same packages give the same bytes.
func Build(ctx context.Context, r Recipe, out io.Writer, o BuildOptions) error {
	if o.Mirror == "" {
		o.Mirror = os.Getenv("BRIG_MIRROR")
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	// Fast: what is made here is most often unpacked at once and never kept.
	z, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	switch r.Kind {
	case "busybox":
		err = buildBusybox(ctx, z)
	case "debian":
		err = buildDebian(ctx, r, z, o)
	default:
		err = fmt.Errorf("kind %q is unknown", r.Kind)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		return fmt.Errorf("build image %s: %w", r.Name, err)
	}
	return nil
}
