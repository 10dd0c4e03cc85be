package serve

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
)

func (o *serveOptions) packageFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.packages, "packages", false,
		"install the packages that runs and sessions name in requirements, from the indexes of the languages; a key "+
			"needs packages: true in its line")
	o.indexes = map[api.PackageKind]*string{}
	for _, kind := range api.PackageKinds() {
		o.indexes[kind] = f.String(string(kind)+"-index", "",
			fmt.Sprintf("`URL` of the index for packages of the kind %s, which are then installed (default: $%s, or "+
				"with --packages that of the language)", kind, images.IndexVariable(kind)))
	}
}

// indexesOf takes the indexes that no flag, setting or variable of the service names from the variables
// that brig run knows, too.
func indexesOf(c *cli.CLI, o *serveOptions) {
	for kind, index := range o.indexes {
		if *index == "" {
			*index = c.Env(images.IndexVariable(kind))
		}
	}
}

// checkIndexes returns the operator's own indexes.
func (o serveOptions) checkIndexes() (map[api.PackageKind]string, error) {
	own := map[api.PackageKind]string{}
	for kind, index := range o.indexes {
		if *index == "" {
			continue
		}
		if _, err := api.ParseIndex(*index); err != nil {
			return nil, fmt.Errorf("--%s-index: %w", kind, err)
		}
		own[kind] = *index
	}
	return own, nil
}

// offersPackages reports whether the service has packages installed.
func (o serveOptions) offersPackages() bool {
	for _, index := range o.indexes {
		if *index != "" {
			return true
		}
	}
	return o.packages
}

// prepareInstallers builds the images with the installers of the languages, if packages are offered and
// this process may. Without such an image, requirements are refused by its name.
func prepareInstallers(ctx context.Context, c *cli.CLI, agent *caller.Agent, languages []api.Language,
	o serveOptions) error {
	if os.Geteuid() != 0 {
		return nil
	}

	for _, l := range languages {
		p := l.Packages
		if p == nil || !o.packages && *o.indexes[p.Kind] == "" {
			continue
		}
		if err := images.EnsureInstaller(ctx, c, agent, l); err != nil {
			return err
		}
	}

	return nil
}
