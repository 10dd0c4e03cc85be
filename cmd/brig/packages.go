package main

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
	"github.com/brig-sandbox/brig/internal/inputfile"
)

// packageFlags are the flags by which a command asks for packages.
type packageFlags struct {
	names []string
	files []string
	index string
}

func (p *packageFlags) register(f *pflag.FlagSet) {
	f.StringArrayVar(&p.names, "requirement", nil,
		"install a `PACKAGE` that the program finds: a name with bounds of its version, such as 'numpy==2.*' (repeatable)")
	f.StringArrayVar(&p.files, "requirements", nil, "install the packages that this `FILE` lists, one a line (repeatable)")
	p.registerIndex(f)
}

func (p *packageFlags) registerIndex(f *pflag.FlagSet) {
	f.StringVar(&p.index, "index", "",
		"`URL` of the package index (default: $SANDBOX_PYTHON_INDEX, _NPM_ or _GEM_, or that of the language)")
}

// requirements reads the flags and the files that they name.
func (p *packageFlags) requirements() ([]string, error) {
	all := p.names
	for _, file := range p.files {
		text, err := inputfile.Read(file, maxTextFile)
		if err != nil {
			return nil, fmt.Errorf("--requirements: %w", err)
		}
		all = append(all, api.RequirementsOfFile(string(text))...)
	}
	if len(all) == 0 && p.index != "" {
		return nil, errors.New("--index needs packages: add --requirement")
	}
	return all, nil
}

// indexVariable is the environment variable with the index of a kind of packages.
func indexVariable(kind api.PackageKind) string {
	return "SANDBOX_" + strings.ToUpper(string(kind)) + "_INDEX"
}

// indexOf is the index of an installation; empty: that of the language.
func (c *cli) indexOf(l api.Language, flag string) string {
	if l.Packages == nil {
		return flag
	}
	return cmp.Or(flag, c.env(indexVariable(l.Packages.Kind)))
}

// withPackages has do send a request that needs packages. If they are not installed, it has them
// installed, relays the installer's connections meanwhile, and has do send the request again: a refused
// request has read no input.
func withPackages[T any](ctx context.Context, c *cli, a *caller.Agent, l api.Language, r api.PackageRequest,
	noBuild bool, do func() (T, error)) (T, error) {
	if len(r.Requirements) == 0 {
		return do()
	}
	if l.Packages != nil && !noBuild {
		if err := c.ensureInstaller(ctx, a, l); err != nil {
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
		if _, err := c.install(ctx, a, l, r); err != nil {
			return res, err
		}
	}
}

// ensureInstaller builds the image with the installer of a language if it is missing.
func (c *cli) ensureInstaller(ctx context.Context, a *caller.Agent, l api.Language) error {
	stored := func(l api.Language) bool { return l.Packages != nil && l.Packages.Stored }
	as := l
	as.Image = l.Packages.Image
	as.ImageFrom = "" // that of the language
	return c.ensureImageOf(ctx, a, as, "the installer of packages of "+l.Name, stored)
}

// install has a set of packages installed.
func (c *cli) install(ctx context.Context, a *caller.Agent, l api.Language,
	r api.PackageRequest) (api.PackageSet, error) {
	if l.Packages == nil {
		return api.PackageSet{}, api.Refuse(api.CodeBadRequest, "packages cannot be installed for language %s", l.Name)
	}

	c.note("installing %s: this happens once", strings.Join(r.Requirements, " "))
	p := c.progress("installing packages")
	defer p.end()

	return retryWhileBusy(ctx, c, time.Minute, func(ctx context.Context) (api.PackageSet, error) {
		set, _, err := relay.With(ctx, c.relayUser, relay.Request{Installer: l.Packages, Index: r.Index},
			func(ctx context.Context, network func([]*os.File)) (api.PackageSet, error) {
				return a.InstallPackages(ctx, r, client.Events{Stdout: stepWriter{p}, Network: network})
			})
		return set, err
	})
}

// A stepWriter shows the last line that an installer printed as the step of a progress.
type stepWriter struct{ p *progress }

func (s stepWriter) Write(b []byte) (int, error) {
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	if last := strings.TrimSpace(string(lines[len(lines)-1])); last != "" {
		s.p.setStep(fmt.Sprintf("%.100s", last))
	}
	return len(b), nil
}
