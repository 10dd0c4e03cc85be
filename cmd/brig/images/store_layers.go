package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/rootfs/oci"
	"github.com/brig-sandbox/brig/rootfs/reader"
)

// storeLayers has a reader read an image, and stores its layers and then the image. It reports false if
// the file is no archive of layers.
func storeLayers(ctx context.Context, c *cli.CLI, a *caller.Agent, r oci.Request, file *os.File, name, digest string,
	asJSON bool) (ok bool, err error) {
	if err := needsRoot(); err != nil {
		return false, err
	}

	who, err := c.ImageUser()
	if err != nil {
		return false, fmt.Errorf("read image: %w", err)
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	p, err := who.Start(ctx, c.Env, r, file, func(said string) {
		c.Note("the process that reads the image says: %s", said)
	})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()

	what := cmp.Or(r.Reference, name)
	shown := c.Progress("storing " + what)
	defer func() { shown.End() }()

	p.Progress = func(d oci.Amount) {
		shown.SetStep(fmt.Sprintf("%s of %s downloaded", cli.FormatSize(d.Bytes), cli.FormatSize(d.Of)))
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
		c.Note("%s has %d layers of %s together, as they are downloaded", terminal.OneLine(r.Reference), len(img.Layers),
			cli.FormatSize(sizeOf(img)))
	}

	s := &reader.Store{Agent: a, Reader: p, Image: img, Resumes: r.Reference != "", Step: shown.SetStep}
	out, err := s.Add(ctx, name)
	if err != nil {
		return true, fmt.Errorf("%s: %w", what, err)
	}
	if u := img.Run.User; u != "" && !slices.Contains([]string{"root", "0", "1000"}, u) {
		c.Note("the image names %s as its user: brig runs every program as uid 1000", terminal.OneLine(u))
	}
	if dir := reader.SpecOf(img).Config.WorkingDir; dir != "" && out.Config.WorkingDir == "" {
		c.Note("the image names %s as its working directory, "+
			"where a sandbox has files of its own: its commands start in /box", terminal.OneLine(dir))
	}
	if asJSON {
		c.Stdout.Write(cli.Marshal(out))
		return true, nil
	}

	fmt.Fprintf(c.Text(), "stored as %s: %s, %d layers, %d of them new (%s)\n", name, img.Manifest, len(img.Layers),
		len(s.Stored), cli.FormatSize(sumSizes(s.Stored)))
	return true, nil
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

// ReaderCommand is the hidden command of the process that reads.
func ReaderCommand(c *cli.CLI) *cobra.Command {
	k, _ := cli.NewCommand(reader.Command, `
Read an image for brig rootfs pull. It is started by brig alone.`)
	return c.Does(k, func() int { return oci.ChildMain(os.Stdin, os.Stdout) })
}
