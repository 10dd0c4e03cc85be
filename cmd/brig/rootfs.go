package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

const rootfsUsage = `
Look after the images programs run in. An image is a tarball (.tar, .tar.gz,
.tar.zst or .tar.xz), stored unpacked under a name and its digest.

Usage:
  brig rootfs build NAME           make an image by its recipe and store it
  brig rootfs import FILE --name N store a tarball
  brig rootfs ls                   list what is stored
  brig rootfs rm NAME|DIGEST       forget a name, and the image with its last
  brig rootfs verify [NAME...]     compare what is stored with what was imported
  brig rootfs gc                   remove images without a name

Examples:
  sudo brig rootfs build python
  sudo brig rootfs import alpine.tar.gz --name alpine
  brig rootfs ls --json`

func rootfsCommand(c *console, args []string) int {
	return c.subcommands("rootfs", rootfsUsage, []command{
		{name: "build", run: rootfsBuild},
		{name: "import", run: rootfsImport},
		{name: "ls", run: rootfsList},
		{name: "rm", run: rootfsRemove},
		{name: "verify", run: rootfsVerify},
		{name: "gc", run: rootfsClean},
	}, args)
}

// withAgent is the frame of a command that takes nargs words and asks the agent.
func (c *console) withAgent(f *pflag.FlagSet, args []string, words string, do func(ctx context.Context, a *agentHandle) error) int {
	socket := socketFlag(f)
	if code, done := c.parse(f, args); done {
		return code
	}
	if want := len(strings.Fields(words)); f.NArg() != want {
		return c.hint(f.Name(), fmt.Errorf("brig %s needs %s", f.Name(), orWord(words, "no argument")))
	}
	agent, err := c.connect(*socket)
	if err != nil {
		return c.fail(err)
	}
	ctx, stop := untilInterrupt(agent)
	defer stop()
	if err := do(ctx, agent); err != nil {
		return c.fail(agent.explain(err))
	}
	return 0
}

func rootfsImport(c *console, args []string) int {
	f := c.flags("rootfs import", `
Store a tarball as an image. It is read by a confined child of the agent's, which
refuses what is hostile; nothing is stored unless all of it is admitted. An image that
is stored already is verified, and replaced where it is not as it was imported. A saved
image (docker save, an OCI layout) is an archive of layers, and refused: export it.

Usage:
  brig rootfs import FILE --name NAME [--digest sha256:...]

Examples:
  sudo brig rootfs import alpine.tar.gz --name alpine
  curl -s https://example.org/a.tar.xz | sudo brig rootfs import - --name a
  docker export $(docker create alpine) | sudo brig rootfs import - --name alpine`)
	name := f.String("name", "", "`NAME` to store it under")
	digest := f.String("digest", "", "what FILE must hash to, as given")
	asJSON := f.Bool("json", false, "print JSON")
	return c.withAgent(f, args, "FILE", func(ctx context.Context, a *agentHandle) error {
		if *name == "" {
			return api.Refuse(api.CodeBadRequest, "the image has no name: add --name")
		}
		var in io.Reader = c.stdin
		if f.Arg(0) != "-" {
			file, _, err := openInput(f.Arg(0))
			if err != nil {
				return err
			}
			defer file.Close()
			in = file
		}
		return c.store(ctx, a, in, *name, *digest, *asJSON)
	})
}

// store sends an archive to the agent and prints what became of it.
func (c *console) store(ctx context.Context, a *agentHandle, in io.Reader, name, digest string, asJSON bool) error {
	p := c.progress("storing image " + name)
	img, err := a.Import(ctx, in, name, digest)
	p.end()
	if err == nil && img.Replaced {
		c.note("image %s was stored, and not as it was imported: it is replaced", img.Digest)
	}
	switch {
	case err != nil:
		return err
	case asJSON:
		c.stdout.Write(marshal(img))
	default:
		fmt.Fprintf(c.text(), "%s %s %s\n", name, img.Digest, roundSize(img.Size))
	}
	return nil
}

func rootfsList(c *console, args []string) int {
	f := c.flags("rootfs ls", `
List the stored images, and say which are older than a language that uses them.

Usage:
  brig rootfs ls [--json]

Examples:
  brig rootfs ls
  brig rootfs ls --json`)
	asJSON := f.Bool("json", false, "print JSON")
	return c.withAgent(f, args, "", func(ctx context.Context, a *agentHandle) error {
		all, err := a.Images(ctx)
		if err != nil {
			return err
		}
		if *asJSON {
			c.stdout.Write(marshal(all))
			return nil
		}
		t := tabwriter.NewWriter(c.text(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "NAME\tDIGEST\tSIZE\tCREATED")
		for _, i := range all {
			fmt.Fprintf(t, "%s\t%.19s\t%s\t%s\n", orWord(strings.Join(i.Names, " "), "-"), i.Digest, roundSize(i.Size), i.Created)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		return c.tellOutdated(ctx, a)
	})
}

// tellOutdated names the images in which programs of a language are refused.
func (c *console) tellOutdated(ctx context.Context, a *agentHandle) error {
	languages, err := a.Languages(ctx)
	if err != nil {
		return err
	}
	for _, l := range languages {
		if len(l.Lacks) > 0 {
			fmt.Fprintf(c.stderr, "brig: image %s has no %s, which %s needs: its programs are refused; %s\n", l.Image, strings.Join(l.Lacks, ", "), l.Name, rootfs.Rebuild(l.Image))
		}
	}
	return nil
}

func rootfsRemove(c *console, args []string) int {
	f := c.flags("rootfs rm", `
Forget a name, and the image when it was its last; or an image by digest.

Usage:
  brig rootfs rm NAME|DIGEST

Example:
  sudo brig rootfs rm alpine`)
	return c.withAgent(f, args, "NAME", func(ctx context.Context, a *agentHandle) error {
		return a.RemoveImage(ctx, f.Arg(0))
	})
}

func rootfsClean(c *console, args []string) int {
	f := c.flags("rootfs gc", `
Remove the images that no name refers to, and what broken imports left.

Usage:
  brig rootfs gc [--json]

Example:
  sudo brig rootfs gc`)
	asJSON := f.Bool("json", false, "print JSON")
	return c.withAgent(f, args, "", func(ctx context.Context, a *agentHandle) error {
		done, err := a.Clean(ctx)
		if err != nil {
			return err
		}
		if *asJSON {
			c.stdout.Write(marshal(done))
			return nil
		}
		fmt.Fprintf(c.text(), "%d images removed, %s\n", len(done.Images), roundSize(done.Bytes))
		return nil
	})
}
