package diagnose

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// Refused gives those of a failed run's refused calls that may explain why it failed; the
// result has them all. A call counts where what the program printed names its error. Where
// nothing does, it counts unless the failure is explained otherwise, or the call is one that
// C libraries and shells try at the start of every program, and do without.
func Refused(r api.Result) []api.Refusal {
	if r.Verdict == api.OK || r.Verdict == api.Canceled || r.Verdict == "" {
		return nil
	}
	printed := newText(r.Stdout, r.Stderr)
	var all []api.Refusal
	for _, one := range r.Refused {
		if printed.names(one.Errno) || !explained(r) && !tried[one.Syscall+" "+one.Errno] {
			all = append(all, one)
		}
	}
	return all
}

// tried are calls that every run of some languages makes: the C library asks a daemon for the
// names of users, which bash wants at its start.
var tried = map[string]bool{"socket EAFNOSUPPORT": true, "prctl EPERM": true}

// explained reports whether the program's own text is what a failure is about.
func explained(r api.Result) bool {
	if r.Diagnosis == nil {
		return false
	}
	switch r.Diagnosis.Category {
	case api.CategorySyntax, api.CategoryImport, api.CategoryType, api.CategoryValue:
		return true
	}
	return false
}

// names reports whether the text has an error's name, or the C library's words for it.
func (t *text) names(errno string) bool {
	if errno == "" {
		return false
	}
	words, known := errnoWords[errno]
	for _, line := range t.lines {
		if strings.Contains(line, errno) || known && strings.Contains(line, words) {
			return true
		}
	}
	return false
}
