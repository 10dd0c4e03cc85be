package run

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
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// InvalidSourceResult returns the result of a run whose source was not even given to the stage p, so that there
// are no measurements.
func (r *Runner) InvalidSourceResult(p *plan.Run, source *plan.InvalidSource) api.Result {
	none := api.Unknown("nothing was executed")
	return api.Result{
		Run: p.ID, Verdict: api.CompileError, Stage: api.StageCompile, ExitCode: -1, LimitsHit: []string{},
		Stderr: api.Bytes(source.Reason), Limits: p.Limits, Labels: p.Labels, Host: r.host(p),
		Usage: api.Usage{CPU: none, User: none, System: none, Memory: none, MaxRSS: none, Pids: none,
			OOMKills: none, ForksRefused: none},
		Timing: api.Timing{Started: time.Now().UTC().Format(time.RFC3339Nano)},
	}
}

// execErrors are the errnos of execve(2) that depend on the executed file or its interpreter
// (fs/exec.c, fs/binfmt_elf.c, fs/binfmt_script.c). EIO is returned for an ELF file, or its
// interpreter, that is shorter than its header says.
var execErrors = []error{
	unix.ENOENT, unix.ENOTDIR, unix.EIO, unix.EACCES, unix.ENOEXEC, unix.EISDIR, unix.ELOOP, unix.EPERM,
	unix.EINVAL, unix.ELIBBAD, unix.ENAMETOOLONG,
}

// isNotFound reports whether an errno of execve means that a file is not there: a shell's 127.
func isNotFound(errno error) bool {
	return errors.Is(errno, unix.ENOENT) || errors.Is(errno, unix.ENOTDIR)
}

// boxName returns the name below /box of a command that is executed in dir, or "" when it lies
// elsewhere or is searched for in PATH.
func boxName(dir, command string) string {
	if !strings.Contains(command, "/") {
		return ""
	}
	if !path.IsAbs(command) {
		command = path.Join(cmp.Or(dir, "/box"), command)
	}
	name, inBox := strings.CutPrefix(path.Clean(command), "/box/")
	if !inBox {
		return ""
	}
	return name
}

// classifyExecFailure decides whether an exec failed because of the content of the executed file, which makes it
// a fault of the program and not of the request. Then either the error is an *plan.InvalidArtifact, or
// code and why say how it ended, as a shell would report it. Zero and nil: the file is not the
// program's.
func classifyExecFailure(p *plan.Run, box *os.File, errno error) (code int, why string, err error) {
	name := boxName(p.Dir, p.Argv[0])
	if name == "" || !slices.Contains(execErrors, errno) {
		return 0, "", nil
	}

	for _, f := range p.Built {
		if f.Name == name {
			return 0, "", &plan.InvalidArtifact{Reason: execFailureMessage(p.Argv[0], "was compiled, but", f.Executable, errno)}
		}
	}

	i := slices.IndexFunc(p.Files, func(f api.File) bool { return f.Name == name })
	if i >= 0 && !p.Files[i].Executable && errors.Is(errno, unix.EACCES) {
		return 0, "", nil // the request marks it as not executable
	}
	if i < 0 && !existsIn(box, name) {
		return 0, "", nil
	}
	if code = 126; isNotFound(errno) {
		code = 127
	}
	return code, execFailureMessage(p.Argv[0], "exists, but", true, errno), nil
}

func execFailureMessage(name, what string, executable bool, errno error) string {
	reason := errno.Error()
	switch {
	case isNotFound(errno):
		reason = "its interpreter does not exist"
	case errors.Is(errno, unix.EACCES) && !executable:
		reason = "it is not a program: check that it has a main function (in Go also package main), and that it is " +
			"not meant to be a library"
	}
	return fmt.Sprintf("brig: %s %s cannot be executed: %s\n", name, what, reason)
}

// existsIn reports whether name is a file below box, of any kind but a directory.
func existsIn(box *os.File, name string) bool {
	f, err := linux.OpenBeneath(box, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var st unix.Stat_t
	return unix.Fstat(linux.FD(f), &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR
}

// startFailure converts a failed step: a program that cannot be executed ends as in a shell, with a
// message on stderr; all else is an error.
func (w *supervisor) startFailure(p *plan.Run) error {
	var step *cell.StepError
	if !errors.As(w.failed, &step) || step.Step != "exec" {
		return startError(p, w.failed)
	}
	code, why, err := classifyExecFailure(p, w.Shell.Scratch.Box, step.Err)
	if code == 0 {
		return cmp.Or(err, startError(p, w.failed))
	}
	w.ev.Signal, w.ev.ExitCode = 0, code
	w.errorsOf(p).AppendLine(why)
	return nil
}

// startError explains a failed exec that is not the program's fault. All other failures are brig's.
func startError(p *plan.Run, err error) error {
	var step *cell.StepError
	if errors.As(err, &step) && step.Step == "directory" && p.Dir != "" {
		return api.Refuse(api.CodeBadImage, "image %s wants its programs to start in %s, which cannot be entered: %w",
			p.Cell.Key.Image, p.Dir, step.Err)
	}
	if !errors.As(err, &step) || step.Step != "exec" {
		return fmt.Errorf("start: %w", err)
	}

	name := p.Argv[0]
	switch {
	case isNotFound(step.Err):
		return api.Refuse(api.CodeNoProgram, "%s: no such program in image %s, or its interpreter is missing there",
			name, p.Cell.Key.Image)
	case slices.Contains(execErrors, step.Err):
		return api.Refuse(api.CodeBadProgram, "%s: cannot be executed in image %s: %w", name, p.Cell.Key.Image, step.Err)
	case errors.Is(step.Err, unix.E2BIG):
		return api.Refuse(api.CodeTooLarge,
			"argv and env are larger than the kernel accepts under the stack limit: pass large data as a file or on stdin")
	}

	return fmt.Errorf("start: %w", err)
}

// InvalidArtifactResult is the result of a compile stage that succeeded with artifacts that cannot be started.
// The measurements are the compiler's.
func (r *Runner) InvalidArtifactResult(p *plan.Run, c api.Compilation, invalid *plan.InvalidArtifact) api.Result {
	return api.Result{
		Run: p.ID, Verdict: api.CompileError, Stage: api.StageCompile, LimitsHit: []string{},
		Stdout: c.Stdout, Stderr: withLine(c.Stderr, invalid.Reason),
		Usage: c.Usage, Timing: c.Timing, Limits: c.Limits, Labels: p.Labels, Host: r.host(p),
	}
}

// withLine appends a line of brig's to the output of a compiler, on a separate line.
func withLine(output api.Bytes, line string) api.Bytes {
	if output = slices.Clone(output); len(output) > 0 && output[len(output)-1] != '\n' {
		output = append(output, '\n')
	}
	return append(output, line...)
}
