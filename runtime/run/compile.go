package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/cache"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// artifacts are what a compile stage made, with the report about it.
type artifacts struct {
	Files []api.File
	Info  api.Compilation
}

// Compile returns the artifacts of a compile stage, from the cache if it made them before, or the
// result of a stage that failed. Only the agent holds the artifacts: every run gets a copy, so that
// no run can change what another executes (CMP-16).
//
// k counts what is retained of it.
func (r *Runner) Compile(ctx context.Context, p *plan.Run, k *retention, begun time.Duration,
	turn pool.Turn) (made *artifacts, failed *api.Result, err error) {
	made, failed, err = r.compileOrGet(ctx, p, k, begun, turn)
	if made != nil { // others have the same artifacts from a source of another name
		made.Info.Stdout, made.Info.Stderr = p.Reported(made.Info.Stdout), p.Reported(made.Info.Stderr)
	}
	if failed != nil {
		failed.Stdout, failed.Stderr = p.Reported(failed.Stdout), p.Reported(failed.Stderr)
	}
	return made, failed, err
}

// compileOrGet is Compile, with the name of the source that the compiler has got in what it wrote.
func (r *Runner) compileOrGet(ctx context.Context, p *plan.Run, k *retention, begun time.Duration,
	turn pool.Turn) (made *artifacts, failed *api.Result, err error) {
	key := plan.ArtifactKey(p)
	if !p.Uncached {
		if err := k.Await(ctx, r.Pool, turn, r.cachedSize(key)); err != nil {
			return nil, nil, err
		}

		switch made, err := r.cachedArtifacts(key); {
		case err != nil:
			return nil, nil, err
		case made != nil && couldMake(p.Limits, made.Info):
			return made, nil, nil
		}
	}

	stage := k.Stage(compileRetention(p))
	turn.Memory = stage
	res, err := r.executeCompiler(ctx, p, begun, turn)
	defer func() { stage.End(int64(res.Content())) }()

	if err != nil {
		return nil, nil, err
	}
	// A parser that met a limit has not judged the source: the tests will. That is no answer to keep: a caller with other
	// limits, or a less loaded moment, would get it for the same source (TestSyntaxAtALimitIsNotKept).
	undecided := p.Syntax && res.Verdict != api.OK && res.Verdict != api.Nonzero && res.Verdict != api.Canceled
	if undecided {
		res.Verdict = api.OK
	}
	if res.Verdict == api.OK {
		res.Skipped = append(res.Skipped, missingArtifacts(p.Artifacts, res)...)
	}

	if res.Verdict != api.OK || len(res.Skipped) > 0 {
		res.Files = nil
		if res.Verdict == api.OK { // the compiler itself does not report it
			for _, s := range res.Skipped {
				res.Stderr = withLine(res.Stderr, fmt.Sprintf("brig: %s: %s\n", s.Name, s.Reason))
			}
		}
		if res.Verdict != api.Canceled {
			res.Verdict = api.CompileError
		}
		return nil, &res, nil
	}

	made = &artifacts{Files: res.Files, Info: api.Compilation{
		Key: key, Stdout: res.Stdout, Stderr: res.Stderr, Usage: res.Usage, Timing: res.Timing, Limits: res.Limits,
	}}
	for _, f := range made.Files {
		made.Info.Size += int64(len(f.Content))
	}

	if p.Uncached || undecided {
		return made, nil, nil
	}
	if err := r.cacheArtifacts(key, made); err != nil { // the only effect: the next run compiles again
		r.Log.Error("artifacts not cached", "err", err)
	}
	return made, nil, nil
}

// executeCompiler executes a compile stage from its template if that is ready. If it is not, the stage has the ordinary start:
// no caller waits longer than for the compiler alone.
//
// The two starts take different time, stack and heap. So a stage that lacked one of them is executed once more, in the
// other way; from the template, it waits for that. Whichever came first, the result is that of the template unless this
// one lacked stack or heap, and that of the ordinary start then: it does not depend on whether the template was ready.
func (r *Runner) executeCompiler(ctx context.Context, p *plan.Run, begun time.Duration, turn pool.Turn) (api.Result, error) {
	from := r.ready(p)
	defer func() { from.release() }()

	first, err := r.execute(ctx, p, from, Streams{}, begun, turn)
	if from.snapshot == nil {
		from.describe(&first)
	}
	lacked := lackOf(p, first)
	switch {
	case p.Template == nil, err != nil, lacked == nothing:
		return first, err

	case first.Host.Template: // the ordinary start takes more time, and may need less heap
		if lacked == duration {
			return first, nil
		}
		return r.execute(ctx, p, start{cold: "the compiler lacked stack or heap from its template"}, Streams{}, begun,
			nextStage)
	}

	from.release()
	if from, err = r.start(ctx, p); err != nil || from.snapshot == nil {
		return first, err
	}
	second, err := r.execute(ctx, p, from, Streams{}, begun, nextStage)
	if err == nil && second.Host.Template && lackOf(p, second) == room {
		return first, nil
	}
	return second, err
}

// A lack is what ended a compile stage, and could have been enough with another start.
type lack int

const (
	nothing lack = iota
	duration
	room // stack, heap or another limit
)

// lackOf says what a compile stage lacked. A compiler that lacks stack or heap may tell it like an error of the source:
// the manifest has the words. A source that contains them costs its own caller a second stage.
func lackOf(p *plan.Run, res api.Result) lack {
	switch res.Verdict {
	case api.OK, api.Canceled, api.Denied, api.OutputLimit:
		return nothing
	case api.CPULimit, api.WallLimit:
		return duration
	case api.Nonzero:
		if p.Template == nil || !p.Template.Lacks(res.Stdout, res.Stderr) {
			return nothing
		}
	}
	return room
}

