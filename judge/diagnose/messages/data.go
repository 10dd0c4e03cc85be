package messages

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// sql parses "Parse error near line 3: message" and "Runtime error near line 3: message (19)" of
// SQLite's shell, which names no file.
func sql(t *Text) (api.Diagnosis, bool) {
	for _, line := range t.lines {
		typ, rest, ok := strings.Cut(line, " near line ")
		if !ok || typ != "Parse error" && typ != "Runtime error" && typ != "Error" {
			continue
		}
		n, msg := number(rest)
		msg = strings.TrimPrefix(msg, ": ")
		k := match(sqlPatterns, msg, kind{api.CategoryRuntime, ""})
		return api.Diagnosis{Category: k.category, Type: typ, Message: msg, Line: n, Hint: k.hint}, true
	}
	return api.Diagnosis{}, false
}

var sqlPatterns = append([]pattern{
	{"incomplete input", kind{api.CategorySyntax, "the last statement does not end: look for a missing semicolon, quote or bracket"}},
	{"syntax error", kind{api.CategorySyntax, hintSyntax}},
	{"unrecognized token", kind{api.CategorySyntax, "a string is not closed, or this character is not part of the language"}},
	{"no such table", kind{api.CategoryValue, "no table has this name: create it before, or check the spelling"}},
	{"no such column", kind{api.CategoryValue, "no column has this name: check the spelling, and put text between single quotes"}},
	{"no such function", kind{api.CategoryValue, "no function has this name: check the spelling"}},
	{"already exists", kind{api.CategoryValue, "the name is defined twice"}},
	{"constraint failed", kind{api.CategoryValue, "the row does not meet a constraint of its table"}},
	{"wrong number of arguments", kind{api.CategoryType, "the function got the wrong number of arguments"}},
	{"malformed JSON", kind{api.CategoryValue, "the text is not JSON"}},
	{"database is locked", kind{api.CategoryRuntime, "another process has locked the database"}},
	{"out of memory", kind{api.CategoryMemory, HintMemory}},
}, syscallPatterns...)

// rlang parses "Error in f(2) (from #3) : message", "Error: message", and "main.R:3:8: unexpected
// symbol", which a script that cannot be parsed ends with. R writes a long message on the next line.
func rlang(t *Text) (api.Diagnosis, bool) {
	for i, line := range t.lines {
		at, msg, ok := colons(strings.TrimSpace(line))
		msg = strings.TrimPrefix(msg, "0: ") // the column of the end of a file
		if ok && at.file != "" && (strings.HasPrefix(msg, "unexpected ") || strings.HasPrefix(msg, "invalid ")) {
			k := match(rPatterns, msg, kind{api.CategorySyntax, hintSyntax})
			return at.in(api.Diagnosis{Category: k.category, Type: "syntax error", Message: msg, Hint: k.hint}), true
		}

		head, msg, ok := strings.Cut(line, ": ")
		if strings.HasSuffix(line, " :") || strings.HasSuffix(line, ": ") {
			head, msg, ok = strings.TrimSuffix(strings.TrimSpace(line), ":"), strings.TrimSpace(t.line(i+1)), true
		}
		if !ok || head != "Error" && !strings.HasPrefix(head, "Error in ") {
			continue
		}
		if at, rest, placed := colons(msg); placed && at.file != "" && strings.HasPrefix(rest, "unexpected ") {
			continue // the next line
		}

		k := match(rPatterns, msg, kind{api.CategoryRuntime, ""})
		d := api.Diagnosis{Category: k.category, Type: "Error", Message: msg, Hint: k.hint}
		if from, found := between(head, "(from ", ")"); found {
			file, line, _ := strings.Cut(from, "#")
			d.Line, _ = number(line)
			d.File = OwnFile(file)
		}

		return d, true
	}

	return api.Diagnosis{}, false
}

var rPatterns = append([]pattern{
	{"unexpected end of input", kind{api.CategorySyntax, "a bracket or quote is never closed"}},
	{"there is no package called", kind{api.CategoryImport, "%s is not in this image: only R's own packages are"}},
	{"could not find function", kind{api.CategoryRuntime, "no function has this name: check the spelling, and library()"}},
	{"object '", kind{api.CategoryRuntime, hintUndefined}},
	{"non-numeric argument", kind{api.CategoryType, "a value is not a number: convert it with as.numeric()"}},
	{"subscript out of bounds", kind{api.CategoryValue, "an index is out of range: counting starts at 1"}},
	{"missing value where TRUE/FALSE", kind{api.CategoryValue, "the condition is NA: look at where the value comes from"}},
	{"argument is of length zero", kind{api.CategoryValue, "the condition has no value: look at where it comes from"}},
	{"unused argument", kind{api.CategoryType, "the function has no such argument"}},
	{"is missing, with no default", kind{api.CategoryType, "the call lacks an argument"}},
	{"infinitely nested", kind{api.CategoryRuntime, hintRecursion}},
	{"stack overflow", kind{api.CategoryRuntime, hintRecursion}},
	{"C stack usage", kind{api.CategoryRuntime, hintRecursion}},
	{"cannot allocate", kind{api.CategoryMemory, HintMemory}},
	{"cannot open", kind{api.CategoryRuntime, hintFile}},
}, syscallPatterns...)
