package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Options configure a build.
type Options struct {
	Cache  string    // directory that keeps downloads; empty: nothing is kept
	Mirror string    // source of Debian packages; empty: $BRIG_MIRROR, or the host's own sources
	Log    io.Writer // output of the tools; may be nil

	Step func(string) // called with the current step, from one goroutine at a time; may be nil

	// Room is called once, before anything is downloaded, with bytes that the unpacked image exceeds: it returns an
	// error if there is no room for them. May be nil.
	Room func(atLeast int64) error
}

// Image builds an image from its recipe and writes it to out, as a tar compressed with zstd. The
// same recipe and the same packages give the same bytes.
func Image(ctx context.Context, r Recipe, out io.Writer, o Options) error {
	if o.Mirror == "" {
		o.Mirror = os.Getenv("BRIG_MIRROR")
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	if o.Room == nil {
		o.Room = func(int64) error { return nil }
	}

	// Fast: the archive is usually unpacked immediately and not kept.
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
