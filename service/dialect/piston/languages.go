package piston

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// A language is one that callers of Piston name.
type language struct {
	id      string
	pkg     string // the package of the original that has it, if that has another name
	aliases []string
	brig    []string // languages of brig, the best first: the first that is stored here is taken
	file    string   // name of a source that has none
	ext     string   // the original adds it to the names of all sources; empty: to none

	compiled bool // the original has a compile stage; where it has none, the compiler's words are the program's
}

// languages are those of the original that brig has. Names and aliases are the original's: clients have them in tables.
var languages = []language{
	{id: "bash", aliases: []string{"sh"}, brig: []string{"bash"}, file: "main.sh"},
	{id: "c", pkg: "gcc", aliases: []string{"gcc"}, brig: []string{"c"}, file: "main.c", ext: ".c", compiled: true},
	{id: "c++", pkg: "gcc", aliases: []string{"cpp", "g++"}, brig: []string{"cpp"}, file: "main.cpp", ext: ".cpp", compiled: true},
	{id: "d", pkg: "gcc", aliases: []string{"gdc"}, brig: []string{"d"}, file: "main.d", ext: ".d", compiled: true},
	{id: "fortran", pkg: "gcc", aliases: []string{"f90"}, brig: []string{"fortran"}, file: "main.f90", ext: ".f90", compiled: true},
	{id: "basic.net", pkg: "dotnet", aliases: []string{"basic", "visual-basic", "visual-basic.net", "vb", "vb.net", "vb-dotnet",
		"dotnet-vb", "basic-dotnet", "dotnet-basic"}, brig: []string{"vb"}, file: "main.vb", ext: ".vb", compiled: true},
	{id: "fsharp.net", pkg: "dotnet", aliases: []string{"fsharp", "fs", "f#", "fs.net", "f#.net", "fsharp-dotnet", "fs-dotnet",
		"f#-dotnet", "dotnet-fsharp", "dotnet-fs"}, brig: []string{"fsharp"}, file: "main.fs", ext: ".fs", compiled: true},
	{id: "csharp.net", pkg: "dotnet", aliases: []string{"csharp", "c#", "cs", "c#.net", "cs.net", "c#-dotnet", "cs-dotnet",
		"csharp-dotnet", "dotnet-c#", "dotnet-cs", "dotnet-csharp"}, brig: []string{"csharp"}, file: "main.cs", ext: ".cs", compiled: true},
	{id: "go", aliases: []string{"golang"}, brig: []string{"go"}, file: "main.go", ext: ".go"},
	{id: "haskell", aliases: []string{"hs"}, brig: []string{"haskell"}, file: "main.hs", ext: ".hs", compiled: true},
	{id: "java", brig: []string{"java", "java-full"}, file: "Main.java", ext: ".java"},
	{id: "javascript", pkg: "node", aliases: []string{"node-javascript", "node-js", "js"},
		brig: []string{"javascript", "javascript-full"}, file: "main.js"},
	{id: "kotlin", aliases: []string{"kt"}, brig: []string{"kotlin"}, file: "main.kt", ext: ".kt", compiled: true},
	{id: "lua", brig: []string{"lua"}, file: "main.lua"},
	{id: "csharp", pkg: "mono", aliases: []string{"mono", "mono-csharp", "mono-c#", "mono-cs", "c#", "cs"}, brig: []string{"mono"},
		file: "main.cs", ext: ".cs", compiled: true},
	{id: "ocaml", aliases: []string{"ml"}, brig: []string{"ocaml"}, file: "main.ml", ext: ".ml", compiled: true},
	{id: "pascal", aliases: []string{"freepascal", "pp", "pas"}, brig: []string{"pascal"}, file: "main.pas", compiled: true},
	{id: "perl", aliases: []string{"pl"}, brig: []string{"perl"}, file: "main.pl"},
	{id: "php", brig: []string{"php", "php-full"}, file: "main.php"},
	{id: "powershell", pkg: "pwsh", aliases: []string{"ps", "pwsh", "ps1"}, brig: []string{"powershell"}, file: "main.ps1"},
	{id: "python", aliases: []string{"py", "py3", "python3"}, brig: []string{"python-full", "python"}, file: "main.py"},
	{id: "rscript", aliases: []string{"r"}, brig: []string{"r"}, file: "main.R"},
	{id: "ruby", aliases: []string{"ruby3", "rb"}, brig: []string{"ruby", "ruby-full"}, file: "main.rb"},
	{id: "rust", aliases: []string{"rs"}, brig: []string{"rust"}, file: "main.rs", compiled: true},
	{id: "scala", aliases: []string{"sc"}, brig: []string{"scala"}, file: "main.scala", compiled: true},
	{id: "sqlite3", aliases: []string{"sqlite", "sql"}, brig: []string{"sql"}, file: "main.sql"},
	{id: "swift", brig: []string{"swift"}, file: "main.swift"},
	{id: "typescript", aliases: []string{"ts", "node-ts", "tsc", "typescript5", "ts5"}, brig: []string{"typescript"},
		file: "main.ts", ext: ".ts", compiled: true},
}

