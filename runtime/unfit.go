package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// An unfitArtifact is the error of a run whose compiler was content with a program that
// cannot be started: it is a library, names an interpreter that is not there, or is larger
// than the scratch. The program's author has to mend it, so it becomes the verdict
// compile-error and never an api.Error: a submission must not choose to get no verdict
// (CMP-20, TestHostileProgramsGetAVerdict).
type unfitArtifact struct{ why string }

func (e *unfitArtifact) Error() string { return e.why }

// An unfitSource is the error of a run that has no room for the source itself: its author has
// to mend that, too, and it becomes the verdict compile-error.
type unfitSource struct{ why string }

func (e *unfitSource) Error() string { return e.why }

// unread is the result of a run whose source was not even given to the stage p, which has no
// figures then.
func (h *Host) unread(p *plan, source *unfitSource) api.Result {
	none := api.Unknown("nothing was executed")
	return api.Result{
		Run: p.id, Verdict: api.CompileError, Stage: api.StageCompile, ExitCode: -1, LimitsHit: []string{},
		Stderr: api.Bytes(source.why), Limits: p.limits, Labels: p.labels, Host: h.about(p),
		Usage:  api.Usage{CPU: none, User: none, System: none, Memory: none, MaxRSS: none, Pids: none, OOMKills: none, ForksRefused: none},
		Timing: api.Timing{Started: time.Now().UTC().Format(time.RFC3339Nano)},
	}
}

// tooLarge is an artifact that the run has no room for.
func tooLarge(name, why string) error {
	return &unfitArtifact{fmt.Sprintf("brig: %s was compiled, but %s\n", name, why)}
}

// execErrors are the errnos of execve(2) that the executed file or its interpreter decides
// (fs/exec.c, fs/binfmt_elf.c, fs/binfmt_script.c). EIO is of an ELF file, or its
// interpreter, that is shorter than it says.
var execErrors = []error{
	unix.ENOENT, unix.ENOTDIR, unix.EIO, unix.EACCES, unix.ENOEXEC, unix.EISDIR, unix.ELOOP, unix.EPERM,
	unix.EINVAL, unix.ELIBBAD, unix.ENAMETOOLONG,
}

// missing reports whether an errno of execve means that a file is not there: a shell's 127.
func missing(errno error) bool { return errno == unix.ENOENT || errno == unix.ENOTDIR }

// boxName gives a command's name below /box, or "" when it lies elsewhere or is looked for
// in PATH.
func boxName(command string) string {
	if !strings.Contains(command, "/") {
		return ""
	}
	if !path.IsAbs(command) {
		command = "/box/" + command
	}
	name, inBox := strings.CutPrefix(path.Clean(command), "/box/")
	if !inBox {
		return ""
	}
	return name
}

// unfit decides whether an exec failed for what the executed file holds, which is the
// program and not the request: then either the error is an *unfitArtifact or code and why
// say how it ended, as a shell does. Zero and nil: the file is not the program's.
func unfit(p *plan, box *os.File, errno error) (code int, why string, err error) {
	name := boxName(p.argv[0])
	if name == "" || !slices.Contains(execErrors, errno) {
		return 0, "", nil
	}
	for _, f := range p.made {
		if f.Name == name {
			return 0, "", &unfitArtifact{unfitWords(p.argv[0], "was compiled, but", f.Executable, errno)}
		}
	}
	i := slices.IndexFunc(p.files, func(f api.File) bool { return f.Name == name })
	if i >= 0 && !p.files[i].Executable && errno == unix.EACCES {
		return 0, "", nil // the request says that it is no program
	}
	if i < 0 && !liesIn(box, name) {
		return 0, "", nil
	}
	if code = 126; missing(errno) {
		code = 127
	}
	return code, unfitWords(p.argv[0], "is there, but", true, errno), nil
}

func unfitWords(name, what string, executable bool, errno error) string {
	reason := errno.Error()
	switch {
	case missing(errno):
		reason = "its interpreter is not there"
	case errno == unix.EACCES && !executable:
		reason = "it is no program: look for the main function (in Go also for package main), and whether this is to be a library"
	}
	return fmt.Sprintf("brig: %s %s cannot be executed: %s\n", name, what, reason)
}

// liesIn reports whether name is a file below box, of any kind but a directory.
func liesIn(box *os.File, name string) bool {
	f, err := openBeneath(box, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var st unix.Stat_t
	return unix.Fstat(fd(f), &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR
}

// unstarted says what a step that failed means: the end of a program that cannot be
// executed is like that in a shell, with a word on stderr; all else is an error.
func (w *watch) unstarted(p *plan) error {
	var step *StepError
	if !errors.As(w.failed, &step) || step.Step != "exec" {
		return startError(p, w.failed)
	}
	code, why, err := unfit(p, w.shell.scratch.box, step.Err)
	if code == 0 {
		return cmp.Or(err, startError(p, w.failed))
	}
	w.ev.Signal, w.ev.ExitCode = 0, code
	w.out[1].say(why)
	return nil
}

// startError says what an exec that failed means where the program is not to blame. The
// rest are failures of ours.
func startError(p *plan, err error) error {
	var step *StepError
	if !errors.As(err, &step) || step.Step != "exec" {
		return fmt.Errorf("start: %w", err)
	}
	name := p.argv[0]
	switch {
	case missing(step.Err):
		return api.Refuse(api.CodeNoProgram, "%s: no such program in image %s, or its interpreter is missing there", name, p.cell.key.image)
	case slices.Contains(execErrors, step.Err):
		return api.Refuse(api.CodeBadProgram, "%s: cannot be executed in image %s: %w", name, p.cell.key.image, step.Err)
	case step.Err == unix.E2BIG:
		return api.Refuse(api.CodeTooLarge, "argv and env are more than the kernel takes under the stack limit: pass large data as a file or on stdin")
	}
	return fmt.Errorf("start: %w", err)
}

// refusal is the result of a compile stage that succeeded with artifacts that are unfit.
// The figures are the compiler's.
func (h *Host) refusal(p *plan, c api.Compilation, unfit *unfitArtifact) api.Result {
	return api.Result{
		Run: p.id, Verdict: api.CompileError, Stage: api.StageCompile, LimitsHit: []string{},
		Stdout: c.Stdout, Stderr: withLine(c.Stderr, unfit.why),
		Usage: c.Usage, Timing: c.Timing, Limits: c.Limits, Labels: p.labels, Host: h.about(p),
	}
}

// withLine adds a line of ours to what a compiler said, on a line of its own.
func withLine(said api.Bytes, line string) api.Bytes {
	if said = slices.Clone(said); len(said) > 0 && said[len(said)-1] != '\n' {
		said = append(said, '\n')
	}
	return append(said, line...)
}
