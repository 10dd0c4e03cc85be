package generate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
)

// The limits of a build script: those of a compiler.
var buildLimits = api.Limits{CPU: api.Duration(28e9), Wall: api.BusyWall(28e9), Memory: 1 * api.GiB,
	Scratch: 256 * api.MiB}

// build runs the build scripts of the package. What one leaves takes the place of the script: a program that
// has a file run and no script means the same, and needs no building.
func (m *maker) build(ctx context.Context) (err error) {
	made, gone := map[string]api.File{}, map[string]bool{}
	for _, p := range m.p.Generate.Builds {
		files, err := m.buildOne(ctx, p)
		if err != nil {
			return err
		}
		gone[p.Main] = true
		for _, f := range files {
			name := path.Join(path.Dir(p.Main), f.Name)
			made[name], gone[name] = f, true
		}
		m.made()
	}

	if len(m.failures.All) > 0 {
		return &FailedError{m.failures}
	}
	if len(gone) > 0 {
		m.tree = m.tree.Only(func(name string) bool { return !gone[name] })
	}
	if m.added, err = m.tree.Additions(); err != nil {
		return err
	}

	for name, f := range made {
		if err := m.added.Add(name, f.Content, f.Executable || path.Base(name) == "run"); err != nil {
			if errors.Is(err, problem.ErrTooLarge) {
				m.mistake(name, "with it the files of the package are more than %s", problem.MaxBytes)
				err = &FailedError{m.failures}
			}
			return errors.Join(err, m.added.Discard())
		}
	}

	return nil
}

// buildOne runs one build script, and returns the files that are new or changed in its directory.
func (m *maker) buildOne(ctx context.Context, p problem.Program) ([]api.File, error) {
	language, err := m.x.Language(ctx, p.Language)
	if err != nil {
		return nil, fmt.Errorf("build script %s: %w", p.Main, err)
	}

	r, err := grade.Loader{Problem: m.p, Tree: m.tree}.Run(p)
	if err != nil {
		return nil, err
	}

	r.Language, r.Limits = language.Name, buildLimits.CappedBy(m.o.Ceiling)
	r.Profile = language.CompileTier // compilers start processes of their own
	r.Collect = api.Collect{Files: 1024, Bytes: MaxFile}
	res, failed := m.o.Alone(ctx, r)
	if failed != nil {
		return nil, fmt.Errorf("build script %s: %w", p.Main, failed)
	}

	var made []api.File
	for _, f := range res.Files {
		// What lies elsewhere is no part of it, nor are hidden files: no package has them.
		if name, own := strings.CutPrefix(f.Name, grade.ProgramDir+"/"); own && !problem.Ignored(name) {
			f.Name = name
			made = append(made, f)
		}
	}

	has := m.tree.Has(path.Join(path.Dir(p.Main), "run")) ||
		slices.ContainsFunc(made, func(f api.File) bool { return f.Name == "run" })
	switch {
	case res.Verdict != api.OK:
		if len(res.Stderr) == 0 {
			res.Stderr = res.Stdout
		}
		m.mistake(p.Main, "the script %s (brig runs it in the image of %s)", ended(res), language.Name)

	case len(res.Skipped) > 0:
		var names []string
		for _, s := range res.Skipped {
			names = append(names, fmt.Sprintf("%q (%s)", s.Name, s.Reason))
		}
		m.mistake(p.Main, "the script left what cannot be kept: %s", strings.Join(names, ", "))

	case !has:
		m.mistake(p.Main, "the script left no file run%s", stderrText(res))
	}

	return made, nil
}
