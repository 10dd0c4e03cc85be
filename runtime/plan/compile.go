package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/seccomp"
)

// compile plans the compile stage: a run of the compiler like any other run, under its own
// limits and profile, whose outputs are the artifacts.
func (pl *Planner) compile(r api.Run, lang Language, image rootfs.Image, main string, inputs []api.File) (*Run, error) {
	limits, err := EffectiveLimits(r.CompileLimits, "", lang.CompileLimits.Over(languages.CompileDefaults()), pl.Ceiling)
	if err != nil {
		return nil, err
	}
	if r.CompileLimits.Memory == 0 {
		limits.Memory = min(limits.Memory, pl.Memory)
	}
	if err := pl.cpusetWithin(limits.Cpuset); err != nil {
		return nil, err
	}
	flags, err := lang.ChooseFlags(r.Flags)
	if err != nil {
		return nil, err
	}
	f, err := pl.cachedPolicy(policyKey{lang.CompileTier, api.Enforce, false}, func() (seccomp.Profile, error) { return pl.profile(lang.CompileTier) })
	if err != nil {
		return nil, err
	}
	mode := cmp.Or(r.Mode, api.Strict)
	p := &Run{
		Stage:  api.StageCompile,
		Mode:   mode,
		Argv:   languages.Placeholders{Source: main, Sources: lang.Sources(inputs, main), Flags: flags, Memory: limits.Memory, Stack: limits.Stack}.Expand(lang.Compile, nil),
		Env:    Environment(lang.over(lang.CompileEnv), nil),
		Files:  inputs,
		Source: main,
		Limits: limits, Artifacts: lang.Artifacts, Labels: r.Labels,
		Collect: api.Collect{Files: MaxArtifacts, Bytes: MaxArtifactBytes},
		Once:    mode != api.Strict || f.ReachesKeyring,
		Cell:    cellFor(image, f, lang.FullProc, mode),
	}
	return p, p.checkStart(nil)
}

// syntax plans a syntax check as the compile stage of a language without a compiler: the
// language's own parser reads the source. With a hundred tests a syntax error is then reported
// once. Without tests the run reports it as well, and sooner. The limits are those of the tests,
// which could not read the source with less either, so the job reserves no more memory.
func (pl *Planner) syntax(r api.Run, lang Language, image rootfs.Image, main string, inputs []api.File, limits api.Limits) (*Run, error) {
	lang.Compile, lang.CompileEnv, lang.CompileTier = lang.Syntax, lang.Env, lang.Tier
	p, err := pl.compile(r, lang, image, main, inputs)
	if err != nil {
		return nil, err
	}
	p.Collect, p.Syntax, p.Limits = api.Collect{None: true}, true, limits
	// The parser has the same stack as the tests: it must be able to read whatever they can run.
	p.Argv = languages.Placeholders{Source: main, Memory: limits.Memory, Stack: limits.Stack}.Expand(lang.Syntax, nil)
	return p, nil
}

// The most that one compilation may leave (CMP-07).
const (
	MaxArtifacts     = 1024
	MaxArtifactBytes = 64 * api.MiB
)

// ArtifactKey is a hash of everything that decides what a compile stage makes: image, packages, profile,
// command, environment and every byte of its inputs (CMP-16). Limits are not included: they decide
// whether the artifacts are made, not what they contain.
func ArtifactKey(p *Run) string {
	type input struct {
		Name       string
		Executable bool
		Sum        [sha256.Size]byte
	}
	inputs := make([]input, 0, len(p.Files))
	for _, f := range p.Files {
		inputs = append(inputs, input{f.Name, f.Executable, sha256.Sum256(f.Content)})
	}
	slices.SortFunc(inputs, func(a, b input) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal(struct {
		Format    int
		Image     string
		Policy    string
		FullProc  bool
		Argv, Env []string
		Artifacts []string
		Inputs    []input
		Packages  string `json:",omitempty"`
	}{artifactFormat, p.Cell.Key.Image, p.Cell.Key.Policy, p.Cell.Key.FullProc, p.Argv, p.Env, p.Artifacts, inputs, p.Cell.Key.Packages})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// artifactFormat changes when the stored form changes.
const artifactFormat = 1
