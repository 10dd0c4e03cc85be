package generate

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose"
	"github.com/brig-sandbox/brig/judge/problem"
)

const rule = "programs of the package"

// run makes the files of some jobs. The first one of each program runs by itself, so that a program is
// compiled once, and one that does not compile is one mistake.
func (m *maker) run(ctx context.Context, jobs []job) error {
	ctx, m.stop = context.WithCancel(ctx)
	defer m.stop()

	begun, broken := map[int]bool{}, map[int]bool{}
	var rest []job
	for _, j := range jobs {
		if begun[j.program] {
			rest = append(rest, j)
			continue
		}
		begun[j.program] = true
		broken[j.program] = !m.make(ctx, j)
	}

	rest = slices.DeleteFunc(rest, func(j job) bool { return broken[j.program] })
	m.o.Each(len(rest), func(i int) { m.make(ctx, rest[i]) })
	m.mu.Lock()
	defer m.mu.Unlock()

	switch {
	case m.err != nil:
		return m.err
	case len(m.untried) > 0:
		m.failures.Error(slices.MinFunc(m.untried, problem.CompareNumerically), 0, rule,
			"after %d failures this file was not tried, nor %s", maxFailures, problem.Count(len(m.untried)-1, "other"))
		fallthrough
	case len(m.failures.All) > 0:
		return &FailedError{m.failures}
	}

	return context.Cause(ctx)
}

// make makes one file. It returns whether the program compiles.
func (m *maker) make(ctx context.Context, j job) (compiles bool) {
	defer m.made()

	if ctx.Err() != nil || m.skip(j) {
		return true
	}

	t, err := m.execute(ctx, j)
	switch {
	case api.HasCode(err, api.CodeCheckFailed): // of the interactor
		m.mistake(j.file, "%s, and its interactor: %v", j.what, err)
		return true
	case err != nil:
		m.brigFailed(fmt.Errorf("%s for %s: %w", strings.TrimSuffix(j.what, ","), j.file, err))
		return true
	case t.Result.Verdict == api.CompileError:
		m.mistake(j.main, "it does not compile: %s", compileText(t.Result))
		return false
	}

	content, why := made(t, j)
	if why != "" {
		m.mistake(j.file, "%s %s", j.what, why)
		return true
	}

	switch err := m.added.Add(j.file, content, false); {
	case errors.Is(err, problem.ErrTooLarge):
		m.mistake(j.file, "with it the files of the package are more than %s", problem.MaxBytes)
	case err != nil:
		m.brigFailed(err)
	}

	return true
}

// execute runs the program of a job, as a test: the program is compiled before it, and its interactor takes
// part. A test keeps at most what a program may write by default. One that wrote more runs again, without that
// bound.
func (m *maker) execute(ctx context.Context, j job) (t api.TestResult, err error) {
	r, err := j.run()
	if err != nil {
		return t, err
	}

	res, failed := m.x.Execute(ctx, r, nil)
	switch {
	case failed != nil:
		return t, failed
	case res.Verdict == api.CompileError:
		diagnose.Annotate(r.Language, r.SourceName, r.Source, &res)
		return api.TestResult{Result: res}, nil
	case len(res.Tests) != 1:
		return t, fmt.Errorf("the run has %d results, and not one", len(res.Tests))
	}

	if t = res.Tests[0]; t.Result.Verdict != api.OutputLimit || j.from != "" || j.tout {
		return t, nil
	}

	one := r.Tests[0]
	r.Tests, r.KeepOutput, r.Limits.Output = nil, 0, MaxFile
	r.Limits = r.Limits.CappedBy(m.o.Ceiling)
	r.Argv, r.Stdin, r.StdinBlob = one.Args, one.Stdin, one.StdinBlob
	if r.InputFile != "" { // is for tests only
		r.Files = append(slices.Clone(r.Files), api.File{Name: r.InputFile, Content: r.Stdin, Blob: r.StdinBlob})
		r.InputFile, r.Stdin, r.StdinBlob = "", nil, ""
	}
	if t.Result, failed = m.o.Alone(ctx, r); failed != nil {
		return t, failed
	}
	return t, nil
}

