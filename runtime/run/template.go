package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/template"
)

// A start says how a program starts: from a snapshot, or in the ordinary way.
type start struct {
	snapshot *template.Snapshot // nil: the ordinary start
	cold     string             // why, if the language has templates
}

// start gets the template of a plan, and makes it if there is none. All tests of a job share one start.
// The caller releases it.
func (r *Runner) start(ctx context.Context, p *plan.Run) (start, error) {
	if p.Template == nil {
		return start{cold: p.Cold}, nil
	}

	n, err := r.Templates.Get(ctx, p.Template.Key, func(ctx context.Context, m *template.Making) (*os.File, error) {
		return r.makeTemplate(ctx, p.Template, m)
	})
	var cold *template.ColdError
	if errors.As(err, &cold) {
		return start{cold: cold.Why}, nil
	}
	if err != nil {
		return start{}, api.Fail(api.CodeStopping, "canceled while the template was made: %w", err)
	}
	return start{snapshot: n}, nil
}

func (s start) release() {
	if s.snapshot != nil {
		s.snapshot.Release()
	}
}

// describe says in a result how the program started.
func (s start) describe(res *api.Result) {
	res.Host.Cold = s.cold
	if s.snapshot != nil {
		res.Host.Template, res.Usage.TemplateBytes = true, int64(s.snapshot.Size)
	}
}

// ready gets the template of a plan if it is there, and has it made otherwise: it waits for nothing.
func (r *Runner) ready(p *plan.Run) start {
	if p.Template == nil {
		return start{cold: p.Cold}
	}

	n, err := r.Templates.Ready(p.Template.Key, func(ctx context.Context, m *template.Making) (*os.File, error) {
		return r.makeTemplate(ctx, p.Template, m)
	})
	if err != nil {
		return start{cold: err.Error()}
	}
	return start{snapshot: n}
}

// makeTemplate runs the stage that makes a template, and then the trial that begins from it. No memory
// of a user's is in either.
func (r *Runner) makeTemplate(ctx context.Context, t *plan.Template, m *template.Making) (_ *os.File, err error) {
	var made *os.File
	defer func() {
		if err != nil && made != nil {
			err = errors.Join(err, made.Close())
		}
	}()

	res, err := r.runStage(ctx, t.Make, m, nil, func(box *os.File) (err error) {
		made, err = takeTemplate(box, m.Reserve)
		return err
	})
	if err == nil && made == nil {
		err = stageError("making it", res)
	}
	if err != nil {
		return nil, err
	}
	if err := r.tryTemplate(ctx, t, m, made); err != nil {
		return nil, err
	}
	return made, nil
}

// tryTemplate runs the trial, which begins from a template.
func (r *Runner) tryTemplate(ctx context.Context, t *plan.Template, m *template.Making, from *os.File) error {
	for _, one := range t.Alike {
		if err := r.compareTrial(ctx, one, t.Of, m, from); err != nil {
			return err
		}
	}
	if t.Trial == nil {
		return nil
	}

	res, err := r.runStage(ctx, t.Trial, m, from, nil)
	if err == nil && (res.Verdict != api.OK || string(res.Stdout) != plan.TrialOutput) {
		err = stageError("beginning from it", res)
	}
	return err
}

// compareTrial compiles one source of a trial with the ordinary start and from a template. An image whose compiler makes
// anything else from a template is refused, by name.
func (r *Runner) compareTrial(ctx context.Context, p *plan.Run, of string, m *template.Making, from *os.File) error {
	cold, err := r.runStage(ctx, p, m, nil, nil)
	if err != nil {
		return err
	}

	warm, err := r.runTrial(ctx, p, m, from)
	if err != nil {
		return err
	}
	if differs := difference(cold, warm); differs != "" {
		return fmt.Errorf("the compiler of %s: %s differs between the ordinary start and the template", of, differs)
	}
	return nil
}

// runTrial begins a compile stage of a trial from a template.
func (r *Runner) runTrial(ctx context.Context, p *plan.Run, m *template.Making, from *os.File) (api.Result, error) {
	own, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", linux.FD(from)), os.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return api.Result{}, err
	}
	defer own.Close()
	return r.runStage(ctx, p, m, own, nil)
}

