package messages

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// bash parses the last "main.sh: line 3: message" of the shell itself: the output of commands does
// not have this form.
func bash(t *Text) (api.Diagnosis, bool) {
	for i := len(t.lines) - 1; i >= 0; i-- {
		name, rest, ok := strings.Cut(t.lines[i], ": line ")
		n, msg := number(rest)
		if !ok || n == 0 || !strings.HasPrefix(msg, ": ") {
			continue
		}

		msg = msg[2:]
		if strings.HasPrefix(msg, "  ") { // "    3 Killed   sleep 9": a command with its number
			_, msg = number(strings.TrimLeft(msg, " "))
		}

		msg = strings.TrimSpace(msg)
		if strings.HasPrefix(msg, "`") && i > 0 && strings.Contains(t.lines[i-1], "syntax error") {
			continue // it shows the source line of the previous error message
		}

		d := api.Diagnosis{Category: api.CategoryRuntime, Type: "error", Message: msg}
		for _, c := range bashPatterns {
			if strings.Contains(msg, c.contains) {
				d.Category, d.Type, d.Hint = c.category, c.contains, fill(c.hint, msg)
				break
			}
		}

		return place{OwnFile(name), n, 0}.in(d), true
	}

	return api.Diagnosis{}, false
}

var bashPatterns = append([]pattern{
	{"syntax error", kind{api.CategorySyntax, "look for a missing fi, done, esac or closing quote, and for missing spaces around [ and ]"}},
	{"unexpected EOF", kind{api.CategorySyntax, "a quote or bracket opened on this line is never closed"}},
	{"command not found", kind{api.CategoryImport, "this image has no such command; an assignment has no spaces around ="}},
	{"unbound variable", kind{api.CategoryRuntime, "the variable was never set: check the spelling"}},
	{"division by 0", kind{api.CategoryValue, hintZero}},
	{"integer expression expected",
		kind{api.CategoryType, "one side is not a whole number: print it; an empty variable is not a number either"}},
	{"integer expected", kind{api.CategoryType, "one side is not a whole number: print it; an empty variable is not a number either"}},
	{"unary operator expected", kind{api.CategoryType, "a variable is empty or has spaces: put it in double quotes"}},
	{"too many arguments", kind{api.CategoryType, "a variable has spaces: put it in double quotes"}},
	{"bad substitution", kind{api.CategorySyntax, "the text in ${...} is not a variable name"}},
	{"readonly variable", kind{api.CategoryRuntime, "a readonly variable cannot be changed"}},
	{"maximum function nesting level", kind{api.CategoryRuntime, hintRecursion}},
	{"value too great for base", kind{api.CategoryValue, "a number that begins with 0 is octal: write 10#$n"}},
	{"Resource temporarily unavailable", kind{api.CategoryRuntime, hintThreads}},
	{"ambiguous redirect", kind{api.CategoryRuntime, "the name after > or < is empty or has spaces: put it in double quotes"}},
	{"Aborted", kind{api.CategorySignal, "a command called by the script aborted"}},
	{"Segmentation fault", kind{api.CategorySignal, "a command called by the script accessed invalid memory"}},
	{"Killed", kind{api.CategorySignal, "a command called by the script was killed"}},
}, syscallPatterns...)