// missingArtifacts lists the artifacts of which a compile stage left nothing: neither returned nor skipped,
// by name or with others.
func missingArtifacts(artifacts []string, res api.Result) (none []api.Skipped) {
	for _, name := range artifacts {
		if !slices.ContainsFunc(res.Files, func(f api.File) bool { return outputs.IsOrBelow(name, f.Name) }) &&
			!slices.ContainsFunc(res.Skipped,
				func(s api.Skipped) bool { return s.Name == outputs.UnnamedFiles || outputs.IsOrBelow(name, s.Name) }) {
			none = append(none, api.Skipped{Name: name, Reason: "the compiler did not create it"})
		}
	}
	return none
}

// withoutNames leaves out the inputs that have the name of an artifact.
func withoutNames(files, artifacts []api.File) []api.File {
	made := map[string]bool{}
	for _, a := range artifacts {
		made[a.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(files), func(f api.File) bool { return made[f.Name] })
}

// stored is an entry of the artifact cache: JSON, followed by the files' content.
type stored struct {
	Info  api.Compilation
	Files []storedFile
}

type storedFile struct {
	Name       string
	Executable bool
	Size       int
}

// cachedSize is how many bytes are stored under a key; zero if there are none.
func (r *Runner) cachedSize(key string) int64 {
	if r.Artifacts == nil {
		return 0
	}
	n, err := r.Artifacts.Size(key)
	if err != nil {
		return 0 // reading it reports what is wrong
	}
	return n
}

// cachedArtifacts returns the artifacts stored under a key, nil if there are none.
func (r *Runner) cachedArtifacts(key string) (*artifacts, error) {
	if r.Artifacts == nil {
		return nil, nil
	}

	entry, err := r.Artifacts.Get(key)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	a, err := decodeArtifacts(entry)
	if err != nil {
		return nil, err
	}
	if a.Info.Key != key { // the entry belongs to another key: compile again, and replace it
		return nil, nil
	}

	a.Info.Cached = true
	return a, nil
}

func (r *Runner) cacheArtifacts(key string, a *artifacts) error {
	if r.Artifacts == nil {
		return nil
	}
	entry, err := encodeArtifacts(a)
	if err != nil {
		return err
	}
	return r.Artifacts.Put(key, entry)
}

// encodeArtifacts makes the entry of the cache. It has no copy of the files: they may be large.
func encodeArtifacts(a *artifacts) (io.Reader, error) {
	head := stored{Info: a.Info}
	for _, f := range a.Files {
		head.Files = append(head.Files, storedFile{f.Name, f.Executable, len(f.Content)})
	}

	entry, err := json.Marshal(head) // no newline is inside, so that one marks the end
	if err != nil {
		return nil, err
	}

	parts := []io.Reader{bytes.NewReader(append(entry, '\n'))}
	for _, f := range a.Files {
		parts = append(parts, bytes.NewReader(f.Content))
	}
	return io.MultiReader(parts...), nil
}

func decodeArtifacts(entry []byte) (*artifacts, error) {
	text, content, _ := bytes.Cut(entry, []byte("\n"))
	var head stored
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}

	a := &artifacts{Info: head.Info}
	for _, f := range head.Files {
		if f.Size < 0 || f.Size > len(content) || api.FileName(f.Name) != nil {
			return nil, errors.New("an entry of the artifact cache is damaged: its list of files does not match its content")
		}
		a.Files = append(a.Files, api.File{Name: f.Name, Executable: f.Executable, Content: content[:f.Size:f.Size]})
		content = content[f.Size:]
	}

	return a, nil
}

// couldMake reports whether a compile stage with these limits would have made what another one made: with the limits of
// that one, with more, or with as much as it used. Otherwise a job's verdict would depend on who compiled the same source
// before, and with what limits.
func couldMake(limits api.Limits, info api.Compilation) bool {
	made := info.Limits
	orNone := func(l api.Size) int64 { return int64(cmp.Or(l, math.MaxInt64)) } // of a limit that may be absent
	for _, of := range []struct {
		limit, made int64
		used        api.Measurement // without a value: not measured
	}{
		{int64(cmp.Or(limits.CPU, limits.Wall)), int64(cmp.Or(made.CPU, made.Wall)), info.Usage.CPU},
		{int64(limits.Wall), int64(made.Wall), api.Known(info.Timing.Wall, "")},
		{int64(limits.Memory + limits.Swap), int64(made.Memory + made.Swap), info.Usage.Memory},
		{limits.Pids, made.Pids, info.Usage.Pids},
		{int64(limits.Output), int64(made.Output), api.Known(max(info.Usage.StdoutBytes, info.Usage.StderrBytes), "")},
		{int64(limits.Scratch), int64(made.Scratch), api.Measurement{}},
		{limits.Inodes, made.Inodes, api.Measurement{}},
		{limits.OpenFiles, made.OpenFiles, api.Measurement{}},
		{int64(limits.Stack), int64(made.Stack), api.Measurement{}},
		{orNone(limits.AddressSpace), orNone(made.AddressSpace), api.Measurement{}},
		{orNone(limits.Data), orNone(made.Data), api.Measurement{}},
		{orNone(limits.FileSize), orNone(made.FileSize), api.Measurement{}},
	} {
		within := of.used.Value != nil && *of.used.Value <= of.limit
		if of.limit < of.made && !within {
			return false
		}
	}

	return true
}
