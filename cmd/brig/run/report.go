package run

import (
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
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
)

// printReport prints how the run ended, and returns the exit code.
func printReport(c *cli.CLI, o *runOptions, res api.Result) int {
	code := res.Exit()
	if o.testsDir != "" && res.Verdict != api.CompileError {
		code = testsExit(res)
	}
	if res.Stage == api.StageCompile && !o.json {
		printCompilerOutput(c, res.Stdout, res.Stderr)
	}

	if o.out != "" {
		files, odd := splitSavable(res.Files)
		if err := saveFiles(o.out, files, o.force); err != nil {
			c.Note("%v", err)
			code = cli.ExitBrig
		}
		if len(o.collect) > 0 && len(res.Files)+len(res.Skipped) == 0 {
			c.Note("nothing was collected: no file in /box matches --collect %s", strings.Join(o.collect, " "))
		}
		for _, s := range slices.Concat(res.Skipped, odd) {
			c.Note("%q was not collected: %s", s.Name, s.Reason)
		}
	}

	if o.result != "" { // first: the reader of the other output may have gone
		if err := o.writeResult(cli.Marshal(res)); err != nil {
			return c.Fail(err)
		}
	}
	if o.json {
		c.Stdout.Write(cli.Marshal(res))
	}

	switch {
	case o.stats && res.Summary != nil && res.Summary.Ran > 0:
		fmt.Fprint(terminal.Writer{To: c.Stderr}, testStats(res, o.profile))
	case o.stats:
		fmt.Fprint(terminal.Writer{To: c.Stderr}, stats(res, o.profile))
	case o.quiet, o.json, o.testsDir != "" && res.Summary != nil && res.Summary.Ran > 0: // the table shows it
	case res.Verdict != api.OK && res.Verdict != api.Nonzero:
		c.Note("%s", cli.VerdictText(res, o.profile))
	}

	if res.Timeline != nil && !o.quiet && (o.stats || !o.json) {
		fmt.Fprint(terminal.Writer{To: c.Stderr}, timelineText(res))
	}
	if d := res.Diagnosis; d != nil && d.Hint != "" && !o.quiet && !o.json &&
		(o.testsDir == "" || res.Verdict == api.CompileError) {
		c.Note("hint: %s%s", cli.PositionText(*d), d.Hint)
	}
	if o.testsDir != "" && !o.quiet && !o.json {
		fmt.Fprint(terminal.Writer{To: c.Stderr}, firstFailure(res, o.profile))
	}
	if !o.stats && !o.quiet && !o.json && !o.tty { // an interactive shell asks for much that it does without
		for _, r := range o.refused {
			c.Note("the sandbox refused %s", cli.RefusalText(r))
		}
	}
	if !o.stats && !o.json {
		for _, d := range res.Logged {
			c.Note("logged: %s would be denied by %s: %s", d.Syscall, d.Rule, d.Why)
		}
	}

	return code
}

// stats lists verdict and usage for --stats.
func stats(r api.Result, profile string) string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "brig: %-9s %s\n", name, value) }
	line("verdict", cli.VerdictText(r, profile))
	if len(r.LimitsHit) > 0 {
		line("limits", strings.Join(r.LimitsHit, " "))
	}

	wall := time.Duration(r.Timing.Wall).Round(10 * time.Microsecond)
	line("time", fmt.Sprintf("wall %s, cpu %s; set up %s, finished %s", wall, cli.FormatDuration(r.Usage.CPU),
		time.Duration(r.Timing.SetUp).Round(10*time.Microsecond), time.Duration(r.Timing.Finish).Round(10*time.Microsecond)))
	line("memory", fmt.Sprintf("%s of %s%s", cli.FormatBytes(r.Usage.Memory), r.Limits.Memory, residentOf(r.Usage)))
	line("pids", ofLimit(r.Usage.Pids, r.Limits.Pids))
	line("output", fmt.Sprintf("%d and %d bytes", r.Usage.StdoutBytes, r.Usage.StderrBytes))
	for _, one := range r.Refused {
		line("refused", cli.RefusalText(one))
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
	line("verdict", cli.VerdictText(r.Decisive(), profile))
	line("tests", cli.SummaryText(*r.Summary))
	line("time", fmt.Sprintf("a test at most: wall %s ms, cpu %s ms", cli.InMillis(api.Known(r.Summary.MaxWall, "")),
		cli.InMillis(api.Known(r.Summary.MaxCPU, ""))))
	line("memory", fmt.Sprintf("a test at most: %s MiB of %s", cli.InMiB(api.Known(cli.MaxMemory(r.Tests), "")), r.Limits.Memory))
	line("run", r.Run)
	return b.String()
}

// residentOf is the text to append to the memory that was charged to a run if the resident memory
// of its largest process is more: pages of the image are charged to no run.
func residentOf(u api.Usage) string {
	if f := cli.MemoryOf(u); f != u.MaxRSS || f.Value == nil || u.Memory.Value == nil {
		return ""
	}
	return fmt.Sprintf(" charged to the run; its largest process had %s resident", cli.FormatBytes(u.MaxRSS))
}

// ofLimit formats a count with its limit, or the limit alone if this host's kernel does not count.
func ofLimit(f api.Measurement, limit int64) string {
	if f.Value == nil {
		return fmt.Sprintf("at most %d", limit)
	}
	return fmt.Sprintf("%d of %d", *f.Value, limit)
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
