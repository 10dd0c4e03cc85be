package api

import "time"

// Validate refuses a request that contradicts itself or that no agent could carry
// out. It knows nothing of ceilings, stored images or languages.
func (s SessionRequest) Validate() error {
	switch {
	case s.Language == "" && s.Image == "" && s.Snapshot == "":
		return Refuse(CodeBadRequest, "the session names neither a language nor an image: set one of them")
	case s.Life < 0 || s.Idle < 0:
		return Refuse(CodeBadLimits, "a session's life or idle time is negative")
	case s.Life != 0 && s.Life < Duration(time.Second):
		return Refuse(CodeBadLimits, "life is %s: the least is 1s", s.Life)
	case s.Idle != 0 && s.Idle < Duration(100*time.Millisecond):
		return Refuse(CodeBadLimits, "idle is %s: the least is 100ms", s.Idle)
	case s.Snapshot != "":
		if _, ref := CutSpace(s.Snapshot); SnapshotRef(ref) != nil {
			return SnapshotRef(ref)
		}
	}

	if s.Network != "" && s.Network != NetworkNone {
		return Refuse(CodeUnsupported, "network %.80q is not offered for sessions: use none, or a run", s.Network)
	}

	as := Run{
		Language: s.Language, Image: s.Image, Requirements: s.Requirements, Index: s.Index, Env: s.Env,
		Preset: s.Preset, Labels: s.Labels, WorkdirAlias: s.WorkdirAlias,
		Profile: s.Profile, ProfileMode: s.ProfileMode, ProfileRules: s.ProfileRules,
	}

	for _, check := range []func() error{
		validateMetadata(s.Metadata),
		as.validateArgs, as.validateChoices, as.validatePackages, s.validateVolume, s.Limits.Validate, s.ExecLimits.Validate,
		func() error { return s.Limits.refuseScope(OfExec, "only for execs: set it in exec_limits") },
		func() error {
			return s.ExecLimits.refuseScope(OfSession, "only for the whole session: set it in limits")
		},
	} {
		if err := check(); err != nil {
			return err
		}
	}

	return nil
}

// Validate refuses an exec that contradicts itself or that no session could carry out.
func (e Exec) Validate() error {
	as := Run{Language: "any", Source: e.Source, SourceName: e.SourceName, Argv: e.Argv, Stdin: e.Stdin, Env: e.Env,
		Limits: e.Limits, Collect: e.Collect, Timeline: e.Timeline, TTY: e.TTY}
	if err := as.Validate(); err != nil {
		return err
	}
	if err := e.validateResident(); err != nil {
		return err
	}
	return e.Limits.refuseScope(OfSession, "only for the whole session: leave it out")
}
