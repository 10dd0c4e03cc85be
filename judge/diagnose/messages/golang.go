package messages

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// golang parses a panic or a fatal error and the stack of its goroutine. Of several panics it
// reports the last one: each was raised while the previous one was handled.
func golang(t *Text) (api.Diagnosis, bool) {
	var d api.Diagnosis
	found, placed := false, false
	for _, line := range t.lines {
		typ, msg := "panic", ""
		var head bool
		if msg, head = strings.CutPrefix(strings.TrimPrefix(line, "\t"), "panic: "); !head {
			if msg, head = strings.CutPrefix(line, "fatal error: "); head {
				typ = "fatal error"
			}
		}
		if head && !placed {
			msg = strings.TrimSuffix(msg, " [recovered]")
			k := match(goPatterns, msg, kind{api.CategoryRuntime, ""})
			d, found = api.Diagnosis{Category: k.category, Type: typ, Message: msg, Hint: k.hint}, true
			continue
		}
		if found && !placed && strings.HasPrefix(line, "\t") { // "\t/box/main.go:5 +0x1d"
			where, _, _ := strings.Cut(line[1:], " ")
			where = strings.TrimPrefix(where, "command-line-arguments/")
			if at, _, ok := colons(where); ok && at.file != "" && !strings.Contains(at.file, "/") {
				d, placed = at.in(d), true
			}
		}
	}

	return d, found
}

var goPatterns = []pattern{
	{"index out of range", kind{api.CategoryValue, hintIndex}},
	{"slice bounds out of range", kind{api.CategoryValue, "the bounds of a slice expression are outside of the slice: check both"}},
	{"integer divide by zero", kind{api.CategoryValue, hintZero}},
	{"nil pointer dereference",
		kind{api.CategoryValue, "a pointer, interface or function is nil here: look at where it should have been set"}},
	{"assignment to entry in nil map", kind{api.CategoryValue, "the map was never made: use make()"}},
	{"interface conversion", kind{api.CategoryType, "the interface holds another type: use the form with two results, v, ok := x.(T)"}},
	{"all goroutines are asleep",
		kind{api.CategoryRuntime,
			"every goroutine waits for another: look for a channel without a send or close, or a WaitGroup with a wrong count"}},
	{"stack overflow", kind{api.CategoryRuntime, hintRecursion}},
	{"out of memory", kind{api.CategoryMemory, HintMemory}},
	{"cannot allocate memory", kind{api.CategoryMemory, HintMemory}},
	{"makeslice: ", kind{api.CategoryValue, "the length of a new slice is negative or far too large"}},
	{"concurrent map", kind{api.CategoryRuntime, "two goroutines use a map at the same time: guard it by a mutex"}},
	{"send on closed channel", kind{api.CategoryRuntime, "only the sender of a channel should close it"}},
	{"close of closed channel", kind{api.CategoryRuntime, "a channel is closed twice"}},
	{"negative WaitGroup counter", kind{api.CategoryRuntime, "Done is called more often than Add"}},
	{"no such file or directory", kind{api.CategoryRuntime, hintFile}},
	{"read-only file system", kind{api.CategoryRuntime, hintReadOnly}},
	{"permission denied", kind{api.CategoryRuntime, hintReadOnly}},
	{"network is unreachable", kind{api.CategoryRuntime, HintNetwork}},
	{"dial tcp", kind{api.CategoryRuntime, HintNetwork}},
	{"invalid syntax", kind{api.CategoryValue, "the text is not a number: print it before converting it"}},
}

// goBuild parses ./FILE:LINE:COLUMN: MESSAGE.
func goBuild(t *Text) []api.Diagnosis {
	var all []api.Diagnosis
	for _, line := range t.lines {
		if len(all) == maxErrors {
			break
		}

		at, msg, ok := colons(strings.TrimPrefix(line, "vet: "))
		if !ok || at.file == "" || msg == "" {
			continue
		}

		k := match(goBuildPatterns, msg, kind{api.CategoryCompile, ""})
		typ := "error"
		if rest, is := strings.CutPrefix(msg, "syntax error: "); is {
			typ, msg = "syntax error", rest
		}

		all = append(all, at.in(api.Diagnosis{Category: k.category, Type: typ, Message: msg, Hint: k.hint}))
	}

	if len(all) == 0 { // the linker names no lines
		for _, line := range t.lines {
			if strings.Contains(line, "function main is undeclared in the main package") {
				all = append(all, api.Diagnosis{Category: api.CategoryCompile, Type: "error", Message: line,
					Hint: "the program needs a func main in package main"})
				break
			}
		}
	}

	return all
}

var goBuildPatterns = []pattern{
	{"is not in std", kind{api.CategoryImport, "this package is not available: only the standard library is"}},
	{"no required module", kind{api.CategoryImport, "this package is not available: only the standard library is"}},
	{"cannot find package", kind{api.CategoryImport, "this package is not available: only the standard library is"}},
	{"imported and not used", kind{api.CategoryCompile, "Go does not allow unused imports: remove this one"}},
	{"declared and not used", kind{api.CategoryCompile, "Go does not allow unused variables: use it, or remove it"}},
	{"unexpected newline", kind{api.CategorySyntax, "the line ends too early: a bracket or comma is missing"}},
	{"syntax error", kind{api.CategorySyntax, hintSyntax}},
	{"expected ", kind{api.CategorySyntax, hintSyntax}},
	{"not terminated", kind{api.CategorySyntax, "a string is opened here and never closed: add the quote at its end"}},
	{"undefined: ", kind{api.CategoryCompile, "this name is not defined here: check the spelling, capitals and imports"}},
	{"has no field or method", kind{api.CategoryType, "check the spelling after the dot, and the type of the value before it"}},
	{"missing return", kind{api.CategoryCompile, "the function ends without a return on some path"}},
	{"cannot use", kind{api.CategoryType, hintType}},
	{"mismatched types", kind{api.CategoryType, "both sides of an operator need the same type: convert one"}},
	{"cannot convert", kind{api.CategoryType, hintType}},
	{"not enough arguments", kind{api.CategoryType, "the call has too few arguments"}},
	{"too many arguments", kind{api.CategoryType, "the call has too many arguments"}},
	{"assignment mismatch", kind{api.CategoryType, "the two sides have different numbers of values"}},
	{"redeclared", kind{api.CategoryCompile, "the name is defined twice"}},
	{"no new variables", kind{api.CategoryCompile, "all names on the left are already declared: write = instead of :="}},
}
