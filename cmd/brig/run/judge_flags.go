package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
)

// judgeFlags are the checker and the interactor of brig run --tests.
type judgeFlags struct {
	checker, interactor string // files
	protocol            string
	args, files         []string
	passes              int

	checkerSource, interactorSource cli.Source
}

func (j *judgeFlags) register(f *pflag.FlagSet) {
	var none api.Protocol
	var names []string
	for _, p := range none.Values() {
		names = append(names, string(p))
	}

	f.StringVar(&j.checker, "check", "",
		"with --tests: `FILE` of a checker, which judges the output instead of --compare; its language follows from the extension")
	f.StringVar(&j.interactor, "interactor", "", "with --tests: `FILE` of an interactor, which talks with the program")
	f.StringVar(&j.protocol, "check-protocol", "",
		"how the checker or the interactor is called: `NAME` is "+strings.Join(names, ", ")+"; see docs/judging.md")
	f.StringArrayVar(&j.args, "check-arg", nil, "`ARG` for the checker or the interactor (repeatable)")
	f.StringArrayVar(&j.files, "check-file", nil,
		"a file next to the checker or the interactor, such as testlib.h: `[NAME=]PATH` (repeatable)")
	f.IntVar(&j.passes, "passes", 0,
		"most passes of a multi-pass problem; 2 with testlib: the program runs twice (default 1)")
}

// apply reads the files and fills in the request.
func (j *judgeFlags) apply(r *api.Run, tests bool) error {
	switch {
	case j.checker == "" && j.interactor == "":
		if j.protocol != "" || len(j.args)+len(j.files) > 0 || j.passes != 0 {
			return errors.New("--check-protocol, --check-arg, --check-file and --passes are for a checker or an " +
				"interactor: add --check FILE or --interactor FILE")
		}
		return nil
	case !tests:
		return errors.New("--check and --interactor judge tests: add --tests DIR")
	case j.protocol == "":
		return errors.New("--check and --interactor need --check-protocol: it says how the program is called and " +
			"what its exit code means, such as testlib or kattis")
	}

	r.Passes = j.passes
	protocol := api.Protocol(j.protocol)
	if j.checker != "" {
		p, s, err := j.program("--check", j.checker)
		if err != nil {
			return err
		}
		r.Check, j.checkerSource = &api.Check{Program: p, Protocol: protocol}, s
		if j.interactor == "" {
			r.Check.Args = j.args
		}
	}

	if j.interactor != "" {
		p, s, err := j.program("--interactor", j.interactor)
		if err != nil {
			return err
		}
		r.Interactor, j.interactorSource = &api.Interactor{Program: p, Protocol: protocol, Args: j.args}, s
	}

	return nil
}

func (j *judgeFlags) program(flag, file string) (p api.Program, s cli.Source, err error) {
	if file == "-" {
		return p, s, fmt.Errorf("%s -: name a file", flag)
	}
	if s, err = cli.ReadSource(file, nil); err != nil {
		return p, s, fmt.Errorf("%s: %w", flag, err)
	}
	if err := s.CheckLanguageKnown(); err != nil {
		return p, s, fmt.Errorf("%s: the file needs an extension or a #! line that shows its language", flag)
	}

	p.Source, p.SourceName, p.Language = cli.SourceBytes(s.Text), s.Name, "any" // not known yet
	for _, spec := range j.files {
		name, from, ok := strings.Cut(spec, "=")
		if !ok {
			name, from = filepath.Base(spec), spec
		}
		files, err := readInputs(name, from)
		if err != nil {
			return p, s, fmt.Errorf("--check-file: %w", err)
		}
		p.Files = append(p.Files, files...)
	}

	return p, s, nil
}

// resolveJudges finds the languages of the checker and the interactor, and builds missing images.
func resolveJudges(ctx context.Context, c *cli.CLI, agent *caller.Agent, o *runOptions, all []api.Language) error {
	resolve := func(p *api.Program, s cli.Source) error {
		l, err := cli.LanguageOf(all, "", s)
		if err != nil {
			return err
		}
		p.Language = l.Name
		return images.EnsureImage(ctx, c.Quiet(o.quiet), agent, l, o.noBuild)
	}

	if o.run.Check != nil {
		if err := resolve(&o.run.Check.Program, o.judges.checkerSource); err != nil {
			return err
		}
	}
	if o.run.Interactor != nil {
		return resolve(&o.run.Interactor.Program, o.judges.interactorSource)
	}
	return nil
}
