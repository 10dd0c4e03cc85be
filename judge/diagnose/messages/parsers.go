package messages

import (
	"cmp"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// A parser parses the output of a language's tools. Both functions get the whole text and take
// linear time.
type parser struct {
	program  func(*Text) (api.Diagnosis, bool) // output of a failed program; false: nothing known in it
	compiler func(*Text) []api.Diagnosis       // of a compiler or syntax checker; at most maxErrors
}

var parsers = map[string]parser{
	"python":     {python, asCompiler(python)},
	"c":          {native, gcc},
	"cpp":        {native, gcc},
	"java":       {java, javac},
	"javascript": {javascript, asCompiler(javascript)},
	"typescript": {typescript, tsc},
	"go":         {golang, goBuild},
	"rust":       {rust, rustc},
	"ruby":       {ruby, asCompiler(ruby)},
	"php":        {php, asCompiler(php)},
	"bash":       {bash, asCompiler(bash)},
	"csharp":     {dotnet, dotnetErrors},
	"fsharp":     {dotnet, dotnetErrors},
	"vb":         {dotnet, dotnetErrors},
	"mono":       {mono, dotnetErrors},
	"powershell": {powershell, asCompiler(powershell)},
	"perl":       {perl, asCompiler(perl)},
	"lua":        {lua, asCompiler(lua)},
	"pascal":     {pascal, fpc},
	"haskell":    {haskell, ghc},
	"pypy":       {python, asCompiler(python)},
	"ocaml":      {ocaml, ocamlopt},
	"kotlin":     {java, placedErrors(kotlinPatterns)},
	"scala":      {java, placedErrors(scalaPatterns)},
	"swift":      {swift, placedErrors(swiftPatterns)},
	"d":          {dlang, placedErrors(dPatterns)},
	"r":          {rlang, asCompiler(rlang)},
	"fortran":    {fortran, gfortran},
	"sql":        {sql, asCompiler(sql)},
}

// Program explains what a failed program of a language has written; false: nothing known is in it.
func Program(language string, output *Text) (api.Diagnosis, bool) {
	if p := parserFor(language); p.program != nil {
		return p.program(output)
	}
	return api.Diagnosis{}, false
}

// Errors returns what a compiler or syntax checker of a language reports, in the order of its output: at most
// 100 errors. Nil: nothing known is in it.
func Errors(language string, output *Text) []api.Diagnosis {
	if p := parserFor(language); p.compiler != nil {
		return p.compiler(output)
	}
	return nil
}

// parserFor returns the parser of a language. A -full variant has that of the plain language.
func parserFor(language string) parser { return parsers[strings.TrimSuffix(language, "-full")] }

// asCompiler adapts ran for languages in which the same program checks and runs a source.
func asCompiler(ran func(*Text) (api.Diagnosis, bool)) func(*Text) []api.Diagnosis {
	return func(t *Text) []api.Diagnosis {
		if d, ok := ran(t); ok {
			return []api.Diagnosis{d}
		}
		return nil
	}
}

// A kind is the category and hint of a type of error.
type kind struct {
	category api.Category
	hint     string
}

// A pattern is the kind of messages that contain a text. %s in its hint stands for the first quoted
// word of the message.
type pattern struct {
	contains string
	kind
}

// match returns the kind of the first pattern that msg contains, else other.
func match(patterns []pattern, msg string, other kind) kind {
	for _, c := range patterns {
		if strings.Contains(msg, c.contains) {
			return kind{c.category, fill(c.hint, msg)}
		}
	}
	return kind{other.category, fill(other.hint, msg)}
}

// fill replaces %s in a hint by the first quoted word of msg, or by "it" if there is none.
func fill(hint, msg string) string {
	if !strings.Contains(hint, "%s") {
		return hint
	}
	return strings.ReplaceAll(hint, "%s", cmp.Or(quoted(msg), "it"))
}

// Hints that several languages share. Those that are exported also belong to verdicts.
const (
	hintRecursion = "recursion is endless or too deep: look at the case that should end it"
	HintMemory    = "look for data that grows without end, endless recursion, or data that need not all be kept at once"
	hintZero      = "look for a division whose divisor can be 0"
	hintIndex     = "an index is out of range: counting starts at 0, so the last index is the length minus 1"
	hintFile      = "this file is not in the sandbox, which contains only the program and the files given with it " +
		"(--file, or files in a request), and no files of the host"
	hintAddFile  = "add it to the program's files with --file (files in a request)"
	hintThreads  = "the system refused one more process or thread"
	hintReadOnly = "only /box and /tmp can be written to"
	HintNetwork  = "programs have no network here: give the program its data as a file"
	hintInput    = "the program reads more input than it was given"
	hintSyntax   = "look at this line and the end of the previous one: a bracket, quote or separator is missing or extra"
	hintType     = "a value has the wrong type here: convert it, or use another"
	hintModule   = "%s is neither in this image nor among the program's files: check its name; add your own files " +
		"with --file (files in a request)"
)

// syscallPatterns are the C library's messages for failed system calls, which programs of any language
// print.
var syscallPatterns = []pattern{
	{"No such file or directory", kind{api.CategoryRuntime, hintFile}},
	{"Read-only file system", kind{api.CategoryRuntime, hintReadOnly}},
	{"Permission denied", kind{api.CategoryRuntime, hintReadOnly}},
	{"Address family not supported", kind{api.CategoryRuntime, HintNetwork}},
	{"Network is unreachable", kind{api.CategoryRuntime, HintNetwork}},
	{"Temporary failure in name resolution", kind{api.CategoryRuntime, HintNetwork}},
	{"Name or service not known", kind{api.CategoryRuntime, HintNetwork}},
	{"Connection refused", kind{api.CategoryRuntime, HintNetwork}},
	{"Resource temporarily unavailable", kind{api.CategoryRuntime, hintThreads}},
	{"Cannot allocate memory", kind{api.CategoryMemory, HintMemory}},
	{"Operation not permitted", kind{api.CategoryDenied, "the sandbox does not allow this to any program"}},
	{"Function not implemented", kind{api.CategoryDenied, "the sandbox does not offer this system call"}},
	{"File too large", kind{api.CategoryRuntime, "write less, or delete unneeded files"}},
}
