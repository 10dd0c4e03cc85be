package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/seccomp"
)

// IsProfileFile reports whether nameOrFile is a profile's file, not its name.
func IsProfileFile(nameOrFile string) bool {
	ext := filepath.Ext(nameOrFile)
	return strings.Contains(nameOrFile, "/") || ext == ".yaml" || ext == ".yml" || ext == ".json"
}

// VerdictText says in one line what ended the program and what to do about it. profile is the value
// of --profile, if any.
func VerdictText(r api.Result, profile string) string {
	l := r.Limits
	switch r.Verdict {
	case api.MemoryLimit:
		more := ""
		if used := r.Usage.Memory.Value; used != nil && *used < int64(l.Memory)/4*3 { // one request was above what is left
			more = ", and asked for more than the rest"
		}
		return fmt.Sprintf("%s: used %s of %s%s (raise --memory)", r.Verdict, FormatBytes(r.Usage.Memory), l.Memory, more)
	case api.CPULimit:
		return fmt.Sprintf("%s: used %s of %s of processor time (raise --cpu)", r.Verdict, FormatDuration(r.Usage.CPU), l.CPU)
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
	case IsProfileFile(asked):
		by = ShellWord(asked)
	case !slices.Contains(seccomp.Tiers(), by):
		return ""
	case by == "default":
		return fmt.Sprintf(" (see brig profile explain %s)", call)
	}

	return fmt.Sprintf(" (see brig profile explain %s --profile %s)", call, by)
}

// PositionText formats the position of a diagnosis as the beginning of a line.
func PositionText(d api.Diagnosis) string {
	switch {
	case d.File == "":
		return ""
	case d.Line == 0:
		return d.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", d.File, d.Line)
}

// RefusalText says which call the profile refused, how, and how often.
func RefusalText(r api.Refusal) string {
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

// WhyFailed is the difference of a wrong answer, what its checker says, or what ended the program; empty
// for a test that was accepted.
func WhyFailed(one api.TestResult) string {
	switch {
	case one.Difference != "":
		return one.Difference
	case one.Result.Verdict == api.OK && one.Score != nil && one.Answer == api.Partial:
		return strings.TrimSpace(fmt.Sprintf("score %.4g %s", *one.Score, one.Message))
	case one.Result.Verdict == api.OK && !one.Accepted():
		return one.Message
	case one.Result.Verdict == api.OK:
		return ""
	}

	_, why, _ := strings.Cut(VerdictText(one.Result, ""), ": ")
	why, _, _ = strings.Cut(why, " (")
	return why
}

// SummaryText counts the tests, and names the first that failed.
func SummaryText(s api.Summary) string {
	line := fmt.Sprintf("%d of %d accepted", s.Accepted, s.Tests)
	if s.Ran < s.Tests {
		line += fmt.Sprintf(", %d not run", s.Tests-s.Ran)
	}
	if s.FirstFailed != "" {
		line += ", first failed: " + terminal.Quote(s.FirstFailed)
	}
	return line
}

// Explained adds what a diagnosis of a result says to the text of its verdict, or replaces it.
func Explained(d api.Diagnosis, r api.Result, why string) string {
	switch own := d.Type != string(r.Verdict) && d.Type != r.SignalName; {
	case own && (r.Verdict == api.Nonzero || r.Verdict == api.Signaled):
		return d.Type + ": " + d.Message
	case r.Verdict == api.Nonzero && !strings.HasSuffix(why, d.Message):
		return why + ": " + d.Message // its last line
	}
	return why
}

// FailureText says in one line why a test failed: its difference, or what the diagnosis says.
func FailureText(one api.TestResult) string {
	why := WhyFailed(one)
	if d := one.Result.Diagnosis; d != nil && one.Difference == "" {
		return PositionText(*d) + Explained(*d, one.Result, why)
	}
	return why
}
