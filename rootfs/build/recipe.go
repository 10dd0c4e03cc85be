package build

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/internal/strictyaml"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/recipes"
)

// A Recipe describes how to build an image.
type Recipe struct {
	Name string `yaml:"name"`
	Kind string `yaml:"kind"` // "debian" or "busybox"

	// Extends names a base recipe of Kind debian. Suite and Epoch are those of the base, and NPM, which
	// only one of the two may have. The lists of the base come first, and its Finish runs first.
	Extends string `yaml:"extends"`

	// For Kind debian:
	Suite    string   `yaml:"suite"`
	Packages []string `yaml:"packages"` // in addition to the base packages; dependencies are added
	Exclude  []string `yaml:"exclude"`  // dpkg path patterns to leave out, in addition to documentation
	Keep     []string `yaml:"keep"`     // exceptions from the excluded patterns
	Epoch    int64    `yaml:"epoch"`    // newest modification time of any file, in seconds since 1970
	NPM      string   `yaml:"npm"`      // lock file rootfs/recipes/npm/NPM.json, whose packages Finish finds in $node_modules

	// Finish is a shell script that runs as the root of a user namespace after the packages are
	// unpacked; $1 is the tree. It stops at the first failure. Packages are not configured: of the
	// work of their scripts, only the links of update-alternatives are made, before Finish
	// (debianAlternatives). Finish must do any other part that a sandbox needs, except for the base
	// packages (debian_base.go).
	Finish string `yaml:"finish"`

	Lock []byte `yaml:"-"` // content of the file that NPM names
}

// Recipes returns the built-in recipes by name.
func Recipes() map[string]Recipe {
	all := make(map[string]Recipe)
	files, err := fs.Glob(recipes.Files, "*.yaml")
	if err != nil {
		panic(err) // embedded: cannot happen in a binary that was built
	}

	for _, name := range files {
		text, err := recipes.Files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		r, err := parseRecipe(name, text)
		if err != nil {
			panic(err) // TestRecipesParse
		}
		all[r.Name] = r
	}

	whole := make(map[string]Recipe)
	for name, r := range all {
		if whole[name], err = r.complete(all); err != nil {
			panic(err) // TestRecipesParse
		}
	}

	return whole
}

// complete adds the parts that a recipe only names: the recipe it extends, which is in all, and the
// lock file of its npm packages.
func (r Recipe) complete(all map[string]Recipe) (_ Recipe, err error) {
	if r.Extends != "" {
		base, ok := all[r.Extends]
		if !ok || base.Extends != "" || base.Kind != "debian" || base.NPM != "" && r.NPM != "" {
			return Recipe{}, fmt.Errorf("recipe %s extends %q: name a built-in debian recipe that has no extends; "+
				"only one of the two may have npm", r.Name, r.Extends)
		}
		if r.NPM == "" {
			r.NPM = base.NPM
		}
		r.Suite, r.Epoch = base.Suite, base.Epoch
		r.Packages = slices.Concat(base.Packages, r.Packages)
		r.Exclude = slices.Concat(base.Exclude, r.Exclude)
		r.Keep = slices.Concat(base.Keep, r.Keep)
		r.Finish = base.Finish + r.Finish
	}

	if r.NPM != "" {
		if r.Lock, err = recipes.Files.ReadFile("npm/" + r.NPM + ".json"); err != nil {
			return Recipe{}, fmt.Errorf("recipe %s: brig has no lock file %q of npm packages", r.Name, r.NPM)
		}
	}

	return r, nil
}

// FindRecipe returns the recipe with that name.
func FindRecipe(name string) (Recipe, error) {
	all := Recipes()
	if r, ok := all[name]; ok {
		return r, nil
	}
	return Recipe{}, fmt.Errorf("recipe %q does not exist: use one of %s", name,
		strings.Join(slices.Sorted(maps.Keys(all)), ", "))
}

// ParseRecipe parses a recipe, which may extend a built-in one. file is used only in errors.
func ParseRecipe(file string, text []byte) (Recipe, error) {
	r, err := parseRecipe(file, text)
	if err == nil {
		r, err = r.complete(Recipes())
	}
	return r, err
}

func parseRecipe(file string, text []byte) (Recipe, error) {
	var r Recipe
	if isDockerfile(text) {
		return Recipe{}, fmt.Errorf("%s: this is a Dockerfile, not a recipe, and brig runs no Dockerfile: build it "+
			"with docker build, then docker export $(docker create IMAGE) | brig rootfs import - --name NAME", file)
	}
	if err := strictyaml.Decode(file, text, &r); err != nil {
		return Recipe{}, err
	}
	if err := rootfs.CheckName(r.Name); err != nil {
		return Recipe{}, fmt.Errorf("%s: %w", file, err)
	}

	switch {
	case r.Kind == "busybox":
		return r, nil
	case r.Kind != "debian":
		return Recipe{}, fmt.Errorf("%s: kind %q: write debian or busybox", file, r.Kind)
	case r.Extends != "" && (r.Suite != "" || r.Epoch != 0):
		return Recipe{}, fmt.Errorf("%s: remove suite and epoch: recipe %s sets them", file, r.Extends)
	case r.Extends == "" && (r.Suite == "" || len(r.Packages) == 0 || r.Epoch <= 0):
		return Recipe{}, fmt.Errorf("%s: a debian recipe needs suite, packages and epoch", file)
	}

	return r, nil
}

// isDockerfile reports whether the first instruction of text is FROM, which only comments and ARG
// may precede.
func isDockerfile(text []byte) bool {
	for line := range bytes.Lines(text) {
		words := strings.Fields(string(line))
		switch {
		case len(words) == 0, strings.HasPrefix(words[0], "#"), strings.EqualFold(words[0], "ARG"):
		default:
			return len(words) > 1 && strings.EqualFold(words[0], "FROM")
		}
	}
	return false
}
