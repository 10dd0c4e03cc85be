package images

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/oci"
)

func rootfsPull(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("rootfs pull", `
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
	asJSON := cli.JSONFlag(f)
	return withAgent(c, k, "REFERENCE", func(ctx context.Context, a *caller.Agent) error {
		reference := f.Arg(0)
		derived := *name == ""
		if derived {
			*name = nameFor(reference)
		}
		if err := rootfs.CheckName(*name); err != nil {
			return api.Refuse(api.CodeBadRequest, "%w: choose one with --name", err)
		}
		if err := checkTaken(ctx, c, a, *name, reference, derived); err != nil {
			return err
		}

		_, err := storeLayers(ctx, c, a, oci.Request{Reference: reference, Platform: *platform, Insecure: *insecure},
			nil, *name, "", *asJSON)
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

// checkTaken refuses to give a name that nobody chose to an image of another origin than the one that
// has it: the last parts of example.org/base/debian:12 and of example.org/other/debian:12 are the same
// (IMG-47). For a name that the user chose, it says what it replaces.
func checkTaken(ctx context.Context, c *cli.CLI, a *caller.Agent, name, reference string, derived bool) error {
	full, err := oci.FullReference(reference)
	if err != nil {
		return api.Refuse(api.CodeBadRequest, "%w", err)
	}

	all, err := a.Images(ctx)
	if err != nil {
		return err
	}

	i := slices.IndexFunc(all, func(i api.Image) bool { return slices.Contains(i.Names, name) })
	if i < 0 {
		return nil
	}

	was := all[i].OriginOf(name).Reference
	switch {
	case oci.SameOrigin(was, full):
		return nil
	case derived:
		return api.Refuse(api.CodeBadRequest,
			"%s is the name of the image of %s: choose another with --name, or replace that image with --name %s", name,
			cmp.Or(terminal.OneLine(was), "an import"), name)
	}

	c.Note("%s is the name of the image %.19s of %s: the name now goes to %s", name, all[i].Digest,
		cmp.Or(terminal.OneLine(was), "an import"), full)
	return nil
}

// needsRoot is what the agent would say after the download.
func needsRoot() error {
	if os.Geteuid() == 0 {
		return nil
	}
	return api.Refuse(api.CodeForbidden, "changing images needs root: run the command with sudo")
}

// importFile stores an archive: of layers, or of a root file system.
func importFile(ctx context.Context, c *cli.CLI, a *caller.Agent, from, name, digest, platform string, asJSON bool) error {
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		dir, err := filepath.Abs(from)
		if err != nil {
			return err
		}
		_, err = storeLayers(ctx, c, a, oci.Request{Directory: dir, Platform: platform}, nil, name, digest, asJSON)
		return err
	}

	who, err := c.ImageUser()
	if err != nil {
		return err
	}

	file, info, err := who.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()

	if info.Mode().IsRegular() && os.Geteuid() == 0 {
		if done, err := storeLayers(ctx, c, a, oci.Request{Platform: platform}, file, name, digest,
			asJSON); done || err != nil {
			return err
		}
	}

	return storeArchive(ctx, c, a, file, name, digest, asJSON)
}
