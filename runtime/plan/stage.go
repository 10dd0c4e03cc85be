package plan

import (
	"maps"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// A stage is one way to execute a program, as a language describes it. The fields of a manifest that describe
// executions are read here and nowhere else, so that none is forgotten where a program is executed in another way:
// in a run, a test, a checker, an interactor, an exec of a session, a compiler or a parser
// (TestEveryFieldOfAManifest). The zero value is a command of an image.
type stage struct {
	command   []string // with placeholders
	imageEnv  map[string]string
	env       map[string]string // the language's, over the image's; with placeholders
	limits    api.Limits        // defaults; zero fields are the caller's own defaults
	tier      string
	fullProc  bool
	artifacts []string // that the stage makes, or that the run gets

	oomExitCode int
	oomSays     string

	packages *rootfs.PackageSet // nil: none
}

// runStage executes programs of the language.
func (l Language) runStage(interactive bool) stage {
	env := l.Env
	if interactive {
		env = over(l.InteractiveEnv, l.Env)
	}

	return stage{
		command:     l.Run,
		imageEnv:    l.imageEnv,
		env:         env,
		limits:      l.Limits,
		tier:        l.Tier,
		fullProc:    l.Proc == "full",
		oomExitCode: l.OOMExitCode,
		oomSays:     l.OOMSays,
		packages:    l.packages,
	}
}

// compileStage makes the artifacts of a program.
func (l Language) compileStage() stage {
	return stage{
		command:   l.Compile,
		imageEnv:  l.imageEnv,
		env:       l.CompileEnv,
		limits:    l.CompileLimits,
		tier:      l.CompileTier,
		fullProc:  l.Proc == "full",
		artifacts: l.Artifacts,
	}
}

// syntaxStage parses a source as a run would, and makes nothing.
func (l Language) syntaxStage() stage {
	s := l.runStage(false)
	s.command = l.Syntax
	s.oomExitCode, s.oomSays, s.packages = 0, "", nil
	return s
}

// over returns the variables of base, and over them those of env.
func over(env, base map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, base)
	maps.Copy(all, env)
	return all
}

// A program is the command of a stage, and its variables. Their placeholders have values when the limits are known,
// and a test may have limits of its own.
type program struct {
	command []string // with placeholders; empty: the arguments are the command
	words   languages.Placeholders
	args    []string
	env     map[string]string // of the request
	stage   stage
}

// variables returns the environment of a stage: the image's variables, over them the language's, over them own.
func (s stage) variables(words languages.Placeholders, own map[string]string) []string {
	return Environment(over(words.ExpandEnv(s.env), s.imageEnv), own)
}

// newRun begins the plan of a stage. env are variables of the request.
func (s stage) newRun(p program, env map[string]string, limits api.Limits) *Run {
	p.stage, p.env = s, env
	r := &Run{
		Source:      p.words.Source,
		Artifacts:   s.artifacts,
		OOMExitCode: s.oomExitCode,
		OOMMessage:  s.oomSays,
		Packages:    s.packages,
		program:     p,
	}
	r.setLimits(limits)
	return r
}

// setLimits sets the limits of a run, which its command and its variables may name.
func (p *Run) setLimits(limits api.Limits) {
	words := p.program.words
	words.Memory, words.Stack = limits.Memory, limits.Stack

	p.Limits = limits
	p.Argv = words.Expand(p.program.command, p.program.args)
	if p.Env == nil || languages.HasPlaceholders(p.program.stage.env) {
		p.Env = p.program.stage.variables(words, p.program.env)
	}
}
