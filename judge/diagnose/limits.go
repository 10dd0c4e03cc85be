package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

func hit(r api.Result, limit string) bool { return slices.Contains(r.LimitsHit, limit) }

// hintOfLimits returns a hint for a program that reached a limit and then failed with an error of
// its own.
func hintOfLimits(r api.Result) string {
	for _, limit := range []string{api.HitScratch, api.HitInodes, api.HitPids, api.HitOpenFiles} {
		if hit(r, limit) {
			return hintOfLimit(limit, r.Limits)
		}
	}
	return ""
}

// hintOfLimit returns a hint that says what a limit allows and how to request more.
func hintOfLimit(limit string, l api.Limits) string {
	var text string
	switch limit {
	case api.HitScratch:
		text = fmt.Sprintf("its space in /box and /tmp was full: the limit of both together is %s; delete unneeded files",
			l.Scratch)
	case api.HitInodes:
		text = fmt.Sprintf("it had too many files: at most %d are allowed; delete unneeded files", l.Inodes)
	case api.HitPids:
		text = fmt.Sprintf("it had too many processes and threads: at most %d are allowed at once", l.Pids)
	case api.HitOpenFiles:
		text = fmt.Sprintf("it had too many files open: at most %d are allowed at once; close each after use", l.OpenFiles)
	case api.HitFileSize:
		text = fmt.Sprintf("it wrote a file that is too large: at most %s are allowed for each; write less", l.FileSize)
	case limitAddressSpace:
		text = fmt.Sprintf("a process may map at most %s, used or not; use less memory, or smaller stacks of threads",
			l.AddressSpace)
	case limitData:
		text = fmt.Sprintf("a process may map at most %s privately; use less memory, or smaller stacks of threads", l.Data)
	}

	return fmt.Sprintf("%s, or raise the limit (--%s, or %s of limits in a request)", text,
		strings.ReplaceAll(limit, "_", "-"), limit)
}

// The limits that are never in Result.LimitsHit, because only the program learns that it met them.
const limitAddressSpace, limitData = "address_space", "data"

// mappingLimit names the limit on what a process maps that a run has, the smaller one of two; empty: none.
func mappingLimit(l api.Limits) string {
	switch {
	case l.AddressSpace > 0 && (l.Data == 0 || l.AddressSpace <= l.Data):
		return limitAddressSpace
	case l.Data > 0:
		return limitData
	}
	return ""
}

// hintOfShortage returns a hint for a program whose own message names the limit that it reached, or
// whose profile refused to start another process. It is empty for others. The hint is more specific
// than the language's hint for such an error.
func hintOfShortage(d api.Diagnosis, r api.Result) string {
	refused, found := refusedFork(r)
	switch {
	case found && (containsAny(d.Message, threadMessages) || strings.Contains(d.Message, errnoMessages[refused.Errno])):
		return fmt.Sprintf("the profile %s refused %s (%s), which starts processes and threads: avoid that, or use a "+
			"wider profile (--profile, or profile in a request)",
			refused.Profile, refused.Syscall, refused.Errno)
	case hit(r, api.HitPids) &&
		(containsAny(d.Message, threadMessages) || strings.Contains(d.Message, errnoMessages["EAGAIN"])):
		return hintOfLimit(api.HitPids, r.Limits)
	case strings.Contains(strings.ToLower(d.Message), "too many open files") && r.Limits.OpenFiles > 0:
		return hintOfLimit(api.HitOpenFiles, r.Limits)
	case hit(r, api.HitFileSize),
		strings.Contains(strings.ToLower(d.Message), "file too large") && r.Limits.FileSize > 0:
		return hintOfLimit(api.HitFileSize, r.Limits)
	case d.Category == api.CategoryMemory && mappingLimit(r.Limits) != "":
		return hintOfLimit(mappingLimit(r.Limits), r.Limits)
	case strings.Contains(strings.ToLower(d.Message), "no space left on device"):
		return hintOfLimits(r)
	}

	return ""
}

// threadMessages are the messages of languages that could not start a thread or process.
var threadMessages = []string{
	"can't start new thread",         // python
	"unable to create native thread", // java
	"can't create Thread",            // ruby
	"failed to create new OS thread", // go
	"failed to spawn thread",         // rust
	"Out of memory.",                 // .NET says the same of memory
	"System.OutOfMemoryException",
}

func containsAny(text string, any []string) bool {
	return slices.ContainsFunc(any, func(words string) bool { return strings.Contains(text, words) })
}

// refusedFork finds a call that starts processes or threads among the calls that the profile
// refused. A clone3 refused with ENOSYS, which makes the C library use clone, is not reported.
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

// errnoMessages are the C library's messages for the errors with which profiles refuse calls.
var errnoMessages = map[string]string{
	"EPERM":        "Operation not permitted",
	"EACCES":       "Permission denied",
	"EAGAIN":       "Resource temporarily unavailable",
	"EAFNOSUPPORT": "Address family not supported",
	"ENOLCK":       "No locks available",
}
