package images

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/agent/relay"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/inputfile"
)

// PackageFlags are the flags by which a command asks for packages.
type PackageFlags struct {
	names []string
	files []string
	Index string
}

// Register registers all of the flags.
func (p *PackageFlags) Register(f *pflag.FlagSet) {
	f.StringArrayVar(&p.names, "requirement", nil,
		"install a `PACKAGE` that the program finds: a name with bounds of its version, such as 'numpy==2.*' (repeatable)")
	f.StringArrayVar(&p.files, "requirements", nil, "install the packages that this `FILE` lists, one a line (repeatable)")
	p.registerIndex(f)
}

func (p *PackageFlags) registerIndex(f *pflag.FlagSet) {
	f.StringVar(&p.Index, "index", "",
		"`URL` of the package index (default: $SANDBOX_PYTHON_INDEX, _NPM_ or _GEM_, or that of the language)")
}

// Requirements reads the flags and the files that they name.
func (p *PackageFlags) Requirements() ([]string, error) {
	all := p.names
	for _, file := range p.files {
		text, err := inputfile.Read(file, cli.MaxTextFile)
		if err != nil {
			return nil, fmt.Errorf("--requirements: %w", err)
		}
		all = append(all, api.RequirementsOfFile(string(text))...)
	}
	if len(all) == 0 && p.Index != "" {
		return nil, errors.New("--index needs packages: add --requirement")
	}
	return all, nil
}

// IndexVariable is the environment variable with the index of a kind of packages.
func IndexVariable(kind api.PackageKind) string {
	return "SANDBOX_" + strings.ToUpper(string(kind)) + "_INDEX"
}

// IndexOf is the index of an installation; empty: that of the language.
func IndexOf(c *cli.CLI, l api.Language, flag string) string {
	if l.Packages == nil {
		return flag
	}
	return cmp.Or(flag, c.Env(IndexVariable(l.Packages.Kind)))
}

// WithPackages has do send a request that needs packages. If they are not installed, it has them
// installed, relays the installer's connections meanwhile, and has do send the request again: a refused
// request has read no input.
func WithPackages[T any](ctx context.Context, c *cli.CLI, a *caller.Agent, l api.Language, r api.PackageRequest,
	noBuild bool, do func() (T, error)) (T, error) {
	if len(r.Requirements) == 0 {
		return do()
	}
	if l.Packages != nil && !noBuild {
		if err := EnsureInstaller(ctx, c, a, l); err != nil {
			var none T
			return none, err
		}
	}

	const tries = 3 // others may have the set removed in between
	for i := 1; ; i++ {
		res, err := do()
		if !api.HasCode(err, api.CodePackagesMissing) || i == tries {
			return res, err
		}
		if _, err := install(ctx, c, a, l, r); err != nil {
			return res, err
		}
	}
}

// EnsureInstaller builds the image with the installer of a language if it is missing.
func EnsureInstaller(ctx context.Context, c *cli.CLI, a *caller.Agent, l api.Language) error {
	stored := func(l api.Language) bool { return l.Packages != nil && l.Packages.Stored }
	as := l
	as.Image = l.Packages.Image
	as.ImageFrom = "" // that of the language
	return ensureImageOf(ctx, c, a, as, "the installer of packages of "+l.Name, stored)
}

// install has a set of packages installed.
func install(ctx context.Context, c *cli.CLI, a *caller.Agent, l api.Language,
	r api.PackageRequest) (api.PackageSet, error) {
	if l.Packages == nil {
		return api.PackageSet{}, api.Refuse(api.CodeBadRequest, "packages cannot be installed for language %s", l.Name)
	}

	c.Note("installing %s: this happens once", strings.Join(r.Requirements, " "))
	p := c.Progress("installing packages")
	defer p.End()

	return cli.RetryWhileBusy(ctx, c, time.Minute, func(ctx context.Context) (api.PackageSet, error) {
		set, _, err := relay.With(ctx, c.RelayUser, relay.Request{Installer: l.Packages, Index: r.Index},
			func(ctx context.Context, network func([]*os.File)) (api.PackageSet, error) {
				return a.InstallPackages(ctx, r, client.Events{Stdout: stepWriter{p}, Network: network})
			})
		return set, err
	})
}

// A stepWriter shows the last line that an installer printed as the step of a progress.
type stepWriter struct{ p *cli.Progress }

func (s stepWriter) Write(b []byte) (int, error) {
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	if last := strings.TrimSpace(string(lines[len(lines)-1])); last != "" {
		s.p.SetStep(fmt.Sprintf("%.100s", last))
	}
	return len(b), nil
}
