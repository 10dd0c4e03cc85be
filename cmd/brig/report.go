package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/seccomp"
)

// report prints how the run ended, and returns the exit code.
func (c *cli) report(o *runOptions, res api.Result) int {
	code := res.Exit()
	if o.testsDir != "" && res.Verdict != api.CompileError {
		code = testsExit(res)
	}
	if res.Stage == api.StageCompile && !o.json {
		c.printCompilerOutput(res.Stdout, res.Stderr)
	}

	if o.out != "" {
		files, odd := splitSavable(res.Files)
		if err := saveFiles(o.out, files, o.force); err != nil {
			c.note("%v", err)
			code = exitBrig
		}
		if len(o.collect) > 0 && len(res.Files)+len(res.Skipped) == 0 {
			c.note("nothing was collected: no file in /box matches --collect %s", strings.Join(o.collect, " "))
		}
		for _, s := range slices.Concat(res.Skipped, odd) {
			c.note("%q was not collected: %s", s.Name, s.Reason)
		}
	}

	if o.result != "" { // first: the reader of the other output may have gone
		if err := o.writeResult(marshal(res)); err != nil {
			return c.fail(err)
		}
	}
	if o.json {
		c.stdout.Write(marshal(res))
	}

	switch {
	case o.stats && res.Summary != nil && res.Summary.Ran > 0:
		fmt.Fprint(terminal.Writer{To: c.stderr}, testStats(res, o.profile))
	case o.stats:
		fmt.Fprint(terminal.Writer{To: c.stderr}, stats(res, o.profile))
	case o.quiet, o.json, o.testsDir != "" && res.Summary != nil && res.Summary.Ran > 0: // the table shows it
	case res.Verdict != api.OK && res.Verdict != api.Nonzero:
		c.note("%s", verdictText(res, o.profile))
	}

	if res.Timeline != nil && !o.quiet && (o.stats || !o.json) {
		fmt.Fprint(terminal.Writer{To: c.stderr}, timelineText(res))
	}
	if d := res.Diagnosis; d != nil && d.Hint != "" && !o.quiet && !o.json &&
		(o.testsDir == "" || res.Verdict == api.CompileError) {
		c.note("hint: %s%s", positionText(*d), d.Hint)
	}
	if o.testsDir != "" && !o.quiet && !o.json {
		fmt.Fprint(terminal.Writer{To: c.stderr}, firstFailure(res, o.profile))
	}
	if !o.stats && !o.quiet && !o.json {
		for _, r := range o.refused {
			c.note("the sandbox refused %s", refusalText(r))
		}
	}
	if !o.stats && !o.json {
		for _, d := range res.Logged {
			c.note("logged: %s would be denied by %s: %s", d.Syscall, d.Rule, d.Why)
		}
	}

	return code
}

// verdictText says in one line what ended the program and what to do about it. profile is the value
// of --profile, if any.
func verdictText(r api.Result, profile string) string {
	l := r.Limits
	switch r.Verdict {
	case api.MemoryLimit:
		more := ""
		if used := r.Usage.Memory.Value; used != nil && *used < int64(l.Memory)/4*3 { // one request was above what is left
			more = ", and asked for more than the rest"
		}
		return fmt.Sprintf("%s: used %s of %s%s (raise --memory)", r.Verdict, formatBytes(r.Usage.Memory), l.Memory, more)
	case api.CPULimit:
		return fmt.Sprintf("%s: used %s of %s of processor time (raise --cpu)", r.Verdict, formatDuration(r.Usage.CPU), l.CPU)
	case api.WallLimit:
		return fmt.Sprintf("%s: ran for %s (raise --wall)", r.Verdict, l.Wall)
	case api.OutputLimit:
		return fmt.Sprintf("%s: wrote more than %s to one stream (raise --output)", r.Verdict, l.Output)
	case api.Denied:
		if d := r.Denial; d != nil {
			by, _, _ := strings.Cut(d.Rule, "#")
			if r.Stage == api.StageCompile { // the compile stage has its own profile
				profile = ""
			}
			return fmt.Sprintf("%s: the system call %s is forbidden by profile %s: %s%s", r.Verdict, d.Syscall, by, d.Why,
				explainHint(d.Syscall, by, profile))
		}

	case api.Signaled:
		return fmt.Sprintf("%s: %s (signal %d)", r.Verdict, cmp.Or(r.SignalName, "signal"), r.Signal)
	case api.CompileError:
		switch {
		case len(r.LimitsHit) > 0:
			return fmt.Sprintf("%s: the compiler reached its limit on %s", r.Verdict, strings.Join(r.LimitsHit, ", "))
		case r.Signal != 0:
			return fmt.Sprintf("%s: the compiler ended with %s (signal %d)", r.Verdict,
				cmp.Or(r.SignalName, "signal"), r.Signal)
		}
		return fmt.Sprintf("%s: the program does not compile", r.Verdict)

	case api.Canceled:
		if r.SessionEnded != "" {
			return fmt.Sprintf("%s: its session has ended: %s", r.Verdict, r.SessionEnded)
		}
	case api.Nonzero:
		return fmt.Sprintf("%s: exit code %d", r.Verdict, r.ExitCode)
	}

	return string(r.Verdict)
}

