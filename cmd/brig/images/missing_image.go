package images

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/rootfs/build"
	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/rootfs/oci"
)

// EnsureImage stores the image of a language that is used for the first time: built from its recipe, or
// pulled from where its manifest says. Every command that runs programs calls it. With noBuild it does
// nothing: the agent refuses what it has no image for.
func EnsureImage(ctx context.Context, c *cli.CLI, a *caller.Agent, l api.Language, noBuild bool) error {
	if noBuild {
		return nil
	}
	return ensureImageOf(ctx, c, a, l, "language "+l.Name, func(l api.Language) bool { return l.Stored })
}

// ensureImageOf stores l.Image, which what needs, if stored says that l lacks it. Only root can change
// images; for others the error has the command.
func ensureImageOf(ctx context.Context, c *cli.CLI, a *caller.Agent, l api.Language, what string,
	stored func(api.Language) bool) error {
	if stored(l) {
		return nil
	}

	recipe, rerr := build.FindRecipe(l.Image)
	if os.Geteuid() != 0 || rerr != nil && l.ImageFrom == "" {
		return MissingImage(l, what)
	}

	quiet := *c
	quiet.Stdout = io.Discard // stdout is the program's
	name := strings.TrimPrefix(what, "language ")
	return buildOnce(ctx, c, a, l, stored, func() error {
		if rerr == nil {
			c.Note("the image of %s is not stored yet: building it now, which takes a minute or more and happens only once",
				name)
			return BuildAndStore(ctx, &quiet, a, recipe, l.Image, build.Options{Cache: cli.CacheDir()}, false)
		}
		c.Note("the image of %s is not stored yet: pulling %s now, which happens only once", name, l.ImageFrom)
		return pullMissing(ctx, &quiet, a, l)
	})
}

// MissingImage is the error for an image that is not stored, which what needs.
func MissingImage(l api.Language, what string) error {
	return api.Refuse(api.CodeNoImage, "image %s of %s is not stored: %s", l.Image, what,
		languages.ImageHint(l.Image, l.ImageFrom))
}

// pullMissing pulls the image of a language from the registry that its manifest names.
func pullMissing(ctx context.Context, c *cli.CLI, a *caller.Agent, l api.Language) error {
	_, err := storeLayers(ctx, c, a, oci.Request{Reference: l.ImageFrom}, nil, l.Image, "", false)
	if err != nil && ctx.Err() == nil {
		err = api.Refuse(api.CodeNoImage, "image %s of language %s is not stored, and pulling it failed: %w; another way: %s",
			l.Image, l.Name, err, languages.ImportHint(l.Image))
	}
	return err
}

// buildOnce builds the image of a language, unless another process has built it by the time the
// lock is free.
func buildOnce(ctx context.Context, c *cli.CLI, a *caller.Agent, l api.Language, stored func(api.Language) bool,
	build func() error) error {
	var p *cli.Progress
	lock, err := cli.LockBuild(ctx, l.Image, func() {
		c.Note("another brig is building image %s: waiting for it", l.Image)
		p = c.Progress("waiting for image " + l.Image)
	})
	if p != nil {
		p.End()
	}
	if err != nil {
		return err
	}
	defer lock.Close()

	all, err := a.Languages(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(now api.Language) bool { return now.Name == l.Name && stored(now) }) {
		return nil
	}
	return build()
}
