package images

import (
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
)

func rootfsShow(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("rootfs show", `
Show what is known of a stored image: where it came from, its layers with the number of
images that have each, and what it says about running it.

Usage:
  brig rootfs show NAME|DIGEST [--json]

Example:
  brig rootfs show debian:12`)

	asJSON := cli.JSONFlag(f)
	return withAgent(c, k, "NAME", func(ctx context.Context, a *caller.Agent) error {
		img, err := findImage(ctx, a, f.Arg(0))
		if err != nil {
			return err
		}
		if *asJSON {
			c.Stdout.Write(cli.Marshal(img))
			return nil
		}
		return showImage(c.Text(), img)
	})
}

// findImage asks the agent for a stored image.
func findImage(ctx context.Context, a *caller.Agent, name string) (api.Image, error) {
	all, err := a.Images(ctx)
	if err != nil {
		return api.Image{}, err
	}
	i := slices.IndexFunc(all, func(i api.Image) bool { return i.Digest == name || slices.Contains(i.Names, name) })
	if i < 0 {
		return api.Image{}, api.Refuse(api.CodeNoImage, "no image %q is stored: brig rootfs ls lists the images", name)
	}
	all[i].Origin = all[i].OriginOf(name)
	return all[i], nil
}

func showImage(w io.Writer, img api.Image) error {
	t := cli.AlignedTable(w)
	line := func(what, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", what, terminal.OneLine(value))
		}
	}

	line("names", strings.Join(img.Names, " "))
	line("digest", img.Digest)
	line("stored", img.Created)
	line("size", cli.FormatSize(img.Size))
	line("shared", cli.FormatSize(sharedSize(img)))
	line("reference", img.Origin.Reference)
	line("manifest", img.Origin.Manifest)
	line("config", img.Origin.Config)
	line("platform", img.Origin.Platform)
	line("entrypoint", quoted(img.Config.Entrypoint))
	line("command", quoted(img.Config.Cmd))
	line("directory", img.Config.WorkingDir)
	if img.Config.User != "" {
		line("user", img.Config.User+" (not followed: programs are uid 1000)")
	}

	for _, e := range img.Config.Env {
		line("env", e)
	}

	for _, l := range img.Layers {
		line("layer", fmt.Sprintf("%s  %s, %d images", l.Digest, cli.FormatSize(l.Size), l.Images))
	}
	return t.Flush()
}

// sharedSize is how many bytes of an image other images have, too.
func sharedSize(img api.Image) (n int64) {
	for _, l := range img.Layers {
		if l.Images > 1 {
			n += l.Size
		}
	}
	return n
}

// quoted writes words as a shell would take them.
func quoted(words []string) string {
	var out []string
	for _, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`&|;<>()*?[]#~") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}
