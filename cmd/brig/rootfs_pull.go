package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/oci"
)

func rootfsPull(c *cli) *cobra.Command {
	k, f := newCommand("rootfs pull", `
Store an image from a registry. Layers that are stored already are not fetched again, and
a download that was interrupted goes on where it stopped. An unprivileged process reads
the registry: as the user who called sudo, with that user's credentials (docker login,
podman login), or as a user of its own with root's.

Usage:
  brig rootfs pull REFERENCE [--name NAME] [--platform OS/ARCH] [--insecure]

Examples:
  sudo brig rootfs pull debian:12
  sudo brig rootfs pull ghcr.io/org/tool@sha256:... --name tool
  brig run --rootfs debian:12 -- cat /etc/debian_version`)
	name := f.String("name", "", "`NAME` to store it under (default: the last part of REFERENCE with its tag)")
	platform := f.String("platform", "", "`OS/ARCH` of the image (default: this machine's)")
	insecure := f.Bool("insecure", false, "the registry may speak http")
	asJSON := f.Bool("json", false, "print JSON")
	return c.withAgent(k, "REFERENCE", func(ctx context.Context, a *agentHandle) error {
		reference := f.Arg(0)
		if *name == "" {
			*name = nameFor(reference)
		}
		if err := rootfs.CheckName(*name); err != nil {
			return api.Refuse(api.CodeBadRequest, "%w: choose one with --name", err)
		}
		_, err := c.storeLayers(ctx, a, oci.Request{Reference: reference, Platform: *platform, Insecure: *insecure}, nil, *name, "", *asJSON)
		return err
	})
}

// nameFor returns the name under which an image is stored by default. It always has a tag: python would
// be the image of a language.
func nameFor(reference string) string {
	rest, digest, _ := strings.Cut(reference, "@")
	base := path.Base(rest)
	switch _, tagged, ok := strings.Cut(base, ":"); {
	case ok && tagged != "":
		return strings.ToLower(base)
	case digest != "":
		hex := strings.TrimPrefix(digest, "sha256:")
		return base + ":" + hex[:min(len(hex), 12)]
	}
	return base + ":latest"
}

// needsRoot is what the agent would say after the download.
func needsRoot() error {
	if os.Geteuid() == 0 {
		return nil
	}
	return api.Refuse(api.CodeForbidden, "changing images needs root: run the command with sudo")
}

// storeLayers has a reader read an image, and stores its layers and then the image. It reports false if
// the file is no archive of layers.
func (c *cli) storeLayers(ctx context.Context, a *agentHandle, r oci.Request, file *os.File, name, digest string, asJSON bool) (ok bool, err error) {
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
	what := orDefault(r.Reference, name)
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
		return true, api.Refuse(api.CodeBadImage, "the digest of its manifest is %s, not %s: nothing was stored", img.Manifest, digest)
	}
	stored, err := c.sendMissing(ctx, a, p, img, shown)
	if err != nil {
		return true, fmt.Errorf("%s: %w", what, err)
	}
	spec := api.ImageSpec{Config: api.ImageConfig(img.Run), Origin: api.ImageOrigin{Reference: img.Reference, Manifest: img.Manifest, Config: img.Config, Platform: img.Platform}}
	if spec.Config.WorkingDir != "" {
		spec.Config.WorkingDir = path.Clean("/" + spec.Config.WorkingDir)
	}
	for _, l := range img.Layers {
		spec.Layers = append(spec.Layers, l.DiffID)
	}
	out, err := a.AddImage(ctx, spec, name)
	if err != nil {
		return true, err
	}
	if u := img.Run.User; u != "" && !slices.Contains([]string{"root", "0", "1000"}, u) {
		c.note("the image names %s as its user: brig runs every program as uid 1000", oneLine(u))
	}
	if asJSON {
		c.stdout.Write(marshal(out))
		return true, nil
	}
	fmt.Fprintf(c.text(), "stored as %s: %s, %d layers, %d of them new (%s)\n", name, img.Manifest, len(img.Layers), len(stored), formatSize(sumSizes(stored)))
	return true, nil
}

// sendMissing sends the agent the layers that it lacks, and returns them.
func (c *cli) sendMissing(ctx context.Context, a *agentHandle, p *imageReader, img oci.Image, shown *progress) (stored []api.Layer, err error) {
	have, err := a.Layers(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, l := range have {
		known[l.Digest] = true
	}
	need := []string{}
	for _, l := range img.Layers {
		if !known[l.DiffID] {
			known[l.DiffID] = true
			need = append(need, l.DiffID)
		}
	}
	if err := p.Need(need); err != nil {
		return nil, err
	}
	for i := range need {
		diffID, body, err := p.Layer()
		if err != nil {
			return stored, err
		}
		shown.setStep(fmt.Sprintf("layer %d of %d", i+1, len(need)))
		l, err := a.ImportLayer(ctx, body, diffID)
		if err != nil {
			return stored, fmt.Errorf("layer %.19s: %w", diffID, err)
		}
		stored = append(stored, l)
		if err := p.Stored(); err != nil {
			return stored, err
		}
	}
	return stored, nil
}

func sumSizes(layers []api.Layer) (n int64) {
	for _, l := range layers {
		n += l.Size
	}
	return n
}

// importFile stores an archive: of layers, or of a root file system.
func (c *cli) importFile(ctx context.Context, a *agentHandle, from, name, digest, platform string, asJSON bool) error {
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		dir, err := filepath.Abs(from)
		if err != nil {
			return err
		}
		_, err = c.storeLayers(ctx, a, oci.Request{Directory: dir, Platform: platform}, nil, name, digest, asJSON)
		return err
	}
	who, err := c.chooseReader()
	if err != nil {
		return err
	}
	file, info, err := who.openFor(from)
	if err != nil {
		return err
	}
	defer file.Close()
	if info.Mode().IsRegular() && os.Geteuid() == 0 {
		if done, err := c.storeLayers(ctx, a, oci.Request{Platform: platform}, file, name, digest, asJSON); done || err != nil {
			return err
		}
	}
	return c.store(ctx, a, file, name, digest, asJSON)
}
