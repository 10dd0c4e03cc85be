package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
	s := lang.compileStage()
	limits, err := EffectiveLimits(r.CompileLimits, "", s.limits.Over(languages.CompileDefaults()), pl.compileCeiling())
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

	words := languages.Placeholders{
		Source: main, Sources: lang.Sources(inputs, main), Flags: slices.Concat(flags, r.FreeFlags.Compile), Link: r.FreeFlags.Link,
	}
	p, err := pl.beforeRun(s, words, r, image, inputs, limits)
	if err != nil {
		return nil, err
	}

	p.Collect = api.Collect{Files: MaxArtifacts, Bytes: MaxArtifactBytes}
	p.Uncached = len(r.FreeFlags.Compile)+len(r.FreeFlags.Link) > 0
	if p.Template, p.Cold, err = pl.compileTemplate(r, lang, image, p); err != nil {
		return nil, err
	}
	return p, p.checkStart(nil)
}

// compileCeiling is the most that a compile stage may request. Its wall time may be longer than that of a run, as
// long as its processor time is not: on a busy host a compiler takes many times as long.
func (pl *Planner) compileCeiling() api.Limits {
	maximum := pl.Ceiling
	maximum.CPU = cmp.Or(maximum.CPU, maximum.Wall)
	maximum.Wall = api.BusyWall(maximum.Wall)
	return maximum
}

// syntax plans a syntax check as the compile stage of a language without a compiler: the
// language's own parser reads the source. With a hundred tests a syntax error is then reported
// once. Without tests the run reports it as well, and sooner. The limits are those of the tests,
// which could not read the source with less either, so the job reserves no more memory.
func (pl *Planner) syntax(r api.Run, lang Language, image rootfs.Image, main string, inputs []api.File,
	limits api.Limits) (*Run, error) {
	p, err := pl.beforeRun(lang.syntaxStage(), languages.Placeholders{Source: main}, r, image, inputs, limits)
	if err != nil {
		return nil, err
	}
	p.Collect, p.Syntax = api.Collect{None: true}, true
	return p, p.checkStart(nil)
}

// beforeRun plans a stage before the run, which reads the source: a compiler, or a parser.
func (pl *Planner) beforeRun(s stage, words languages.Placeholders, r api.Run, image rootfs.Image, inputs []api.File,
	limits api.Limits) (*Run, error) {
	f, err := pl.cachedPolicy(policyKey{profile: s.tier, mode: api.Enforce},
		func() (seccomp.Profile, error) { return pl.profile(s.tier) })
	if err != nil {
		return nil, err
	}

	p := s.newRun(program{command: s.command, words: words}, nil, limits)
	p.Stage = api.StageCompile
	p.Mode = r.Mode
	p.Files = inputs
	p.Labels = r.Labels
	p.MergeStderr = r.MergeStderr
	p.Once = r.Mode != api.Strict || f.ReachesKeyring
	p.Cell = cellFor(image, f, s.fullProc, r.Mode)
	return p, nil
}

// The most that one compilation may leave (CMP-07).
const (
	MaxArtifacts     = 1024
	MaxArtifactBytes = 64 * api.MiB
)

// ArtifactKey is a hash of everything that decides what a compile stage makes: image, packages, profile,
// command, environment and every byte of its inputs (CMP-16). Limits are not included: they decide
// whether the artifacts are made, not what they contain. What used more than a request permits is not taken for it.
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
		Merged    bool   `json:",omitempty"` // its report is kept with the artifacts
	}{artifactFormat, p.Cell.Key.Image, p.Cell.Key.Policy, p.Cell.Key.FullProc, p.Argv, p.Env, p.Artifacts,
		inputs, p.Cell.Key.Packages, p.MergeStderr})
	if err != nil {
		panic(err) // strings and numbers always encode
	}

	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// artifactFormat changes when the stored form changes, or its meaning: before 2, a syntax check that met a limit was kept
// as one that found nothing.
const artifactFormat = 2

// An InvalidArtifact is the error of a run whose compiler succeeded with a program that cannot be
// started: it is a library, names an interpreter that does not exist, or is larger than the
// scratch. The program's author must fix that, so it becomes the verdict compile-error and never an
// api.Error: a submission must not be able to avoid a verdict (CMP-20,
// TestHostileProgramsGetAVerdict).
type InvalidArtifact struct{ Reason string }

func (e *InvalidArtifact) Error() string { return e.Reason }

// ArtifactTooLarge is the error for an artifact that does not fit in the run's limits.
func ArtifactTooLarge(name, why string) error {
	return &InvalidArtifact{fmt.Sprintf("brig: %s was compiled, but %s\n", name, why)}
}
