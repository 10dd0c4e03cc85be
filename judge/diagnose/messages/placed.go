package messages

import (
	"cmp"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// placedErrors parses FILE:LINE: error: MESSAGE and FILE:LINE:COLUMN: error: MESSAGE, as the
// compilers of Kotlin, Scala, Swift and D write them. Syntax errors come first: what else the
// compiler reports follows from them.
func placedErrors(patterns []pattern) func(*Text) []api.Diagnosis {
	return func(t *Text) []api.Diagnosis {
		var all []api.Diagnosis
		for i, line := range t.lines {
			if len(all) == maxErrors {
				break
			}

			at, rest, ok := colons(line)
			msg, isError := strings.CutPrefix(rest, "error: ")
			if !ok || !isError {
				continue
			}

			for j := i + 1; j <= i+2 && (strings.HasPrefix(t.line(j), " found ") || strings.HasPrefix(t.line(j), " required")); j++ { // Scala
				msg += " " + strings.Join(strings.Fields(t.lines[j]), " ")
			}

			k := match(patterns, msg, kind{api.CategoryCompile, ""})
			all = append(all, at.in(api.Diagnosis{Category: k.category, Type: "error", Message: msg, Hint: k.hint}))
		}

		slices.SortStableFunc(all, func(a, b api.Diagnosis) int { return cmp.Compare(later(a), later(b)) })
		return all
	}
}

func later(d api.Diagnosis) int {
	if d.Category == api.CategorySyntax {
		return 0
	}
	return 1
}

const (
	hintUndefined = "%s is not defined here: check the spelling and imports"
	hintDefined   = "the name is defined twice"
	hintArguments = "the call has the wrong number or types of arguments"
	hintMember    = "check the spelling after the dot, and the type of the value before it"
)

var kotlinPatterns = []pattern{
	{"syntax error", kind{api.CategorySyntax, hintSyntax}},
	{"expecting ", kind{api.CategorySyntax, hintSyntax}},
	{"unresolved reference", kind{api.CategoryCompile, hintUndefined}},
	{"type mismatch", kind{api.CategoryType, hintType}},
	{"only safe (?.)", kind{api.CategoryType, "the value may be null: use ?. or check it before"}},
	{"null cannot be", kind{api.CategoryType, "the type allows no null: write a ? after it, or use another value"}},
	{"no value passed for parameter", kind{api.CategoryType, hintArguments}},
	{"too many arguments", kind{api.CategoryType, hintArguments}},
	{"none of the following candidates", kind{api.CategoryType, hintArguments}},
	{"'val' cannot be reassigned", kind{api.CategoryCompile, "a val never changes: declare it with var"}},
	{"conflicting ", kind{api.CategoryCompile, hintDefined}},
	{"redeclaration", kind{api.CategoryCompile, hintDefined}},
	{"must be initialized", kind{api.CategoryCompile, "give the variable a value where it is declared"}},
}

var scalaPatterns = []pattern{
	{" expected but ", kind{api.CategorySyntax, hintSyntax}},
	{"illegal start of", kind{api.CategorySyntax, hintSyntax}},
	{"unclosed string literal", kind{api.CategorySyntax, "a string is opened here and never closed: add the quote at its end"}},
	{"not found: ", kind{api.CategoryCompile, "this name is not defined here: check the spelling and imports"}},
	{"is not a member of package",
		kind{api.CategoryImport,
			"this package has no such member: check the spelling of the import; only Scala's own library and the JDK are available"}},
	{"is not a member of", kind{api.CategoryType, hintMember}},
	{"type mismatch", kind{api.CategoryType, hintType}},
	{"overloaded method", kind{api.CategoryType, hintArguments}},
	{"not enough arguments", kind{api.CategoryType, hintArguments}},
	{"too many arguments", kind{api.CategoryType, hintArguments}},
	{"reassignment to val", kind{api.CategoryCompile, "a val never changes: declare it with var"}},
	{"is already defined", kind{api.CategoryCompile, hintDefined}},
}

var swiftPatterns = []pattern{
	{"expected ", kind{api.CategorySyntax, hintSyntax}},
	{"unterminated string", kind{api.CategorySyntax, "a string is opened here and never closed: add the quote at its end"}},
	{"consecutive statements", kind{api.CategorySyntax, hintSyntax}},
	{"no such module", kind{api.CategoryImport, "this module is not available: only those of Swift itself are, such as Foundation"}},
	{"cannot find", kind{api.CategoryCompile, hintUndefined}},
	{"has no member", kind{api.CategoryType, hintMember}},
	{"cannot convert", kind{api.CategoryType, hintType}},
	{"must be unwrapped", kind{api.CategoryType, "the value may be nil: use if let, ?? or !"}},
	{"missing argument", kind{api.CategoryType, hintArguments}},
	{"extra argument", kind{api.CategoryType, hintArguments}},
	{"is a 'let' constant", kind{api.CategoryCompile, "a let never changes: declare it with var"}},
	{"can throw", kind{api.CategoryCompile, "the call can throw: write try before it, in a do with a catch"}},
	{"invalid redeclaration", kind{api.CategoryCompile, hintDefined}},
}

var dPatterns = []pattern{
	{"expected", kind{api.CategorySyntax, hintSyntax}},
	{"found ‘", kind{api.CategorySyntax, hintSyntax}},
	{"unterminated", kind{api.CategorySyntax, "a string or comment is opened here and never closed"}},
	{"unable to read module", kind{api.CategoryImport, hintModule}},
	{"undefined identifier", kind{api.CategoryCompile, hintUndefined}},
	{"is not defined", kind{api.CategoryCompile, hintUndefined}},
	{"cannot implicitly convert", kind{api.CategoryType, hintType}},
	{"incompatible types", kind{api.CategoryType, hintType}},
	{"is not callable using argument types", kind{api.CategoryType, hintArguments}},
	{"no property", kind{api.CategoryType, hintMember}},
	{"cannot modify", kind{api.CategoryType, "the value is const or immutable"}},
	{"conflicts with", kind{api.CategoryCompile, hintDefined}},
}

// dlang parses "core.exception.RangeError@main.d(3): message", and the frames "/box/main.d:3 name"
// below it if the exception is from a library.
func dlang(t *Text) (api.Diagnosis, bool) {
	for i, line := range t.lines {
		typ, rest, ok := strings.Cut(line, "@")
		if !ok || !isName(typ) || !strings.Contains(typ, ".") {
			continue
		}

		at, msg, ok := brackets(rest)
		if !ok {
			continue
		}
		if strings.HasPrefix(rest, "/usr/") || strings.HasPrefix(rest, "std/") || strings.HasPrefix(rest, "../") {
			at = place{}
		}

		for j := i + 1; j < len(t.lines) && at.file == ""; j++ {
			if where, found := strings.CutPrefix(t.lines[j], "/box/"); found {
				file, number, _ := strings.Cut(where, ":")
				at, _, _ = colons(file + ":" + strings.Replace(number, " ", ": ", 1))
			}
		}

		k := match(dRunPatterns, typ+" "+msg, kind{api.CategoryRuntime, ""})
		return at.in(api.Diagnosis{Category: k.category, Type: typ, Message: msg, Hint: k.hint}), true
	}

	return api.Diagnosis{}, false
}

var dRunPatterns = append([]pattern{
	{"ArrayIndexError", kind{api.CategoryValue, hintIndex}},
	{"RangeError", kind{api.CategoryValue, "an index is out of range, or the associative array has no such key"}},
	{"ArraySliceError", kind{api.CategoryValue, "the bounds of a slice are outside of the array"}},
	{"AssertError", kind{api.CategoryRuntime, "the condition of this assert is false"}},
	{"ConvException", kind{api.CategoryValue, "the text is not a value of this type: print it before converting it"}},
	{"OutOfMemoryError", kind{api.CategoryMemory, HintMemory}},
}, syscallPatterns...)

// swift parses "main/main.swift:3: Fatal error: message" and the like for preconditions, which have
// a file of the library if it is the library that found the mistake.
func swift(t *Text) (api.Diagnosis, bool) {
	for _, line := range t.lines {
		where, said, ok := strings.Cut(line, ": ")
		typ, msg, _ := strings.Cut(said, ":")
		if !ok || typ != "Fatal error" && typ != "Precondition failed" && typ != "Assertion failed" {
			continue
		}

		msg = strings.TrimSpace(msg)
		var at place
		if module, own, inModule := strings.Cut(where, "/"); inModule && module == "main" {
			at, _, _ = colons(own + ":")
		}

		msg = strings.TrimPrefix(msg, "Error raised at top level: ")
		k := match(swiftRunPatterns, said, kind{api.CategoryRuntime, ""})
		return at.in(api.Diagnosis{Category: k.category, Type: typ, Message: msg, Hint: k.hint}), true
	}

	return api.Diagnosis{}, false
}

// HintOfTrap returns a hint for an optimized program of Swift that ended itself: it does so by an
// instruction that does not exist, and prints nothing.
func HintOfTrap(language string, d api.Diagnosis) string {
	if language == "swift" && (d.Type == "SIGILL" || d.Type == "SIGTRAP") {
		return "the program stopped itself: an index out of range, a nil, an overflow or a precondition; with --flag " +
			"-Onone it says which, and where"
	}
	return ""
}

var swiftRunPatterns = append([]pattern{
	{"ndex out of range", kind{api.CategoryValue, hintIndex}},
	{"unexpectedly found nil", kind{api.CategoryValue, "the value is nil: use if let or ?? instead of !"}},
	{"Division by zero", kind{api.CategoryValue, hintZero}},
	{"Precondition failed", kind{api.CategoryRuntime, "the condition of this precondition is false"}},
	{"Assertion failed", kind{api.CategoryRuntime, "the condition of this assert is false"}},
	{"not enough bits", kind{api.CategoryValue, "a number is too large for the type it is converted to"}},
}, syscallPatterns...)
