package images

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
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/internal/suggest"
	"github.com/brig-sandbox/brig/rootfs/build"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

func rootfsBuild(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("rootfs build", `
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
	socket := cli.SocketFlag(f)
	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return c.Hint("rootfs build", fmt.Errorf("brig rootfs build needs the NAME of a recipe: %s", recipeNames()))
		}

		r, err := findRecipe(f.Arg(0), *recipe)
		if err != nil {
			return c.Fail(err)
		}

		options := build.Options{Cache: cli.CacheDir(), Mirror: *mirror}
		if *verbose {
			options.Log = c.Stderr
		}

		if *out != "" {
			ctx, stop := cli.UntilInterrupt(nil)
			defer stop()
			if err := buildFile(ctx, c, r, *out, options); err != nil {
				return c.Fail(err)
			}
			return 0
		}

		agent, err := c.Connect(*socket)
		if err != nil {
			return c.Fail(err)
		}

		ctx, stop := cli.UntilInterrupt(agent)
		defer stop()

		if err := BuildAndStore(ctx, c, agent, r, f.Arg(0), options, *asJSON); err != nil {
			return c.Fail(agent.Explain(err))
		}
		return 0
	})
}

func recipeNames() string {
	return strings.Join(slices.Sorted(maps.Keys(build.Recipes())), ", ")
}

// imageOfLanguage names the image of a built-in language, if there is a recipe for it; empty: it is no language.
func imageOfLanguage(name string) string {
	all, err := languages.Load("", nil)
	if err != nil {
		return ""
	}
	l, err := all.ByName(name)
	if err != nil || build.Recipes()[l.Image].Name == "" {
		return ""
	}
	return l.Image
}

func findRecipe(name, file string) (build.Recipe, error) {
	if file == "" {
		r, err := build.FindRecipe(name)
		if image := imageOfLanguage(name); err != nil && image != "" {
			return r, fmt.Errorf("%s is a language, whose programs run in the image %s: brig rootfs build %s", name, image, image)
		}
		if suggested := suggest.Text(name, slices.Sorted(maps.Keys(build.Recipes()))); err != nil && suggested != "" {
			err = fmt.Errorf("%w%s", err, suggested)
		}
		return r, err
	}
	text, err := inputfile.Read(file, cli.MaxTextFile)
	if err != nil {
		return build.Recipe{}, err
	}
	return build.ParseRecipe(file, text)
}

// BuildAndStore makes the archive in a temporary file without a name, so that a
// build that fails never reaches the agent, then stores it.
func BuildAndStore(ctx context.Context, c *cli.CLI, a *caller.Agent, r build.Recipe, name string,
	o build.Options, asJSON bool) error {
	tmp, err := os.CreateTemp("", "brig-build-")
	if err != nil {
		return err
	}
	defer tmp.Close()

	if err := os.Remove(tmp.Name()); err != nil {
		return err
	}

	o.Room = buildRoom(ctx, c, a)
	if err := buildImage(ctx, c, r, tmp, o); err != nil {
		return err
	}
	if _, err := tmp.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return storeArchive(ctx, c, a, tmp, name, "", asJSON)
}

func buildFile(ctx context.Context, c *cli.CLI, r build.Recipe, path string, o build.Options) error {
	out, err := cli.OpenOutput(path)
	if err != nil {
		return err
	}
	err = errors.Join(buildImage(ctx, c, r, out, o), out.Close())
	if err != nil && !cli.OwnDescriptor(filepath.Clean(path)) { // root would remove /dev/null
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func buildImage(ctx context.Context, c *cli.CLI, r build.Recipe, out io.Writer, o build.Options) error {
	output := new(caller.Tail)
	p := c.Progress("building image " + r.Name)
	if o.Log == nil {
		o.Log = output
	}
	o.Step = p.SetStep
	err := build.Image(ctx, r, out, o)
	p.End()
	if err != nil && output.String() != "" {
		err = fmt.Errorf("%w\n%s", err, output)
	}
	return err
}
