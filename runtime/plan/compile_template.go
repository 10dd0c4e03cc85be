package plan

import (
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// templateMark is the file that a compiler opens when it has warmed up. No image has it.
const templateMark = "/usr/lib/brig/template-mark"

// compileDriver is the kind of the driver that makes templates of compilers.
const compileDriver = "compiler"

// compileTemplate decides whether a compile stage begins from a template. If the language has one and the
// stage does not begin from it, cold says why.
//
// There is one template for a language and an image: that of the usual limits of its compile stage. So no
// caller can have the agent make many, each of which takes seconds of processor time (TPL-15).
func (pl *Planner) compileTemplate(r api.Run, lang Language, image rootfs.Image, p *Run) (*Template, string, error) {
	from := lang.CompileTemplate
	if from == nil || !pl.CompileTemplates {
		return nil, "", nil
	}

	s := lang.compileStage()
	made := &Template{threads: true, Of: lang.Name + " " + lang.Version, LackSays: from.LackSays}
	usual, err := EffectiveLimits(api.Limits{}, "", s.limits.Over(languages.CompileDefaults()), pl.compileCeiling())
	if err != nil {
		return nil, "", err
	}
	usual.Memory = min(usual.Memory, pl.Memory)
	made.memory, made.stack = usual.Memory, usual.Stack

	if cold := pl.coldCompile(r, p, usual, made); cold != "" {
		return nil, cold, nil
	}

	limits, err := EffectiveLimits(api.Limits{}, "", compileTemplateLimits().Over(usual), pl.compileCeiling())
	if err != nil {
		return nil, "", err
	}

	limits.Memory = min(limits.Memory, pl.Memory)
	limits.Stack = usual.Stack
	driver := pl.TemplateDrivers[compileDriver]
	words := p.program.words
	words.Memory, words.Stack = usual.Memory, usual.Stack
	made.Make = &Run{
		ID: p.ID, Stage: api.StageCompile, Mode: p.Mode, Limits: limits, Collect: api.Collect{None: true}, Cell: p.Cell,
		Argv: words.Expand(from.WarmUp, []string{templateMark}),
		Env: slices.Concat(s.variables(words, nil),
			[]string{"LD_PRELOAD=/box/" + templateDriver, "BRIG_TEMPLATE=/box/" + TemplateFile}),
		Files: []api.File{{Name: templateDriver, Content: driver.object}},
	}

	trials := ""
	for _, source := range from.Trials {
		made.Alike = append(made.Alike, pl.trialCompile(lang, p, usual, source))
		trials += source + "\x00"
	}

	made.Key = templateKey(made.Make, driver, trials)
	return made, "", nil
}

// trialCompile plans a compile stage of a trial, with the flags and limits that the language's have.
func (pl *Planner) trialCompile(lang Language, p *Run, usual api.Limits, source string) *Run {
	words := p.program.words
	words.Source, words.Sources, words.Flags, words.Link = lang.SourceFile, []string{lang.SourceFile}, lang.DefaultFlags, nil
	s := lang.compileStage()
	trial := s.newRun(program{command: s.command, words: words}, nil, usual)
	trial.ID, trial.Stage, trial.Mode, trial.Cell = p.ID, p.Stage, p.Mode, p.Cell
	trial.Files = []api.File{{Name: lang.SourceFile, Content: []byte(source)}}
	trial.Collect = api.Collect{Files: MaxArtifacts, Bytes: MaxArtifactBytes}
	return trial
}

// coldCompile says why a compile stage cannot begin from the template made; empty: it can.
func (pl *Planner) coldCompile(r api.Run, p *Run, usual api.Limits, made *Template) string {
	switch {
	case pl.NoTemplates != "":
		return pl.NoTemplates
	case len(pl.TemplateDrivers) == 0:
		return "templates are switched off on this agent"
	case r.NoTemplate:
		return "the request asks for the ordinary start"
	case r.Image != "":
		return "the request names an image"
	case p.Mode != api.Strict:
		return "mode " + string(p.Mode) + " shares nothing between runs"
	case p.Packages != nil || p.Cell.Key.Packages != "":
		return "the compile stage has packages"
	case p.Limits.CPUs != usual.CPUs || p.Limits.Cpuset != "" || !made.takes(p.Limits):
		return coldLimits
	}
	return ""
}

// compileTemplateLimits are those of the stage that makes a template of a compiler. It takes only what the image needs:
// nothing of a user's is in it.
func compileTemplateLimits() api.Limits {
	l := templateLimits()
	l.Stack = 0
	l.CPU, l.Wall = api.Duration(30e9), api.BusyWall(api.Duration(30e9))
	l.Memory = api.GiB
	return l
}
