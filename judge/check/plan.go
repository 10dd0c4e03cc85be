package check

import (
	_ "embed"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

var (
	//go:embed checker.py
	checkerPython string
	//go:embed checker.js
	checkerNode string
)

// A checker parses sources of one language, in a sandbox with the image of that language. It does
// not execute them, with one exception: Perl executes BEGIN blocks while it parses.
type checker struct {
	argv    []string // the command; {name} stands for the source's name
	program string   // sent to the stdin of the command, which then prints JSON lines; "": none, the command prints errors in its own format
	profile string   // seccomp profile
	end     string   // what the command prints last if it found no error; "": not known
}

// checkedByCompiler are the languages whose checker is the compile command of brig's own manifest: it finds the
// compiler and the libraries of whatever version the image has.
var checkedByCompiler = map[string]bool{"csharp": true, "fsharp": true, "vb": true}

// builtin has brig's own manifests.
var builtin = sync.OnceValues(func() (*languages.Catalog, error) { return languages.Load("", nil) })

// memory is the memory limit of a check.
const memory = api.GiB

// compileCommand returns the compile command of a manifest for one source, and its variables.
func compileCommand(language, name string) (argv []string, env map[string]string, profile string, ok bool) {
	all, err := builtin()
	if err != nil {
		return nil, nil, "", false
	}
	l, err := all.ByName(language)
	if err != nil {
		return nil, nil, "", false
	}

	words := languages.Placeholders{Source: name, Sources: []string{name}, Flags: l.DefaultFlags, Memory: memory}
	return words.Expand(l.Compile, nil), words.ExpandEnv(l.CompileEnv), l.CompileTier, true
}

// checkers has the checker of each language. Their commands write only to /box and /tmp.
var checkers = map[string]checker{
	"python":     {[]string{"python3", "-I", "-", "{name}"}, checkerPython, "default", ""},
	"javascript": {[]string{"node", "-", "{name}"}, checkerNode, "managed", ""},
	"typescript": {[]string{"node", "-", "{name}"}, checkerNode, "managed", ""},

	"c":   {[]string{"gcc", "-fsyntax-only", "-std=gnu17", "{name}"}, "", "compile", ""},
	"cpp": {[]string{"g++", "-fsyntax-only", "-std=c++17", "{name}"}, "", "compile", ""},
	"java": {[]string{"javac", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-XX:-UsePerfData", "-proc:none",
		"-d", "/tmp", "{name}"}, "", "managed", ""},
	"go": {[]string{"gofmt", "-l", "-e", "{name}"}, "", "compile", ""},
	"rust": {[]string{"rustc", "--edition=2021", "--emit=metadata", "-o", "/tmp/checked",
		"{name}"}, "", "compile", ""},
	"ruby":    {[]string{"ruby", "-c", "{name}"}, "", "default", ""},
	"php":     {[]string{"php", "-l", "{name}"}, "", "default", ""},
	"bash":    {[]string{"bash", "-n", "{name}"}, "", "default", ""},
	"perl":    {[]string{"perl", "-c", "{name}"}, "", "default", "./{name} syntax OK"},
	"lua":     {[]string{"luac", "-p", "{name}"}, "", "default", ""},
	"mono":    {[]string{"mcs", "-target:library", "-out:/tmp/checked.dll", "{name}"}, "", "managed", ""},
	"pascal":  {[]string{"fpc", "-l-", "-v0", "-vew", "-s", "-FE/tmp", "{name}"}, "", "compile", ""},
	"haskell": {[]string{"ghc", "-v0", "-fno-code", "{name}"}, "", "compile", ""},
	"pypy":    {[]string{"pypy3", "-I", "-", "{name}"}, checkerPython, "default", ""},
	"ocaml": {[]string{"ocamlopt", "-stop-after", "typing", "-I", "+unix", "-I", "+str", "-I", "+threads", "-o",
		"/tmp/checked", "{name}"}, "", "compile", ""},
	"kotlin":     {[]string{"kotlinc", "-d", "/tmp", "{name}"}, "", "managed", ""},
	"scala":      {[]string{"scalac", "-Ystop-after:refchecks", "-d", "/tmp", "{name}"}, "", "managed", ""},
	"swift":      {[]string{"swiftc", "-typecheck", "{name}"}, "", "compile", ""},
	"d":          {[]string{"gdc", "-fsyntax-only", "{name}"}, "", "compile", ""},
	"fortran":    {[]string{"gfortran", "-fsyntax-only", "-J/tmp", "{name}"}, "", "compile", ""},
	"powershell": {[]string{"sh", "-c", powershellChecker, "{name}"}, "", "managed", ""},
	"r": {[]string{"Rscript", "--vanilla", "-e", "invisible(parse(commandArgs(TRUE)[1], encoding = 'UTF-8'))",
		"{name}"}, "", "default", ""},
}

// powershellChecker prints each error as PowerShell itself does when it reads a script.
const powershellChecker = `export SOURCE="$0"
exec pwsh -NoLogo -NoProfile -Command '
$errors = $null
[void][Management.Automation.Language.Parser]::ParseFile("/box/$env:SOURCE", [ref]$null, [ref]$errors)
foreach ($e in $errors) {
    "ParserError: /box/$($env:SOURCE -replace "^\./"):$($e.Extent.StartLineNumber)"
    "Line |"
    "     |  $($e.Extent.StartScriptPosition.Line)"
    "     |  ~"
    "     | $($e.Message)"
}
exit [int]($errors.Count -gt 0)'`

// Plan makes the run that checks a source. It returns false for an empty source and for a language
// without a checker. name is the source's file name, which may select a variant of the language
// (main.mjs); it may be empty.
func Plan(language, name string, source []byte) (api.Run, bool) {
	c, ok := checkers[plainLanguage(language)]
	ok = ok || checkedByCompiler[language]
	if !ok || len(source) == 0 {
		return api.Run{}, false
	}

	name = placedName(language, name, source)
	r := api.Run{
		Language: language,
		Files:    []api.File{{Name: name, Content: source}},
		Stdin:    api.Bytes(c.program),
		Profile:  c.profile,
		Limits: api.Limits{
			Wall: api.Duration(20 * time.Second), CPU: api.Duration(20 * time.Second), Memory: memory, Output: api.MiB,
			Scratch: 128 * api.MiB,
		},
		Collect: api.Collect{None: true},
	}

	for _, word := range c.argv {
		r.Argv = append(r.Argv, strings.ReplaceAll(word, "{name}", "./"+name))
	}

	if checkedByCompiler[language] {
		r.Argv, r.Env, r.Profile, ok = compileCommand(language, "./"+name)
	}
	return r, ok
}

// names has the file name for a source without a valid name, by language.
var names = map[string]string{
	"python": "main.py", "javascript": "main.js", "typescript": "main.ts", "c": "main.c", "cpp": "main.cpp",
	"java": "Main.java", "go": "main.go",
	"rust": "main.rs", "ruby": "main.rb", "php": "main.php", "bash": "main.sh", "perl": "main.pl", "lua": "main.lua",
	"csharp": "main.cs", "mono": "main.cs", "fsharp": "main.fs", "vb": "main.vb", "powershell": "main.ps1",
	"pascal": "main.pas", "haskell": "main.hs", "pypy": "main.py", "ocaml": "main.ml", "kotlin": "main.kt",
	"scala": "main.scala", "swift": "main.swift",
	"d": "main.d", "r": "main.R", "fortran": "main.f90",
}

func fileName(language, name string) string {
	if api.FileName(name) == nil {
		return name
	}
	return names[plainLanguage(language)]
}

// placedName is the name of the source in the sandbox. In Java the file of a public class must have
// the name of that class. The caller may give the source any name, as with brig run, so placedName
// takes the name of the class.
func placedName(language, name string, source []byte) string {
	if plainLanguage(language) == "java" {
		if m := publicClass().FindSubmatch(source); m != nil {
			return string(m[1]) + ".java"
		}
	}
	return fileName(language, name)
}

var publicClass = compiled(`(?m)^\s*public\s+(?:(?:abstract|final|sealed|strictfp)\s+)*(?:class|record|enum|interface)\s+([A-Za-z_][A-Za-z0-9_]{0,200})`)

// plainLanguage returns the language without the suffix -full, which a full variant has.
func plainLanguage(language string) string { return strings.TrimSuffix(language, "-full") }
