package languages

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// Packages says how packages are installed for a language, and how its programs find them. In Install
// {requirements} is the file with one requirement a line, in the installer's words, and {index} the URL
// of the index. What Install leaves in /packages is the set. In Env {path} is the PATH without packages.
type Packages struct {
	Kind    api.PackageKind
	Image   string   // with the installer: stored name or digest
	Install []string // the command
	Tier    string   // seccomp profile of the installer; empty: that of runs with network
	Index   string
	Hosts   []string          // further hosts of that index
	Env     map[string]string // over that of the language, in its run and compile stages
	Links   map[string]string // names in the root directory of a run that has packages, with their targets
	Limits  api.Limits        // of the installer; zero fields: PackageDefaults
}

// PackageDefaults are the limits of an installer whose manifest sets none.
func PackageDefaults() api.Limits {
	return api.Limits{
		Wall: api.Duration(5 * 60 * 1e9), CPU: api.Duration(10 * 60 * 1e9), Memory: 2 * api.GiB,
		Scratch: 2 * api.GiB, Inodes: 200_000,
		Pids: 256, OpenFiles: 1024, Output: api.MiB,
	}
}

// yamlPackages is the YAML form of Packages.
type yamlPackages struct {
	Kind    string            `yaml:"kind"`
	Image   string            `yaml:"image"`
	Install []string          `yaml:"install"`
	Tier    string            `yaml:"tier"`
	Index   string            `yaml:"index"`
	Hosts   []string          `yaml:"hosts"`
	Env     map[string]string `yaml:"env"`
	Links   map[string]string `yaml:"links"`
	Limits  yaml.Node         `yaml:"limits"`
}

// packagesOf decodes and checks the packages of a manifest; nil: it has none.
func packagesOf(y *yamlPackages, tiers []string) (*Packages, error) {
	if y == nil {
		return nil, nil
	}

	p := &Packages{
		Kind: api.PackageKind(y.Kind), Image: y.Image, Install: y.Install, Tier: y.Tier, Index: y.Index, Hosts: y.Hosts,
		Env: y.Env, Links: y.Links,
	}
	limits, err := manifestLimits("packages", y.Limits)
	if err != nil {
		return nil, err
	}

	p.Limits = limits.Over(PackageDefaults())
	_, digestErr := rootfs.ParseDigest(p.Image)
	switch {
	case !slices.Contains(api.PackageKinds(), p.Kind):
		return nil, fieldErrorf("packages", "packages: kind %q: use one of %s", p.Kind, joined(api.PackageKinds()))
	case rootfs.CheckName(p.Image) != nil && digestErr != nil:
		return nil, fieldErrorf("packages", "packages: image %q: write a stored image's name or digest", p.Image)
	case len(p.Install) == 0 || p.Install[0] == "":
		return nil, fieldErrorf("packages",
			"packages: install is missing: write the command that installs, such as [/usr/lib/brig/install-python, "+
				"\"{requirements}\", \"{index}\"]")
	case p.Tier != "" && tiers != nil && !slices.Contains(tiers, p.Tier):
		return nil, fieldErrorf("packages", "packages: tier %q does not exist: use one of %s", p.Tier,
			strings.Join(tiers, ", "))
	}

	// The results are not kept. A mistake must appear when the manifest is read, and not at the first
	// installation.
	index, err := api.ParseIndex(p.Index)
	if err == nil {
		_, err = api.PackageHosts(index, p.Hosts)
	}
	if err != nil {
		return nil, fieldErrorf("packages", "packages: %v", err)
	}

	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		if !envName.matches(name) || strings.IndexByte(p.Env[name], 0) >= 0 {
			return nil, fieldErrorf("packages",
				"packages: environment variable %q: use letters, digits and _ in its name, no NUL in its value", name)
		}
	}

	// The links are made in the root directory of a run, and a plain name cannot lead elsewhere.
	for _, name := range slices.Sorted(maps.Keys(p.Links)) {
		if !fileName.matches(name) || p.Links[name] == "" || strings.IndexByte(p.Links[name], 0) >= 0 {
			return nil, fieldErrorf("packages",
				"packages: link %q: write a plain name in the root directory, and its target", name)
		}
	}

	return p, nil
}

func joined(kinds []api.PackageKind) string {
	var words []string
	for _, k := range kinds {
		words = append(words, string(k))
	}
	return strings.Join(words, ", ")
}

// Command returns the command of an installation.
func (p Packages) Command(requirements, index string) []string {
	var argv []string
	for _, w := range p.Install {
		switch w {
		case "{requirements}":
			w = requirements
		case "{index}":
			w = index
		}
		argv = append(argv, w)
	}
	return argv
}

// Environment returns the variables of a run with packages. path is the PATH of a run without them.
func (p Packages) Environment(path string) map[string]string {
	env := map[string]string{}
	for name, value := range p.Env {
		env[name] = strings.ReplaceAll(value, "{path}", path)
	}
	return env
}