// ofBrig has the languages of brig that are in the table.
var ofBrig = func() map[string]bool {
	names := map[string]bool{}
	for _, of := range languages {
		for _, name := range of.brig {
			names[name] = true
		}
	}
	return names
}()

// A runtime is a language as an agent has it.
type runtime struct {
	language
	on        api.Language
	installed bool // it can run here
}

// runtimesOf returns the runtimes of an agent, those that can run and those whose image the operator can store. A
// language that the original does not have, such as one of the operator's own, has the names that brig has for it.
func runtimesOf(a dialect.Agent) []runtime {
	return choose(a, func(language) bool { return true })
}

// runtimesNamed returns those that may have a name, and perhaps others.
func runtimesNamed(a dialect.Agent, name string) []runtime {
	return choose(a, func(of language) bool {
		return of.id == name || slices.Contains(of.aliases, name) || of.id == "python" && strings.HasPrefix(name, of.id)
	})
}

func choose(a dialect.Agent, wanted func(language) bool) (all []runtime) {
	for _, of := range languages {
		if !wanted(of) {
			continue
		}
		if on, is := a.Find(of.brig...); is {
			all = append(all, runtimeOf(of, on, true))
			continue
		}

		i := slices.IndexFunc(a.Languages, func(l api.Language) bool { return slices.Contains(of.brig, l.Name) })
		if i >= 0 {
			all = append(all, runtimeOf(of, a.Languages[i], false))
		}
	}

	for _, l := range a.Languages {
		own := language{id: l.Name, aliases: l.Aliases, brig: []string{l.Name}, compiled: l.CompileTier != ""}
		if !ofBrig[l.Name] && wanted(own) {
			_, is := a.Find(l.Name)
			all = append(all, runtimeOf(own, l, is))
		}
	}
	return all
}

func runtimeOf(of language, on api.Language, installed bool) runtime {
	rt := runtime{language: of, on: on, installed: installed}
	if of.id == "python" { // python3.13, as the original has python3.12
		v := rt.version()
		rt.aliases = append(slices.Clone(of.aliases), fmt.Sprintf("python%d.%d", v.Major(), v.Minor()))
	}
	return rt
}

func (rt runtime) version() version { return versionOf(rt.on.Version) }

// find returns the newest runtime that can run, has a name or alias, and a version of a range.
func find(all []runtime, name, wanted string) (best runtime, found bool) {
	for _, rt := range all {
		named := rt.id == name || slices.Contains(rt.aliases, name)
		if !named || !rt.installed || !rt.version().isIn(wanted) {
			continue
		}
		if !found || best.version().LessThan(rt.version().Version) {
			best, found = rt, true
		}
	}
	return best, found
}

// A listed runtime is one of GET /runtimes.
type listed struct {
	Language string   `json:"language"`
	Version  string   `json:"version"`
	Aliases  []string `json:"aliases"`
	Runtime  string   `json:"runtime,omitempty"` // the package, if that has another name
}

func planRuntimes(_ dialect.Request, on dialect.Agent) dialect.Plan {
	list := []listed{}
	for _, rt := range runtimesOf(on) {
		if rt.installed {
			list = append(list, listed{rt.id, rt.version().String(), append([]string{}, rt.aliases...), rt.pkg})
		}
	}
	return dialect.Refuse(respond(200, list))
}
