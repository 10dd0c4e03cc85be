package images

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
	"github.com/brig-sandbox/brig/cmd/brig/cli"
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

// RootfsCommand makes brig rootfs.
func RootfsCommand(c *cli.CLI) *cobra.Command {
	return c.Group("rootfs", rootfsUsage, []cli.Command{
		{Name: "build", Make: rootfsBuild},
		{Name: "pull", Make: rootfsPull},
		{Name: "import", Make: rootfsImport},
		{Name: "ls", Make: rootfsList},
		{Name: "show", Make: rootfsShow},
		{Name: "rm", Make: rootfsRemove},
		{Name: "verify", Make: rootfsVerify},
		{Name: "gc", Make: rootfsClean},
	})
}

// withAgent makes a command that takes the arguments named in words and calls the agent.
func withAgent(c *cli.CLI, k *cobra.Command, words string,
	do func(ctx context.Context, a *caller.Agent) error) *cobra.Command {
	f := k.Flags()
	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		if want := len(strings.Fields(words)); f.NArg() != want {
			return c.Hint(f.Name(), fmt.Errorf("brig %s needs %s", f.Name(), cmp.Or(words, "no argument")))
		}

		agent, err := c.Connect(*socket)
		if err != nil {
			return c.Fail(err)
		}

		ctx, stop := cli.UntilInterrupt(agent)
		defer stop()

		if err := do(ctx, agent); err != nil {
			return c.Fail(agent.Explain(err))
		}
		return 0
	})
}

func rootfsImport(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("rootfs import", `
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
	asJSON := cli.JSONFlag(f)
	return withAgent(c, k, "FILE", func(ctx context.Context, a *caller.Agent) error {
		if *name == "" {
			return api.Refuse(api.CodeBadRequest, "the image has no name: add --name")
		}
		if f.Arg(0) != "-" {
			return importFile(ctx, c, a, f.Arg(0), *name, *digest, *platform, *asJSON)
		}
		return storeArchive(ctx, c, a, c.Stdin, *name, *digest, *asJSON)
	})
}

// storeArchive sends an archive to the agent and prints the stored image.
func storeArchive(ctx context.Context, c *cli.CLI, a *caller.Agent, in io.Reader, name, digest string, asJSON bool) error {
	in, end := c.Transfer("storing image "+name, in)
	img, err := a.Import(ctx, in, name, digest)
	end()
	if err == nil && img.Replaced {
		c.Note("the stored image %s differed from its import: it was replaced", img.Digest)
	}

	switch {
	case err != nil:
		return err
	case asJSON:
		c.Stdout.Write(cli.Marshal(img))
	default:
		fmt.Fprintf(c.Text(), "%s %s %s\n", name, img.Digest, cli.FormatSize(img.Size))
	}

	return nil
}

func rootfsList(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("rootfs ls", `
List the stored images, and say which are older than a language that uses them. SHARED is
what of SIZE other images have, too.

Usage:
  brig rootfs ls [--json]

Examples:
  brig rootfs ls
  brig rootfs ls --json`)

	asJSON := cli.JSONFlag(f)
	return withAgent(c, k, "", func(ctx context.Context, a *caller.Agent) error {
		all, err := a.Images(ctx)
		if err != nil {
			return err
		}

		if err := cli.PrintList(c, *asJSON, all, "NAME\tDIGEST\tSIZE\tCREATED\tLAYERS\tSHARED\tREFERENCE",
			func(i api.Image) string {
				return fmt.Sprintf("%s\t%.19s\t%s\t%s\t%d\t%s\t%s", cmp.Or(strings.Join(i.Names, " "), "-"), i.Digest,
					cli.FormatSize(i.Size), i.Created,
					max(len(i.Layers), 1), cli.FormatSize(sharedSize(i)), cmp.Or(terminal.OneLine(strings.Join(references(i), " ")), "-"))
			}); err != nil || *asJSON {
			return err
		}

		return printOutdated(ctx, c, a)
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
func printOutdated(ctx context.Context, c *cli.CLI, a *caller.Agent) error {
	known, err := a.Languages(ctx)
	if err != nil {
		return err
	}
	for _, l := range known {
		if len(l.Lacks) > 0 {
			fmt.Fprintf(c.Stderr, "brig: image %s has no %s, which %s needs: its programs are refused; %s\n", l.Image,
				strings.Join(l.Lacks, ", "), l.Name, languages.RebuildHint(l.Image))
		}
	}
	return nil
}

func rootfsRemove(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("rootfs rm", `
Remove a name, and with its last name the image; or an image by digest.

Usage:
  brig rootfs rm NAME|DIGEST

Example:
  sudo brig rootfs rm alpine`)
	return withAgent(c, k, "NAME", func(ctx context.Context, a *caller.Agent) error {
		return a.RemoveImage(ctx, f.Arg(0))
	})
}

func rootfsClean(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("rootfs gc", `
Remove the images without a name, the layers without an image, and the remains of broken
imports. A layer that was stored less than an hour ago stays: a pull may be under way.

Usage:
  brig rootfs gc [--json]

Example:
  sudo brig rootfs gc`)

	asJSON := cli.JSONFlag(f)
	return withAgent(c, k, "", func(ctx context.Context, a *caller.Agent) error {
		done, err := a.Clean(ctx)
		if err != nil {
			return err
		}
		if *asJSON {
			c.Stdout.Write(cli.Marshal(done))
			return nil
		}

		what := fmt.Sprintf("%d images", len(done.Images))
		if n := len(done.Layers); n > 0 {
			what += fmt.Sprintf(" and %d layers", n)
		}

		fmt.Fprintf(c.Text(), "%s removed, %s\n", what, cli.FormatSize(done.Bytes))
		return nil
	})
}
