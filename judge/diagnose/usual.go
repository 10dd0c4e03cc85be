package diagnose

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// usualCalls has a line "LANGUAGE STAGE CALL ERRNO" for each refused call that the compiler or the
// programs of a language make at their usual start, and when they fail. TestLanguages -update adds to
// it what it sees of a hello, a compile error and a crash, with and without templates.
//
//go:embed usual.txt
var usualCalls string

// usual is what usualCalls says, with a language of the empty name that has the calls of all.
var usual = sync.OnceValue(func() map[usualCall]bool { return parseUsual(usualCalls) })

// A usualCall is a refused call of a stage of a language.
type usualCall struct {
	language string
	stage    api.Stage
	call     string
	errno    string
}

func parseUsual(text string) map[usualCall]bool {
	all := map[usualCall]bool{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		all[usualCall{f[0], "", "", ""}] = true // the language has a record
		if len(f) != 4 {
			continue // a language that makes no refused call
		}
		one := usualCall{f[0], api.Stage(f[1]), f[2], f[3]}
		all[one] = true
		one.language = ""
		all[one] = true
	}

	return all
}

// IsUsual reports whether a refused call is one that programs of the language make at every start. Of a
// language without a record, such as an operator's own, or of a command, it is one that programs of any
// language make.
func IsUsual(language string, stage api.Stage, one api.Refusal) bool {
	if !usual()[usualCall{language, "", "", ""}] {
		language = ""
	}
	return usual()[usualCall{language, stage, one.Syscall, one.Errno}]
}