// explainHint names the command that explains why a profile denies a call; asked is the value of
// --profile. It is empty for a profile that only the agent has.
func explainHint(call, by, asked string) string {
	if strings.HasPrefix(call, "syscall_") {
		return ""
	}

	by, _, _ = strings.Cut(by, "/") // strict/default: its default, not one of its rules
	switch {
	case isProfileFile(asked):
		by = shellWord(asked)
	case !slices.Contains(seccomp.Tiers(), by):
		return ""
	case by == "default":
		return fmt.Sprintf(" (see brig profile explain %s)", call)
	}

	return fmt.Sprintf(" (see brig profile explain %s --profile %s)", call, by)
}

// shellWord quotes s where a shell would read it as anything but one word.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// positionText formats the position of a diagnosis as the beginning of a line.
func positionText(d api.Diagnosis) string {
	switch {
	case d.File == "":
		return ""
	case d.Line == 0:
		return d.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", d.File, d.Line)
}

// refusalText says which call the profile refused, how, and how often.
func refusalText(r api.Refusal) string {
	call, often := r.Syscall, fmt.Sprintf("%d times", r.Count)
	if call == "others" {
		call = "other calls"
	}
	if r.Count == 1 {
		often = "once"
	}
	if r.Errno == "" {
		return fmt.Sprintf("%s %s (profile %s)", call, often, r.Profile)
	}
	return fmt.Sprintf("%s %s (profile %s, error %s)", call, often, r.Profile, r.Errno)
}

// stats lists verdict and usage for --stats.
func stats(r api.Result, profile string) string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "brig: %-9s %s\n", name, value) }
	line("verdict", verdictText(r, profile))
	if len(r.LimitsHit) > 0 {
		line("limits", strings.Join(r.LimitsHit, " "))
	}

	wall := time.Duration(r.Timing.Wall).Round(10 * time.Microsecond)
	line("time", fmt.Sprintf("wall %s, cpu %s; set up %s, finished %s", wall, formatDuration(r.Usage.CPU),
		time.Duration(r.Timing.SetUp).Round(10*time.Microsecond), time.Duration(r.Timing.Finish).Round(10*time.Microsecond)))
	line("memory", fmt.Sprintf("%s of %s%s", formatBytes(r.Usage.Memory), r.Limits.Memory, residentOf(r.Usage)))
	line("pids", ofLimit(r.Usage.Pids, r.Limits.Pids))
	line("output", fmt.Sprintf("%d and %d bytes", r.Usage.StdoutBytes, r.Usage.StderrBytes))
	for _, one := range r.Refused {
		line("refused", refusalText(one))
	}

	for _, d := range r.Logged {
		line("logged", fmt.Sprintf("%s would be denied by %s: %s", d.Syscall, d.Rule, d.Why))
	}

	line("run", r.Run)
	return b.String()
}

