package main

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs/build"
	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/rootfs/oci"
)

// ensureImage stores the image of a language that is used for the first time: built from its recipe, or
// pulled from where its manifest says. Every command that runs programs calls it. With noBuild it does
// nothing: the agent refuses what it has no image for.
func (c *cli) ensureImage(ctx context.Context, a *caller.Agent, l api.Language, noBuild bool) error {
	if noBuild {
		return nil
	}
	return c.ensureImageOf(ctx, a, l, "language "+l.Name, func(l api.Language) bool { return l.Stored })
}

// ensureImageOf stores l.Image, which what needs, if stored says that l lacks it. Only root can change
// images; for others the error has the command.
func (c *cli) ensureImageOf(ctx context.Context, a *caller.Agent, l api.Language, what string,
	stored func(api.Language) bool) error {
	if stored(l) {
		return nil
	}

	recipe, rerr := build.FindRecipe(l.Image)
	if os.Geteuid() != 0 || rerr != nil && l.ImageFrom == "" {
		return missingImage(l, what)
	}

	quiet := *c
	quiet.stdout = io.Discard // stdout is the program's
	name := strings.TrimPrefix(what, "language ")
	return c.buildOnce(ctx, a, l, stored, func() error {
		if rerr == nil {
			c.note("the image of %s is not stored yet: building it now, which takes a minute or more and happens only once",
				name)
			return quiet.buildAndStore(ctx, a, recipe, l.Image, build.Options{Cache: cacheDir()}, false)
		}
		c.note("the image of %s is not stored yet: pulling %s now, which happens only once", name, l.ImageFrom)
		return quiet.pullMissing(ctx, a, l)
	})
}

// missingImage is the error for an image that is not stored, which what needs.
func missingImage(l api.Language, what string) error {
	return api.Refuse(api.CodeNoImage, "image %s of %s is not stored: %s", l.Image, what,
		languages.ImageHint(l.Image, l.ImageFrom))
}

// pullMissing pulls the image of a language from the registry that its manifest names.
func (c *cli) pullMissing(ctx context.Context, a *caller.Agent, l api.Language) error {
	_, err := c.storeLayers(ctx, a, oci.Request{Reference: l.ImageFrom}, nil, l.Image, "", false)
	if err != nil && ctx.Err() == nil {
		err = api.Refuse(api.CodeNoImage, "image %s of language %s is not stored, and pulling it failed: %w; another way: %s",
			l.Image, l.Name, err, languages.ImportHint(l.Image))
	}
	return err
}
