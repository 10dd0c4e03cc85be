package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

const rootfsUsage = `
Manage the images that programs run in. An image comes from a tarball (.tar, .tar.gz,
.tar.zst or .tar.xz), from a registry, or from an archive of layers such as docker save
makes. It is stored unpacked under a name and its digest.

Usage:
  brig rootfs build NAME           build an image from its recipe and store it
  brig rootfs pull REFERENCE       store an image from a registry
  brig rootfs import FILE --name N store a tarball, or an archive of layers
  brig rootfs ls                   list the stored images
  brig rootfs show NAME|DIGEST     show what is known of an image
  brig rootfs rm NAME|DIGEST       remove a name, and with its last name the image
  brig rootfs verify [NAME...]     compare stored images with what was imported
  brig rootfs gc                   remove images without a name

Examples:
  sudo brig rootfs build python
  sudo brig rootfs pull debian:12
  sudo brig rootfs import alpine.tar.gz --name alpine
  brig rootfs ls --json`

func rootfsCommand(c *cli) *cobra.Command {
	return c.group("rootfs", rootfsUsage, []command{
		{name: "build", make: rootfsBuild},
		{name: "pull", make: rootfsPull},
		{name: "import", make: rootfsImport},
		{name: "ls", make: rootfsList},
		{name: "show", make: rootfsShow},
		{name: "rm", make: rootfsRemove},
		{name: "verify", make: rootfsVerify},
		{name: "gc", make: rootfsClean},
	})
}

// withAgent makes a command that takes the arguments named in words and calls the agent.
func (c *cli) withAgent(k *cobra.Command, words string,
	do func(ctx context.Context, a *caller.Agent) error) *cobra.Command {
	f := k.Flags()
	socket := socketFlag(f)
	return c.does(k, func() int {
		if want := len(strings.Fields(words)); f.NArg() != want {
			return c.hint(f.Name(), fmt.Errorf("brig %s needs %s", f.Name(), cmp.Or(words, "no argument")))
		}

		agent, err := c.connect(*socket)
		if err != nil {
			return c.fail(err)
		}

		ctx, stop := untilInterrupt(agent)
		defer stop()

		if err := do(ctx, agent); err != nil {
			return c.fail(agent.Explain(err))
		}
		return 0
	})
}

func rootfsImport(c *cli) *cobra.Command {
	k, f := newCommand("rootfs import", `
Store a tarball of a root file system, or an image of layers: an archive of docker save or
podman save, or an OCI layout in a directory or a tarball. Its content tells which. The
agent's admission child, a confined process, reads it and refuses hostile content; nothing
is stored unless all of it is accepted. An image that is already stored is verified, and
replaced if it differs from its import. Standard input (-) can be a root file system only.

Usage:
  brig rootfs import FILE|DIR --name NAME [--digest sha256:...] [--platform OS/ARCH]

Examples:
  sudo brig rootfs import alpine.tar.gz --name alpine
  docker save alpine >alpine.tar; sudo brig rootfs import alpine.tar --name alpine
  curl -s https://example.org/a.tar.xz | sudo brig rootfs import - --name a
  docker export $(docker create alpine) | sudo brig rootfs import - --name alpine`)

	name := f.String("name", "", "`NAME` to store it under")
	digest := f.String("digest", "",
		"expected digest of FILE as it is, before decompression; for an image of layers that of its manifest")
	platform := f.String("platform", "", "`OS/ARCH` of an image of layers (default: this machine's)")
	asJSON := jsonFlag(f)
	return c.withAgent(k, "FILE", func(ctx context.Context, a *caller.Agent) error {
		if *name == "" {
			return api.Refuse(api.CodeBadRequest, "the image has no name: add --name")
		}
		if f.Arg(0) != "-" {
			return c.importFile(ctx, a, f.Arg(0), *name, *digest, *platform, *asJSON)
		}
		return c.store(ctx, a, c.stdin, *name, *digest, *asJSON)
	})
}

