package messages

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// haskell parses "main: message" and the CallStack that GHC's library prints below it. The first
// call in the program's own files is the deepest.
func haskell(t *Text) (api.Diagnosis, bool) {
	for i, line := range t.lines {
		msg, ok := strings.CutPrefix(line, "main: ")
		if !ok {
			continue
		}

		d := api.Diagnosis{Category: api.CategoryRuntime, Type: "exception", Message: msg}
		for _, c := range haskellPatterns {
			if strings.Contains(msg, c.contains) {
				d.Category, d.Hint = c.category, c.hint
				break
			}
		}

		if at, rest, ok := haskellPlace(msg); ok && at.file != "" {
			d.Message = rest
			return at.in(d), true
		}

		for j := i + 1; j < len(t.lines); j++ {
			_, where, called := strings.Cut(t.lines[j], ", called at ")
			if !called {
				continue
			}
			if d.Type == "exception" {
				d.Type, _, _ = strings.Cut(strings.TrimSpace(t.lines[j]), ",")
			}
			if at, _, ok := colons(where); ok && at.file != "" && !strings.HasPrefix(at.file, "libraries/") {
				return at.in(d), true
			}
		}

		return d, true
	}

	return api.Diagnosis{}, false
}

// haskellPlace parses main.hs:3:1-7: and main.hs:(3,1)-(4,9): at the start of s.
func haskellPlace(s string) (place, string, bool) {
	file, rest, _ := strings.Cut(s, ":")
	if lines, ok := strings.CutPrefix(rest, "("); ok {
		at, _, ok := brackets(file + "(" + lines)
		_, rest, _ = strings.Cut(rest, ": ")
		return at, rest, ok
	}
	at, rest, ok := colons(s)
	if _, after, ranged := strings.Cut(rest, ": "); ranged && strings.HasPrefix(rest, "-") {
		rest = after
	}
	return at, rest, ok
}

var haskellPatterns = []pattern{
	{"Non-exhaustive", kind{api.CategoryValue, "no pattern matches this value: add one"}},
	{"head: empty list", kind{api.CategoryValue, "head has no result for an empty list: match on it first"}},
	{"empty list", kind{api.CategoryValue, "the function has no result for an empty list: match on it first"}},
	{"divide by zero", kind{api.CategoryValue, hintZero}},
	{"no parse", kind{api.CategoryValue, "the text is not a value of the type that read returns: use readMaybe"}},
	{"index too large", kind{api.CategoryValue, hintIndex}},
	{"fromJust", kind{api.CategoryValue, "the Maybe is Nothing: match on it"}},
	{"Maybe.fromJust: Nothing", kind{api.CategoryValue, "the Maybe is Nothing: match on it"}},
	{"key is not an element", kind{api.CategoryValue, "the map has no such key: use lookup"}},
	{"end of file", kind{api.CategoryValue, hintInput}},
	{"stack overflow", kind{api.CategoryRuntime, hintRecursion}},
	{"<<loop>>", kind{api.CategoryRuntime, "a value depends on itself endlessly"}},
	{"Heap exhausted", kind{api.CategoryMemory, HintMemory}},
	{"heap overflow", kind{api.CategoryMemory, HintMemory}},
	{"does not exist", kind{api.CategoryRuntime, hintFile}},
	{"permission denied", kind{api.CategoryRuntime, hintReadOnly}},
	{"blocked indefinitely", kind{api.CategoryRuntime, "a thread waits for an event that no other thread will cause"}},
}

// ghc parses FILE:LINE:COLUMN: error: [GHC-83865], and the message below it.
func ghc(t *Text) []api.Diagnosis {
	var all []api.Diagnosis
	for i, line := range t.lines {
		if len(all) == maxErrors {
			break
		}

		at, rest, ok := colons(line)
		after, isError := strings.CutPrefix(rest, "error:")
		if !ok || !isError {
			continue
		}

		code, coded := between(after, "[", "]")
		if !coded {
			code = "error"
		}

		_, msg, _ := strings.Cut(after, "]")
		if !coded {
			msg = after
		}

		msg = strings.TrimSpace(msg)
		if msg == "" {
			msg = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(t.line(i+1)), "•"))
		}

		k := match(ghcPatterns, msg, kind{api.CategoryCompile, ""})
		all = append(all, at.in(api.Diagnosis{Category: k.category, Type: code, Message: msg, Hint: k.hint}))
	}

	return all
}

var ghcPatterns = []pattern{
	{"parse error", kind{api.CategorySyntax, "look at the indentation and brackets of this line and the one before"}},
	{"lexical error", kind{api.CategorySyntax, "a string is not closed, or this character is not part of the language"}},
	{"Could not find module",
		kind{api.CategoryImport, "this module does not exist here, or its name is misspelt; if it is yours, " + hintAddFile}},
	{"Could not load module", kind{api.CategoryImport, "the module's package is hidden: only those of GHC itself are available"}},
	{"not in scope", kind{api.CategoryCompile, "this name is not defined here: check the spelling and imports"}},
	{"Couldn't match", kind{api.CategoryType, hintType}},
	{"Couldn’t match", kind{api.CategoryType, hintType}},
	{"No instance for", kind{api.CategoryType,
		"the type lacks an instance that is needed here: look for a number used as a function, or a missing deriving"}},
	{"Ambiguous type", kind{api.CategoryType, "declare its type, such as (x :: Int)"}},
	{"lacks an accompanying binding", kind{api.CategoryCompile, "a name has a type signature but is never defined"}},
	{"Multiple declarations", kind{api.CategoryCompile, "the name is defined twice"}},
}