// testStats lists the outcome of tests for --stats. Each test has its own set-up time, which is in
// the result.
func testStats(r api.Result, profile string) string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "brig: %-9s %s\n", name, value) }
	line("verdict", verdictText(r.Decisive(), profile))
	line("tests", summaryText(*r.Summary))
	line("time", fmt.Sprintf("a test at most: wall %s ms, cpu %s ms", inMillis(api.Known(r.Summary.MaxWall, "")),
		inMillis(api.Known(r.Summary.MaxCPU, ""))))
	line("memory", fmt.Sprintf("a test at most: %s MiB of %s", inMiB(api.Known(maxMemory(r.Tests), "")), r.Limits.Memory))
	line("run", r.Run)
	return b.String()
}

// residentOf is the text to append to the memory that was charged to a run if the resident memory
// of its largest process is more: pages of the image are charged to no run.
func residentOf(u api.Usage) string {
	if f := memoryOf(u); f != u.MaxRSS || f.Value == nil || u.Memory.Value == nil {
		return ""
	}
	return fmt.Sprintf(" charged to the run; its largest process had %s resident", formatBytes(u.MaxRSS))
}

func formatDuration(f api.Measurement) string {
	if f.Value == nil {
		return "an unknown time"
	}
	return time.Duration(*f.Value).Round(10 * time.Microsecond).String()
}

func formatCount(f api.Measurement) string {
	if f.Value == nil {
		return "unknown"
	}
	return fmt.Sprint(*f.Value)
}

// ofLimit formats a count with its limit, or the limit alone if this host's kernel does not count.
func ofLimit(f api.Measurement, limit int64) string {
	if f.Value == nil {
		return fmt.Sprintf("at most %d", limit)
	}
	return fmt.Sprintf("%d of %d", *f.Value, limit)
}

// formatBytes formats a size rounded for people: 511.8M.
func formatBytes(f api.Measurement) string {
	if f.Value == nil {
		return "an unknown amount"
	}
	return api.Size(*f.Value).About()
}

// splitSavable separates the files whose names may be written on this host from the others. A program
// can put ESC or a line feed into a name: a terminal that lists the directory would obey it, and a
// script would take it for two names (TestNamesThatATerminalObeysAreNotWritten). The result as JSON
// has all files.
func splitSavable(files []api.File) (fine []api.File, odd []api.Skipped) {
	for _, f := range files {
		if strings.ContainsFunc(f.Name, unicode.IsControl) {
			odd = append(odd, api.Skipped{Name: f.Name,
				Reason: "its name has control characters: --json and --result include it"})
			continue
		}
		fine = append(fine, f)
	}
	return fine, odd
}

// saveFiles writes the collected files below dir. The names come from an untrusted program: each
// is checked, no link leads out of dir, and unless force is set no existing file is changed.
func saveFiles(dir string, files []api.File, force bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()

	for _, f := range files {
		if err := api.FileName(f.Name); err != nil {
			return err
		}
		if _, err := root.Lstat(f.Name); err == nil && !force {
			return fmt.Errorf("%s already exists in %s: nothing was written; use --force to overwrite",
				terminal.Quote(f.Name), dir)
		}
	}

	for _, f := range files {
		if err := saveFile(root, f); err != nil {
			return fmt.Errorf("write %s: %w", terminal.Quote(f.Name), err)
		}
	}

	return nil
}

func saveFile(root *os.Root, f api.File) error {
	if err := root.MkdirAll(path.Dir(f.Name), 0o755); err != nil {
		return err
	}
	if err := root.Remove(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	perm := fs.FileMode(0o644)
	if f.Executable {
		perm = 0o755
	}

	out, err := root.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}

	_, err = out.Write(f.Content)
	return errors.Join(err, out.Close())
}

// checkOutDir refuses, before the run, a directory that cannot take its files. Which existing files
// are in the way is known only after the run.
func checkOutDir(dir string) error {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("--out: %s exists and is not a directory: name another", dir)
		case err == nil:
			if err := syscall.Access(dir, 2); err != nil { // W_OK
				return fmt.Errorf("--out: write to %s: %w: name another directory", dir, err)
			}
			return nil
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("--out: %w", err)
		}

		dir = filepath.Dir(filepath.Clean(dir))
	}
}
