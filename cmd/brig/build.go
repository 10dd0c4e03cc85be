package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/internal/suggest"
	"github.com/brig-sandbox/brig/rootfs/build"
)

func rootfsBuild(c *cli) *cobra.Command {
	k, f := newCommand("rootfs build", `
Build an image from its recipe and store it. Known recipes: `+recipeNames()+`.

Usage:
  brig rootfs build NAME [--out FILE]

Examples:
  sudo brig rootfs build python
  sudo brig rootfs build python --out python.tar.zst   # only the archive`)

	out := f.String("out", "", "write the archive to this `FILE` and store nothing")
	recipe := f.String("recipe", "", "use the recipe in this `FILE` instead of brig's own")
	mirror := f.String("mirror", "", "`URL` of the Debian mirror (default: the mirror of this host)")
	verbose := f.BoolP("verbose", "v", false, "show the output of the tools")
	socket := socketFlag(f)
	asJSON := jsonFlag(f)
	return c.does(k, func() int {
		if f.NArg() != 1 {
			return c.hint("rootfs build", fmt.Errorf("brig rootfs build needs the NAME of a recipe: %s", recipeNames()))
		}

		r, err := findRecipe(f.Arg(0), *recipe)
		if err != nil {
			return c.fail(err)
		}

		options := build.Options{Cache: cacheDir(), Mirror: *mirror}
		if *verbose {
			options.Log = c.stderr
		}

		if *out != "" {
			ctx, stop := untilInterrupt(nil)
			defer stop()
			if err := c.buildFile(ctx, r, *out, options); err != nil {
				return c.fail(err)
			}
			return 0
		}

		agent, err := c.connect(*socket)
		if err != nil {
			return c.fail(err)
		}

		ctx, stop := untilInterrupt(agent)
		defer stop()

		if err := c.buildAndStore(ctx, agent, r, f.Arg(0), options, *asJSON); err != nil {
			return c.fail(agent.Explain(err))
		}
		return 0
	})
}

func recipeNames() string {
	return strings.Join(slices.Sorted(maps.Keys(build.Recipes())), ", ")
}

func findRecipe(name, file string) (build.Recipe, error) {
	if file == "" {
		r, err := build.FindRecipe(name)
		if suggested := suggest.Text(name, slices.Sorted(maps.Keys(build.Recipes()))); err != nil && suggested != "" {
			err = fmt.Errorf("%w%s", err, suggested)
		}
		return r, err
	}
	text, err := inputfile.Read(file, maxTextFile)
	if err != nil {
		return build.Recipe{}, err
	}
	return build.ParseRecipe(file, text)
}

// buildAndStore makes the archive in a temporary file without a name, so that a
// build that fails never reaches the agent, then stores it.
func (c *cli) buildAndStore(ctx context.Context, a *caller.Agent, r build.Recipe, name string,
	o build.Options, asJSON bool) error {
	tmp, err := os.CreateTemp("", "brig-build-")
	if err != nil {
		return err
	}
	defer tmp.Close()

	if err := os.Remove(tmp.Name()); err != nil {
		return err
	}

	o.Room = c.buildRoom(ctx, a)
	if err := c.build(ctx, r, tmp, o); err != nil {
		return err
	}
	if _, err := tmp.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return c.store(ctx, a, tmp, name, "", asJSON)
}

func (c *cli) buildFile(ctx context.Context, r build.Recipe, path string, o build.Options) error {
	out, err := openOutput(path)
	if err != nil {
		return err
	}
	err = errors.Join(c.build(ctx, r, out, o), out.Close())
	if err != nil && !ownDescriptor(filepath.Clean(path)) { // root would remove /dev/null
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func (c *cli) build(ctx context.Context, r build.Recipe, out io.Writer, o build.Options) error {
	output := new(caller.Tail)
	p := c.progress("building image " + r.Name)
	if o.Log == nil {
		o.Log = output
	}
	o.Step = p.setStep
	err := build.Image(ctx, r, out, o)
	p.end()
	if err != nil && output.String() != "" {
		err = fmt.Errorf("%w\n%s", err, output)
	}
	return err
}
