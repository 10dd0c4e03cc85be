package plan

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// A Session is the complete decision about a session: everything that its creation and its
// execs apply.
type Session struct {
	Ask        api.SessionRequest
	Language   Language
	Image      rootfs.Image
	Cell       Cell
	Limits     api.Limits // of everything together; those of a single exec are zero
	Exec       api.Limits // of an exec that requests none
	Idle, Life time.Duration
}

// Session decides everything about a session that can be decided before the host is touched.
// Its errors are for the caller to fix.
func (pl *Planner) Session(ctx context.Context, ask api.SessionRequest, caller api.Caller) (*Session, error) {
	if err := ask.Validate(); err != nil {
		return nil, err
	}
	if err := pl.checkCpusetAllowed(ask.Limits.Cpuset, caller); err != nil {
		return nil, err
	}

	if err := pl.checkOwnImage(&ask, caller); err != nil {
		return nil, err
	}

	as := api.Run{
		Language: ask.Language, Image: ask.Image, Requirements: ask.Requirements, Index: ask.Index,
		WritableRoot: ask.WritableRoot, WorkdirAlias: ask.WorkdirAlias,
		Profile: ask.Profile, ProfileMode: ask.ProfileMode, ProfileRules: ask.ProfileRules,
		TTY: &api.TTY{}, // any of its execs may have one
	}

	lang, err := pl.language(as)
	if err != nil {
		return nil, err
	}

	p := &Session{Ask: ask, Language: lang}
	if p.Image, err = pl.image(ctx, as, lang); err != nil {
		return nil, err
	}

	p.Language.setImage(p.Image)
	if ask.OwnImage {
		p.Language.imageEnv = over(p.Language.imageEnv, map[string]string{"HOME": "/root"})
	}
	if p.Image, err = pl.withPackages(as, &p.Language, p.Image, caller); err != nil {
		return nil, err
	}

	s := p.Language.runStage(false)
	whole, err := EffectiveLimits(ask.Limits, ask.Preset, s.limits, pl.Ceiling)
	if err != nil {
		return nil, err
	}
	if err := pl.cpusetWithin(whole.Cpuset); err != nil {
		return nil, err
	}

	p.Limits = api.Limits{
		Memory: whole.Memory, Swap: whole.Swap, CPUs: whole.CPUs, Weight: whole.Weight, Cpuset: whole.Cpuset,
		Pids: whole.Pids, Scratch: whole.Scratch, Inodes: whole.Inodes,
	}
	if p.Exec, err = pl.execLimits(p, api.Limits{}, false); err != nil {
		return nil, err
	}
	if p.Idle, p.Life, err = pl.lifetimes(ask); err != nil {
		return nil, err
	}

	f, err := pl.policy(as, s.tier, caller)
	if err != nil {
		return nil, err
	}

	if ask.OwnImage {
		if f, err = pl.ownImagePolicy(f, len(ask.ProfileRules) > 0); err != nil {
			return nil, err
		}
	}

	p.Cell = cellFor(p.Image, f, s.fullProc, api.InSession)
	p.Cell.Key.OwnsImage = ask.OwnImage
	p.Cell.Key.Alias = as.WorkdirAlias
	if ask.WritableRoot {
		p.Cell.makeWritable(whole)
	}
	return p, nil
}

// checkOwnImage refuses own_image to callers that may not have it, and gives the others a writable root.
func (pl *Planner) checkOwnImage(ask *api.SessionRequest, caller api.Caller) error {
	if !ask.OwnImage {
		return nil
	}
	if caller.UID != 0 && !pl.OwnImage {
		return api.Refuse(api.CodeForbidden, "own_image shows programs a user namespace of their own, and this agent "+
			"allows it only to root: use writable_root, or have the operator allow it to all callers (brigd --own-image)")
	}
	ask.WritableRoot = true
	return nil
}

// Reservation is the memory that the host reserves for a session.
func (p *Session) Reservation() api.Size {
	return p.Limits.Memory + p.Limits.Swap + p.Limits.Scratch + PollMemory(p.Limits.Pids,
		p.Exec.OpenFiles) + p.Cell.listingMemory(p.Exec.OpenFiles)
}

// lifetimes fills in what the request leaves open and checks it against the ceiling.
func (pl *Planner) lifetimes(ask api.SessionRequest) (idle, life time.Duration, err error) {
	maximum := pl.SessionLife
	if ask.Life > maximum {
		return 0, 0, api.Refuse(api.CodeAboveCeiling,
			"life is %s, above this agent's ceiling of %s: ask for less, or have the operator raise it (brigd "+
				"--max-session-life)", ask.Life, maximum)
	}
	l := cmp.Or(ask.Life, min(api.SessionLife, maximum))
	return time.Duration(min(cmp.Or(ask.Idle, api.SessionIdle), maximum)), time.Duration(l), nil // the life may get longer
}