// store sends an archive to the agent and prints the stored image.
func (c *cli) store(ctx context.Context, a *caller.Agent, in io.Reader, name, digest string, asJSON bool) error {
	in, end := c.transfer("storing image "+name, in)
	img, err := a.Import(ctx, in, name, digest)
	end()
	if err == nil && img.Replaced {
		c.note("the stored image %s differed from its import: it was replaced", img.Digest)
	}

	switch {
	case err != nil:
		return err
	case asJSON:
		c.stdout.Write(marshal(img))
	default:
		fmt.Fprintf(c.text(), "%s %s %s\n", name, img.Digest, formatSize(img.Size))
	}

	return nil
}

func rootfsList(c *cli) *cobra.Command {
	k, f := newCommand("rootfs ls", `
List the stored images, and say which are older than a language that uses them. SHARED is
what of SIZE other images have, too.

Usage:
  brig rootfs ls [--json]

Examples:
  brig rootfs ls
  brig rootfs ls --json`)

	asJSON := jsonFlag(f)
	return c.withAgent(k, "", func(ctx context.Context, a *caller.Agent) error {
		all, err := a.Images(ctx)
		if err != nil {
			return err
		}

		if err := printList(c, *asJSON, all, "NAME\tDIGEST\tSIZE\tCREATED\tLAYERS\tSHARED\tREFERENCE",
			func(i api.Image) string {
				return fmt.Sprintf("%s\t%.19s\t%s\t%s\t%d\t%s\t%s", cmp.Or(strings.Join(i.Names, " "), "-"), i.Digest,
					formatSize(i.Size), i.Created,
					max(len(i.Layers), 1), formatSize(sharedSize(i)), cmp.Or(terminal.OneLine(strings.Join(references(i), " ")), "-"))
			}); err != nil || *asJSON {
			return err
		}

		return c.printOutdated(ctx, a)
	})
}

// references are those under which an image was stored, in the order of its names.
func references(i api.Image) (all []string) {
	for _, name := range i.Names {
		if r := i.OriginOf(name).Reference; r != "" && !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}

// printOutdated prints the images that lack what a language needs: its programs are refused.
func (c *cli) printOutdated(ctx context.Context, a *caller.Agent) error {
	known, err := a.Languages(ctx)
	if err != nil {
		return err
	}
	for _, l := range known {
		if len(l.Lacks) > 0 {
			fmt.Fprintf(c.stderr, "brig: image %s has no %s, which %s needs: its programs are refused; %s\n", l.Image,
				strings.Join(l.Lacks, ", "), l.Name, languages.RebuildHint(l.Image))
		}
	}
	return nil
}

func rootfsRemove(c *cli) *cobra.Command {
	k, f := newCommand("rootfs rm", `
Remove a name, and with its last name the image; or an image by digest.

Usage:
  brig rootfs rm NAME|DIGEST

Example:
  sudo brig rootfs rm alpine`)
	return c.withAgent(k, "NAME", func(ctx context.Context, a *caller.Agent) error {
		return a.RemoveImage(ctx, f.Arg(0))
	})
}

func rootfsClean(c *cli) *cobra.Command {
	k, f := newCommand("rootfs gc", `
Remove the images without a name, the layers without an image, and the remains of broken
imports. A layer that was stored less than an hour ago stays: a pull may be under way.

Usage:
  brig rootfs gc [--json]

Example:
  sudo brig rootfs gc`)

	asJSON := jsonFlag(f)
	return c.withAgent(k, "", func(ctx context.Context, a *caller.Agent) error {
		done, err := a.Clean(ctx)
		if err != nil {
			return err
		}
		if *asJSON {
			c.stdout.Write(marshal(done))
			return nil
		}

		what := fmt.Sprintf("%d images", len(done.Images))
		if n := len(done.Layers); n > 0 {
			what += fmt.Sprintf(" and %d layers", n)
		}

		fmt.Fprintf(c.text(), "%s removed, %s\n", what, formatSize(done.Bytes))
		return nil
	})
}
