package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

func hit(r api.Result, limit string) bool { return slices.Contains(r.LimitsHit, limit) }

// hintOfLimits is for programs that met a limit and failed of it in their own way.
func hintOfLimits(r api.Result) string {
	for _, limit := range []string{api.HitScratch, api.HitInodes, api.HitPids, api.HitOpenFiles} {
		if hit(r, limit) {
			return hintOfLimit(limit, r.Limits)
		}
	}
	return ""
}

// hintOfLimit says what a limit allows, and how to ask for more.
func hintOfLimit(limit string, l api.Limits) string {
	var text string
	switch limit {
	case api.HitScratch:
		text = fmt.Sprintf("its files in /box and /tmp were full: they may have %s together; delete what is not needed", l.Scratch)
	case api.HitInodes:
		text = fmt.Sprintf("it had too many files: at most %d are allowed; delete what is not needed", l.Inodes)
	case api.HitPids:
		text = fmt.Sprintf("it had too many processes and threads: at most %d are allowed at a time", l.Pids)
	case api.HitOpenFiles:
		text = fmt.Sprintf("it had too many files open: at most %d are allowed at a time; close each after use", l.OpenFiles)
	}
	return fmt.Sprintf("%s, or raise the limit (--%s, or %s of limits in a request)", text, strings.ReplaceAll(limit, "_", "-"), limit)
}

// hintOfShortage is for a program that says itself which of its limits it met, and for one
// whose profile refused it another process; empty for others. It is more than what its
// language knows of such an error.
func hintOfShortage(d api.Diagnosis, r api.Result) string {
	refused, was := refusedFork(r)
	switch {
	case was && (says(d.Message, threadWords) || strings.Contains(d.Message, errnoWords[refused.Errno])):
		return fmt.Sprintf("the profile %s refused %s (%s), which starts processes and threads: do without, or ask for a wider profile (--profile, or profile in a request)",
			refused.Profile, refused.Syscall, refused.Errno)
	case hit(r, api.HitPids) && (says(d.Message, threadWords) || strings.Contains(d.Message, errnoWords["EAGAIN"])):
		return hintOfLimit(api.HitPids, r.Limits)
	case strings.Contains(strings.ToLower(d.Message), "too many open files") && r.Limits.OpenFiles > 0:
		return hintOfLimit(api.HitOpenFiles, r.Limits)
	case strings.Contains(strings.ToLower(d.Message), "no space left on device"):
		return hintOfLimits(r)
	}
	return ""
}

// threadWords are what languages say where no thread or process could be started.
var threadWords = []string{
	"can't start new thread",         // python
	"unable to create native thread", // java
	"can't create Thread",            // ruby
	"failed to create new OS thread", // go
	"failed to spawn thread",         // rust
}

func says(text string, any []string) bool {
	return slices.ContainsFunc(any, func(words string) bool { return strings.Contains(text, words) })
}

// refusedFork finds a call that starts processes or threads among those that the profile
// refused. clone3 is refused with ENOSYS, which makes the C library use clone, and is not told.
func refusedFork(r api.Result) (api.Refusal, bool) {
	for _, one := range r.Refused {
		switch one.Syscall {
		case "clone", "clone3", "fork", "vfork":
			if one.Errno != "" {
				return one, true
			}
		}
	}
	return api.Refusal{}, false
}

// errnoWords are the C library's words for the errors that profiles refuse calls with.
var errnoWords = map[string]string{
	"EPERM":        "Operation not permitted",
	"EACCES":       "Permission denied",
	"EAGAIN":       "Resource temporarily unavailable",
	"EAFNOSUPPORT": "Address family not supported",
	"ENOLCK":       "No locks available",
}