// difference says what of two results of one compile stage differs; empty: nothing does.
func difference(a, b api.Result) string {
	switch {
	case a.Verdict != b.Verdict:
		return fmt.Sprintf("the verdict (%s, %s)", a.Verdict, b.Verdict)
	case a.ExitCode != b.ExitCode:
		return fmt.Sprintf("the exit code (%d, %d)", a.ExitCode, b.ExitCode)
	case !bytes.Equal(a.Stdout, b.Stdout):
		return "what it prints"
	case !bytes.Equal(a.Stderr, b.Stderr):
		return "what it reports"
	case len(a.Files) != len(b.Files) || len(a.Skipped) != len(b.Skipped):
		return fmt.Sprintf("the number of files (%d, %d)", len(a.Files), len(b.Files))
	}

	for i, f := range a.Files {
		if g := b.Files[i]; f.Name != g.Name || f.Executable != g.Executable || !bytes.Equal(f.Content, g.Content) {
			return "the file " + f.Name
		}
	}
	return ""
}

// doubt tells the store that a run could not begin from a snapshot, which is then tried again.
func (r *Runner) doubt(p *plan.Run, n *template.Snapshot, why string) {
	r.Templates.Doubt(p.Template.Key, n, p.Settings(), why, func(ctx context.Context, m *template.Making) error {
		file, err := n.Open()
		if err != nil {
			return err
		}
		defer file.Close()
		return r.tryTemplate(ctx, p.Template, m, file)
	})
}

// runStage runs a stage of making a template, for which it waits until a time, and which ends for a caller that waits
// if no run waits for the template. If it ends well, take gets its /box.
func (r *Runner) runStage(ctx context.Context, p *plan.Run, m *template.Making, from *os.File,
	take func(box *os.File) error) (api.Result, error) {
	want, err := r.want(p)
	if err != nil {
		return api.Result{}, err
	}

	l, err := r.Pool.AcquireOptional(ctx, want, m.Until, m.Yield())
	if err != nil {
		return api.Result{}, err
	}

	streams := Streams{Retention: NewRetention(api.Streams{})}
	res, badStart, err := r.executeOnce(ctx, l, p, from, streams, linux.Monotonic(), take)
	if err == nil && badStart != "" {
		err = errors.New(badStart)
	}
	return res, err
}

// stageError says how a stage of making a template ended, with the end of what it printed.
func stageError(what string, res api.Result) error {
	const maximum = 300
	said := res.Stderr
	if len(said) > maximum {
		said = said[len(said)-maximum:]
	}
	return fmt.Errorf("%s ended with %s, exit code %d: %q", what, res.Verdict, res.ExitCode, said)
}

// takeTemplate copies the template out of a box into a sealed file. The image's programs wrote it: it is
// copied whatever it contains, and executed only in sandboxes of the same image (TPL-02).
//
// reserve counts its size first: otherwise each template that is refused later would be memory of the
// agent's beyond --template-memory (TPL-09).
func takeTemplate(box *os.File, reserve func(api.Size) error) (*os.File, error) {
	f, err := linux.OpenBeneath(box, plan.TemplateFile, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open the template: %w", err)
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > int64(plan.MaxTemplate) {
		return nil, fmt.Errorf("the template is not a regular file of at most %s", plan.MaxTemplate)
	}
	if err := reserve(api.Size(info.Size())); err != nil {
		return nil, err
	}
	return linux.SealedCopy("template", io.LimitReader(f, info.Size()), true)
}

func (at Place) templateFiles() []*os.File {
	if at.Template == nil {
		return nil
	}
	return []*os.File{at.Template}
}

// restoreFailures name the offsets at which runtime/template/snapshot leaves the descriptor of a template
// that could not become a process.
var restoreFailures = map[int64]string{
	1: "this kernel does not let the vDSO be moved",
	2: "a range of addresses is in use",
	3: "a file of the image cannot be mapped",
	4: "a thread cannot be made",
	5: "a descriptor cannot be made",
	6: "the command is another one than that of the template",
}

// exitRestore is the exit status that goes with them.
const exitRestore = 120

// badStart says why a program could not begin from its template; empty: it began, or was killed before.
// No program can forge it: the descriptor whose offset tells it is closed before the program begins
// (TPL-03).
func (w *supervisor) badStart() (string, error) {
	if w.Template == nil {
		return "", nil
	}

	var step *cell.StepError
	if errors.As(w.failed, &step) && step.Step == "exec" &&
		!errors.Is(step.Err, unix.E2BIG) { // its own arguments are no fault of the template (TPL-06)
		return "the template cannot be executed: " + step.Err.Error(), nil
	}

	ws := unix.WaitStatus(w.reply.Status)
	if !w.replied || !ws.Exited() || ws.ExitStatus() != exitRestore {
		return "", nil
	}

	at, err := w.Template.Seek(0, io.SeekCurrent)
	if err != nil {
		return "", fmt.Errorf("read why a template failed: %w", err)
	}
	return restoreFailures[at], nil
}
