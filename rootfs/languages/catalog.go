package languages

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

//go:embed *.yaml
var builtinFiles embed.FS

// A Catalog has the manifests that an agent offers. They do not change after loading.
type Catalog struct {
	listed func() listing
}

// A listing has the manifests of a catalog in order.
type listing struct {
	all    []Manifest // sorted by name
	byName map[string]int
}

// ErrUnknown is wrapped by the error for a name that no manifest has.
var ErrUnknown = errors.New("unknown language")

// Load loads the built-in manifests and those in dir, *.yaml, which may replace built-in ones of the
// same name. dir may be empty or may not exist. Load refuses a tier that is not in tiers, unless
// tiers is nil.
//
// Without manifests in dir nothing can be wrong that the tests of the built-in ones have not found. These are then
// parsed when somebody first asks for a language: that is a large part of the start of an agent, whose first run
// might name none.
func Load(dir string, tiers []string) (*Catalog, error) {
	own := make(map[string]Manifest)
	if dir != "" {
		err := readManifests(os.DirFS(dir), dir+"/", tiers, own)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if len(own) == 0 {
		return &Catalog{listed: builtin}, nil
	}

	found, err := readBuiltin()
	if err != nil {
		return nil, err
	}

	maps.Copy(found, own)
	l, err := index(found)
	return &Catalog{listed: func() listing { return l }}, err
}

// builtin lists the built-in manifests. All catalogs of a process share them.
var builtin = sync.OnceValue(func() listing {
	found, err := readBuiltin()
	if err != nil {
		panic(err) // the program was built without its tests
	}

	l, err := index(found)
	if err != nil {
		panic(err)
	}

	return l
})

// readBuiltin reads the built-in manifests. Every agent has the tiers that they name.
func readBuiltin() (map[string]Manifest, error) {
	found := make(map[string]Manifest)
	return found, readManifests(builtinFiles, "built-in ", nil, found)
}

func readManifests(from fs.FS, prefix string, tiers []string, into map[string]Manifest) error {
	files, err := fs.ReadDir(from, ".")
	if err != nil {
		return fmt.Errorf("read language manifests: %w", err)
	}

	for _, f := range files {
		if filepath.Ext(f.Name()) != ".yaml" {
			continue
		}

		text, err := fs.ReadFile(from, f.Name())
		if err != nil {
			return fmt.Errorf("read language manifests: %w", err)
		}

		l, err := parse(prefix+f.Name(), text, tiers)
		if err != nil {
			return err
		}

		l.file = prefix + f.Name()
		if other, twice := into[l.Name]; twice {
			return fmt.Errorf("read %s: %s also has the name %q: rename one", l.file, other.file, l.Name)
		}

		into[l.Name] = l
	}

	return nil
}

func index(found map[string]Manifest) (listing, error) {
	ls, byExtension := listing{byName: make(map[string]int)}, make(map[string]int)
	for i, name := range slices.Sorted(maps.Keys(found)) {
		l := found[name]
		ls.all = append(ls.all, l)
		for _, n := range append([]string{l.Name}, l.Aliases...) {
			if j, taken := ls.byName[n]; taken && j != i {
				return listing{}, fmt.Errorf("%s and %s both have the name or alias %q: rename one", ls.all[j].file, l.file, n)
			}
			ls.byName[n] = i
		}

		for _, ext := range l.Extensions {
			if j, taken := byExtension[ext]; taken && j != i {
				return listing{}, fmt.Errorf("%s and %s both claim the extension %q: remove it from one", ls.all[j].file, l.file, ext)
			}
			byExtension[ext] = i
		}
	}

	return ls, nil
}

// All returns every language, sorted by name.
func (c *Catalog) All() []Manifest { return slices.Clone(c.listed().all) }

// ByName finds a language by name or alias.
func (c *Catalog) ByName(name string) (Manifest, error) {
	ls := c.listed()
	if i, ok := ls.byName[name]; ok {
		return ls.all[i], nil
	}
	return Manifest{}, ls.unknown(name)
}

func (ls listing) unknown(name string) error {
	var known []string
	for _, l := range ls.all {
		known = append(known, l.Name)
	}
	meant := ""
	if i, ok := ls.byName[strings.ToLower(name)]; ok {
		meant = fmt.Sprintf(": did you mean %s?", ls.all[i].Name)
	}
	return fmt.Errorf("%w: %q%s; known: %s", ErrUnknown, name, meant, strings.Join(known, ", "))
}
