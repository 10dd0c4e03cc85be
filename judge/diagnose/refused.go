package diagnose

import (
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose/messages"
)

// RelevantRefusals returns those refused calls of a failed run that may explain the failure; the result has
// all refused calls. With tests it is the run of the decisive test. A call is included if the program's
// output names its error. Otherwise it is included unless the failure has another explanation, or the
// call is one that every start of the language makes. language is empty for a command, or if it is
// unknown.
func RelevantRefusals(language string, r api.Result) []api.Refusal {
	r = r.Decisive()
	if r.Verdict == api.OK || r.Verdict == api.Canceled || r.Verdict == "" {
		return nil
	}
	printed := messages.NewText(r.Stdout, r.Stderr)
	var all []api.Refusal
	for _, one := range r.Refused {
		if mentionsErrno(printed, one.Errno) || !explained(r) && !IsUsual(language, r.Stage, one) {
			all = append(all, one)
		}
	}
	return all
}

// explained reports whether an error in the program's own code explains the failure.
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

// mentionsErrno reports whether the text contains an error's name, or the C library's message for it.
func mentionsErrno(t *messages.Text, errno string) bool {
	if errno == "" {
		return false
	}
	words, known := errnoMessages[errno]
	return t.Contains(errno) || known && t.Contains(words)
}