// longestLife is how long a session can live at most: its life may become longer than it was made for.
func (pl *Planner) longestLife(p *Session) time.Duration {
	return max(p.Life, time.Duration(pl.SessionLife))
}

// execLimits completes what an exec requests: from the session's defaults for execs, the preset,
// the language and the defaults. If the exec does not request memory, processors or processes, it
// gets all that the session has. A request for more than that is refused.
func (pl *Planner) execLimits(p *Session, wish api.Limits, resident bool) (api.Limits, error) {
	asked, ceiling := wish.Over(p.Ask.ExecLimits), pl.Ceiling
	if resident {
		asked, ceiling = residentLimits(asked, ceiling, pl.longestLife(p))
	}

	ofLanguage := p.Language.runStage(false).limits
	l, err := EffectiveLimits(asked, p.Ask.Preset, ofLanguage, ceiling)
	if err != nil {
		return l, err
	}

	above := func(name string, value, maximum any) error {
		return api.Refuse(api.CodeAboveCeiling,
			"limit %s of an exec is %v, above the session's %v: ask for less, or for a larger session", name, value, maximum)
	}
	whole := p.Limits
	switch {
	case asked.Memory > whole.Memory:
		return l, above("memory", asked.Memory, whole.Memory)
	case asked.CPUs > whole.CPUs:
		return l, above("cpus", asked.CPUs, whole.CPUs)
	case asked.Pids > whole.Pids:
		return l, above("pids", asked.Pids, whole.Pids)
	}

	l.Memory, l.CPUs, l.Pids = cmp.Or(asked.Memory, whole.Memory), cmp.Or(asked.CPUs, whole.CPUs),
		cmp.Or(asked.Pids, whole.Pids)
	l.Stack = min(cmp.Or(asked.Over(ofLanguage.CappedBy(pl.Ceiling)).Stack, l.Memory), l.Memory)
	l.Swap, l.Weight, l.Cpuset, l.Scratch, l.Inodes = whole.Swap, whole.Weight, whole.Cpuset, whole.Scratch, whole.Inodes
	return l, l.Validate()
}

// startDir is that of the image, if the session's volume does not hide it: what the image has below
// /workspace is below the volume.
func (s *Session) startDir() string {
	dir := startDir(s.Language.Name, s.Image)
	if s.Ask.Volume != nil && strings.HasPrefix(dir, "/workspace/") {
		return "/workspace"
	}
	return dir
}

// Exec plans one exec, and the compile stage before it where there is one.
func (pl *Planner) Exec(s *Session, e api.Exec) (run, compile *Run, err error) {
	if err := e.Validate(); err != nil {
		return nil, nil, err
	}
	if e.Source != nil && s.Language.Name == "" {
		return nil, nil, api.Refuse(api.CodeBadRequest, "source needs a language to run it: this session names an image")
	}

	limits, err := pl.execLimits(s, e.Limits, e.StaysWithoutSlot())
	if err != nil {
		return nil, nil, err
	}

	if err := s.Cell.Policy.checkTerminal(e.TTY); err != nil {
		return nil, nil, err
	}

	given := cmp.Or(e.SourceName, s.Language.SourceFile)
	what := program{args: e.Argv}
	ofLanguage := s.Language.runStage(e.Interactive)
	if e.Source != nil {
		what.command, what.words.Source = ofLanguage.command, given
		if len(s.Language.Compile) > 0 {
			what.words.Source = s.Language.compiledName(api.Run{}, given)
		}
	}

	run = ofLanguage.newRun(what, terminalEnv(over(e.Env, s.Ask.Env), e.TTY), limits)
	run.ID = NewID()
	run.Stage = api.StageRun
	run.Mode = api.InSession
	run.Cell = s.Cell
	run.Dir = s.startDir()
	run.Stdin = e.Stdin
	run.MergeStderr = e.MergeStderr || e.TTY != nil
	run.TTY = e.TTY
	run.Resident = e.StaysWithoutSlot()
	run.Control = e.Control
	run.Collect = e.Collect
	run.Collect.None = len(e.Collect.Globs) == 0
	run.Labels = s.Ask.Labels
	run.Timeline = e.Timeline
	run.Backstop = api.Duration(float64(pl.longestLife(s)) * max(limits.CPUs, 1))
	if err := run.checkStart(nil); err != nil || e.Source == nil {
		return run, nil, err
	}

	main := what.words.Source
	source := []api.File{{Name: main, Content: e.Source}}
	if len(s.Language.Compile) == 0 {
		run.Files = source
		return run, nil, nil
	}
	if err := s.Language.checkNotArtifact(source); err != nil {
		return nil, nil, err
	}

	compile, err = pl.compile(
		api.Run{
			Source: e.Source, Image: s.Ask.Image, Labels: s.Ask.Labels, Mode: pl.modeFor(""), MergeStderr: e.MergeStderr,
		}, s.Language, s.Image, main, source)
	if err == nil {
		compile.ID, compile.SourceName = run.ID, given
	}
	return run, compile, err
}
