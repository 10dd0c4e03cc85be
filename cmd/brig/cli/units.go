package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/brig-sandbox/brig/api"
)

// ShellWord quotes s where a shell would read it as anything but one word.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// FormatDuration formats a time for people.
func FormatDuration(f api.Measurement) string {
	if f.Value == nil {
		return "an unknown time"
	}
	return time.Duration(*f.Value).Round(10 * time.Microsecond).String()
}

// FormatCount formats a count for people.
func FormatCount(f api.Measurement) string {
	if f.Value == nil {
		return "unknown"
	}
	return fmt.Sprint(*f.Value)
}

// FormatBytes formats a size rounded for people: 511.8M.
func FormatBytes(f api.Measurement) string {
	if f.Value == nil {
		return "an unknown amount"
	}
	return api.Size(*f.Value).About()
}

// MemoryOf is the memory of a run as its author understands it: the peak of all processes together
// that was charged to the run, or the largest resident process if that is more. A page of the
// image that was already in memory is charged to no run, so the charge alone may be close to zero.
func MemoryOf(u api.Usage) api.Measurement {
	if u.Memory.Value == nil || u.MaxRSS.Value != nil && *u.MaxRSS.Value > *u.Memory.Value {
		return u.MaxRSS
	}
	return u.Memory
}

// MaxMemory is the largest MemoryOf of tests, in bytes.
func MaxMemory(tests []api.TestResult) int64 {
	var maximum int64
	for _, one := range tests {
		if m := MemoryOf(one.Result.Usage).Value; m != nil {
			maximum = max(maximum, *m)
		}
	}
	return maximum
}

// InMillis formats nanoseconds in the unit of the column.
func InMillis(f api.Measurement) string {
	if f.Value == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", float64(*f.Value)/1e6)
}

// InMiB formats bytes in the unit of the column.
func InMiB(f api.Measurement) string {
	if f.Value == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", float64(*f.Value)/float64(api.MiB))
}
