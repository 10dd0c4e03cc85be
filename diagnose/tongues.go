package diagnose

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// A tongue reads what the tools of a language print. Both functions are given
// everything there is and answer in linear time.
type tongue struct {
	ran      func(*text) (api.Diagnosis, bool) // of a program that failed; false: nothing known was printed
	compiled func(*text) []api.Diagnosis       // of a compiler, or what checks syntax; at most maxErrors
}

var tongues = map[string]tongue{
	"python":     {python, only(python)},
	"c":          {native, gcc},
	"cpp":        {native, gcc},
	"java":       {java, javac},
	"javascript": {javascript, only(javascript)},
	"typescript": {typescript, tsc},
	"go":         {golang, goBuild},
	"rust":       {rust, rustc},
	"ruby":       {ruby, only(ruby)},
	"php":        {php, only(php)},
	"bash":       {bash, only(bash)},
	"csharp":     {csharp, mcs},
	"perl":       {perl, only(perl)},
	"lua":        {lua, only(lua)},
	"pascal":     {pascal, fpc},
	"haskell":    {haskell, ghc},
}

// tongueOf finds a language's tongue; a full variant speaks like the plain one.
func tongueOf(language string) tongue { return tongues[strings.TrimSuffix(language, "-full")] }

// only is for languages where the same program reads and runs a source.
func only(ran func(*text) (api.Diagnosis, bool)) func(*text) []api.Diagnosis {
	return func(t *text) []api.Diagnosis {
		if d, ok := ran(t); ok {
			return []api.Diagnosis{d}
		}
		return nil
	}
}

// A kind is what is known of a type of error before its message is read.
type kind struct {
	category api.Category
	hint     string
}

// A clue is a kind that goes by what a message contains. %s in its hint is the
// first quoted word of the message.
type clue struct {
	contains string
	kind
}

// match gives the kind of the first clue that msg has, else of other.
func match(clues []clue, msg string, other kind) kind {
	for _, c := range clues {
		if strings.Contains(msg, c.contains) {
			return kind{c.category, fill(c.hint, msg)}
		}
	}
	return kind{other.category, fill(other.hint, msg)}
}

// fill puts the first quoted word of msg into a hint; a hint that needs one where
// there is none says "it".
func fill(hint, msg string) string {
	if !strings.Contains(hint, "%s") {
		return hint
	}
	return strings.ReplaceAll(hint, "%s", orWords(quoted(msg), "it"))
}

// What several languages' hints say.
const (
	hintRecursion = "a function calls itself without end, or too deep: look at the case that should end it"
	hintMemory    = "look for data that grow without end, for a function that calls itself without end, or for what need not all be kept at once"
	hintZero      = "look for a division whose divisor can be 0"
	hintIndex     = "an index is outside: counting starts at 0, so the last one is the length less 1"
	hintFile      = "there is no such file in the sandbox: it holds the program and the files given with it (--file, or files in a request), nothing of the host"
	hintBeside    = "place it beside the program by --file (files in a request)"
	hintThreads   = "the system refused one more process or thread"
	hintReadOnly  = "only /box and /tmp can be written to"
	hintNetwork   = "programs have no network here: put what it needs beside it as a file"
	hintInput     = "the program reads more input than it was given"
	hintSyntax    = "look at this line and the end of the one before: a bracket, quote or separator is missing or too many"
	hintType      = "a value has another type than is needed here: convert it, or use another"
	hintModule    = "%s is neither in this image nor beside the program: check its name; a file of yours is placed there by --file (files in a request)"
)

// system are what any language says of a failed system call, by the C library's
// words.
var system = []clue{
	{"No such file or directory", kind{api.CategoryRuntime, hintFile}},
	{"Read-only file system", kind{api.CategoryRuntime, hintReadOnly}},
	{"Permission denied", kind{api.CategoryRuntime, hintReadOnly}},
	{"Address family not supported", kind{api.CategoryRuntime, hintNetwork}},
	{"Network is unreachable", kind{api.CategoryRuntime, hintNetwork}},
	{"Temporary failure in name resolution", kind{api.CategoryRuntime, hintNetwork}},
	{"Name or service not known", kind{api.CategoryRuntime, hintNetwork}},
	{"Connection refused", kind{api.CategoryRuntime, hintNetwork}},
	{"Cannot allocate memory", kind{api.CategoryMemory, hintMemory}},
	{"Operation not permitted", kind{api.CategoryDenied, "the sandbox does not allow this to any program"}},
	{"Function not implemented", kind{api.CategoryDenied, "the sandbox does not offer this system call"}},
	{"File too large", kind{api.CategoryRuntime, "write less, or delete what is not needed any more"}},
}
