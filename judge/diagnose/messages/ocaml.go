package messages

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// ocaml parses "Fatal error: exception Failure("boom")" and the backtrace below it. The first frame
// that is not of the standard library is the deepest of the program's own.
func ocaml(t *Text) (api.Diagnosis, bool) {
	for i, line := range t.lines {
		msg, ok := strings.CutPrefix(line, "Fatal error: exception ")
		if !ok {
			continue
		}

		typ, _, _ := strings.Cut(msg, "(")
		typ, _, _ = strings.Cut(typ, ":")
		k := match(ocamlRunPatterns, msg, kind{api.CategoryRuntime, ""})
		d := api.Diagnosis{Category: k.category, Type: typ, Message: msg, Hint: k.hint}
		for j := i + 1; j < len(t.lines); j++ {
			frame := t.lines[j]
			if _, where, found := strings.Cut(frame, " in file "); found && !strings.Contains(frame, " Stdlib") {
				return ocamlPlace(strings.Replace(where, " (inlined)", "", 1)).in(d), true
			}
		}

		return d, true
	}

	return api.Diagnosis{}, false
}

// ocamlPlace parses "main.ml", line 3, characters 2-17
func ocamlPlace(s string) place {
	file, ok := between(s, `"`, `"`)
	_, rest, found := strings.Cut(s, `", line`)
	if !ok || !found {
		return place{}
	}

	n, _ := number(strings.TrimPrefix(strings.TrimPrefix(rest, "s"), " "))
	if n == 0 {
		return place{}
	}

	at := place{OwnFile(file), n, 0}
	if _, columns, placed := strings.Cut(rest, "characters "); placed {
		column, _ := number(columns)
		at.column = column + 1
	}
	return at
}

var ocamlRunPatterns = append([]pattern{
	{"index out of bounds", kind{api.CategoryValue, hintIndex}},
	{"Division_by_zero", kind{api.CategoryValue, hintZero}},
	{"Not_found", kind{api.CategoryValue, "what was looked for is not there: use the function whose name ends in _opt"}},
	{"int_of_string", kind{api.CategoryValue, "the text is not a number: print it before converting it"}},
	{"float_of_string", kind{api.CategoryValue, "the text is not a number: print it before converting it"}},
	{"End_of_file", kind{api.CategoryValue, hintInput}},
	{"Stdlib.Scanf.Scan_failure", kind{api.CategoryValue, "the input does not have the form that scanf reads"}},
	{"Match_failure", kind{api.CategoryValue, "no pattern matches this value: add one"}},
	{"Assert_failure", kind{api.CategoryRuntime, "the condition of this assert is false"}},
	{"Stack_overflow", kind{api.CategoryRuntime, hintRecursion}},
	{"Out_of_memory", kind{api.CategoryMemory, HintMemory}},
}, syscallPatterns...)

// ocamlopt parses File "main.ml", line 3, characters 8-12: and the next line that begins with Error.
func ocamlopt(t *Text) []api.Diagnosis {
	var all []api.Diagnosis
	var at place
	for i, line := range t.lines {
		if len(all) == maxErrors {
			break
		}
		if where, ok := strings.CutPrefix(line, "File "); ok {
			at = ocamlPlace(where)
			continue
		}

		msg, ok := strings.CutPrefix(line, "Error: ")
		if !ok {
			continue
		}

		for j := i + 1; strings.HasPrefix(t.line(j), "       ") && len(msg) < maxMessage; j++ {
			msg += " " + strings.TrimSpace(t.lines[j])
		}

		k := match(ocamlPatterns, msg, kind{api.CategoryCompile, ""})
		all = append(all, at.in(api.Diagnosis{Category: k.category, Type: "Error", Message: msg, Hint: k.hint}))
		at = place{}
	}

	return all
}

var ocamlPatterns = []pattern{
	{"Syntax error", kind{api.CategorySyntax, hintSyntax}},
	{"Illegal character", kind{api.CategorySyntax, "this character is not part of the language"}},
	{"not terminated", kind{api.CategorySyntax, "a string or comment is opened here and never closed"}},
	{"Unbound module", kind{api.CategoryImport, "this module does not exist here, or its name is misspelt; if it is " +
		"yours, " + hintAddFile}},
	{"Unbound", kind{api.CategoryCompile, "this name is not defined here: check the spelling, and let rec for a recursive function"}},
	{"was expected of type", kind{api.CategoryType, hintType}},
	{"but an expression was expected", kind{api.CategoryType, hintType}},
	{"but is here used with type", kind{api.CategoryType, hintType}},
	{"is applied to too many arguments", kind{api.CategoryType, "the call has too many arguments: look for a missing ; or parentheses"}},
	{"cannot be applied", kind{api.CategoryType, "this is not a function: look for a missing ; or operator"}},
}
