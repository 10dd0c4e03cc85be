package jobe

import (
	"regexp"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// A language is one that clients of Jobe name.
type language struct {
	id    string
	brig  []string // languages of brig, the best first: the first that is stored here is taken
	file  string   // name of the source if the request has none
	flags []string // of the compiler, if the request has no compileargs; none: those of brig's language

	memoryMB  float64 // memorylimit of a request that sets none; zero: it is ignored, and so is that of a request
	processes float64 // the least for numprocs, and its default if that is less
	ownStack  bool    // the virtual machine has stacks of its own

	interpreted bool // interpreterargs are for an interpreter or a virtual machine, and not for the program
	linked      bool // the compiler takes linkargs

	// checked: the original reads the whole source before it executes anything, by a program of its own. brig does that
	// for a run that has tests.
	checked bool

	// compilerSays is what the original takes for the words of a compiler that succeeded or failed.
	compilerSays func(stdout, stderr api.Bytes, failed bool) string
}

// languages are those of the original that brig has, in its order.
var languages = []language{
	{id: "c", brig: []string{"c"}, file: "prog.c", flags: []string{"-Wall", "-Werror", "-std=c99"},
		memoryMB: 400, linked: true, compilerSays: errorsOnly},
	{id: "cpp", brig: []string{"cpp"}, file: "prog.cpp", flags: []string{"-Wall", "-Werror"},
		memoryMB: 400, linked: true, compilerSays: errorsOnly},
	{id: "java", brig: []string{"java-full", "java"},
		processes: 256, ownStack: true, interpreted: true, compilerSays: errorsOnly},
	{id: "nodejs", brig: []string{"javascript-full", "javascript"}, file: "prog.js",
		memoryMB: 400, interpreted: true, compilerSays: errorsOnly},
	{id: "pascal", brig: []string{"pascal"}, file: "prog.pas",
		memoryMB: 400, compilerSays: ofPascal},
	{id: "php", brig: []string{"php-full", "php"}, file: "prog.php",
		memoryMB: 400, checked: true, interpreted: true, compilerSays: outputAndErrors},
	{id: "python3", brig: []string{"python-full", "python"}, file: "prog.py",
		memoryMB: 1000, checked: true, interpreted: true, compilerSays: outputAndErrors},
}

// name is the name of the source of a request that has none.
func (l language) name(source string) string {
	if l.id != "java" {
		return l.file
	}
	if all := mainClass().FindAllStringSubmatch(source, 2); len(all) == 1 {
		return all[0][2] + ".java"
	}
	return "prog.java"
}

// mainClass finds a public class with a main, as the original does.
var mainClass = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?ms)(^|\W)public\s+class\s+(\w+)[^{]*\{.*?(public\s+static|static\s+public)\s+void\s+main\s*\(\s*String`)
})

func errorsOnly(_, stderr api.Bytes, _ bool) string { return string(stderr) }

// outputAndErrors are both where there are errors.
func outputAndErrors(stdout, stderr api.Bytes, _ bool) string {
	if len(stdout) == 0 || len(stderr) == 0 {
		return string(stderr)
	}
	return string(stdout) + "\n" + string(stderr)
}

// ofPascal is what the compiler of Pascal writes, if it made no program: it writes its errors to stdout.
func ofPascal(stdout, stderr api.Bytes, failed bool) string {
	if !failed {
		return ""
	}
	return string(stdout) + string(stderr)
}

// stderrOf is what the original makes of stderr.
func (l language) stderrOf(text string) string {
	if l.id == "java" {
		return strings.ReplaceAll(text, "\n\t", "\n        ")
	}
	return text
}