// made is what a program made, or why it is not a file of a test.
func made(t api.TestResult, j job) (content []byte, why string) {
	res := t.Result
	if res.Verdict != api.OK {
		return nil, ended(res)
	}

	content = res.Stdout
	switch {
	case j.tout && t.Answer != api.Accepted:
		return nil, fmt.Sprintf("is not accepted by the interactor: %q", t.Message)
	case j.tout:
		text, _ := strings.CutPrefix(t.Message, strings.TrimSpace(accepts)) // an empty copy ends with it
		if strings.TrimSpace(text) == noCopy {
			return nil, fmt.Sprintf("and its interactor: that wrote more than %d bytes, which is the maximum for an "+
				"answer that brig makes", maxCopy)
		}
		content, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Sprintf("and its interactor: what that wrote cannot be read: %v", err)
		}
		return content, ""

	case j.from != "":
		i := slices.IndexFunc(res.Files, func(f api.File) bool { return f.Name == j.from })
		if i < 0 {
			return nil, fmt.Sprintf("left no file %q%s", j.from, skipped(res))
		}
		content = res.Files[i].Content
	}

	if len(content) == 0 && !j.empty {
		return nil, "wrote nothing" + stderrText(res)
	}
	return content, ""
}

func skipped(res api.Result) string {
	for _, s := range res.Skipped {
		return fmt.Sprintf(" that can be read: %s", s.Reason)
	}
	return stderrText(res)
}

// ended says how a program ended that failed.
func ended(res api.Result) string {
	text := ""
	switch res.Verdict {
	case api.Nonzero:
		text = fmt.Sprintf("ended with exit code %d", res.ExitCode)
	case api.Signaled:
		text = fmt.Sprintf("was ended by %s", cmp.Or(res.SignalName, fmt.Sprintf("signal %d", res.Signal)))
	case api.OutputLimit:
		text = fmt.Sprintf("wrote more than %s", res.Limits.Output)
	case api.CPULimit:
		text = fmt.Sprintf("took more than %s of processor time", res.Limits.CPU)
	case api.WallLimit:
		text = fmt.Sprintf("took more than %s", res.Limits.Wall)
	case api.MemoryLimit:
		text = fmt.Sprintf("needed more than %s of memory", res.Limits.Memory)
	default:
		text = fmt.Sprintf("ended with the verdict %s", res.Verdict)
	}

	return text + stderrText(res)
}

// stderrText is the beginning of stderr; empty if the program wrote nothing to it.
func stderrText(res api.Result) string {
	const maximum = 200
	said := res.Stderr[:min(len(res.Stderr), maximum)]
	if said = []byte(strings.Join(strings.Fields(strings.ToValidUTF8(string(said), "\ufffd")), " ")); len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("; stderr: %q", said)
}

func compileText(res api.Result) string {
	d := res.Diagnosis
	switch {
	case len(res.LimitsHit) > 0:
		return "the compiler met its limit of " + strings.Join(res.LimitsHit, " and ")
	case d == nil || d.Message == "":
		return strings.TrimPrefix(ended(api.Result{Verdict: api.Nonzero, ExitCode: res.ExitCode,
			Stderr: append(res.Stderr, res.Stdout...)}), "ended with ")
	case d.File == "" || d.Line == 0:
		return d.Message
	}
	return fmt.Sprintf("%s:%d: %s", d.File, d.Line, d.Message)
}

// escaped is a glob that only this name matches.
func escaped(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

func (m *maker) mistake(file, format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures.Error(file, 0, rule, format, args...)
}

// skip reports whether so many files could not be made that this one is not tried.
func (m *maker) skip(j job) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.failures.All) < maxFailures {
		return false
	}
	m.untried = append(m.untried, j.file)
	return true
}

// brigFailed keeps the first error that is not of the package, and ends everything: the other files would
// be made in vain.
func (m *maker) brigFailed(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
	m.stop()
}
