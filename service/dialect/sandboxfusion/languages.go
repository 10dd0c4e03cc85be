package sandboxfusion

import (
	"strings"

	"github.com/brig-sandbox/brig/service/dialect"
)

// A language is one that callers of SandboxFusion name.
type language struct {
	id       string
	brig     []string // languages of brig, the best first: the first that is stored here is taken; none: brig has none
	file     string   // name of the source
	flags    []string // of the compiler; none: those of brig's language
	compiled bool     // the original has a compile stage; where it has none, the compiler's words are the program's

	source func(code string) string // what the original makes of the code; nil: nothing
}

// languages are those of the original, in its order. Those that brig lacks are refused as unknown ones are.
var languages = []language{
	{id: "python", brig: []string{"python-full", "python"}, file: "main.py"},
	{id: "cpp", brig: []string{"cpp"}, file: "main.cpp", compiled: true},
	{id: "nodejs", brig: []string{"javascript-full", "javascript"}, file: "main.js"},
	{id: "go", brig: []string{"go"}, file: "main.go", compiled: true},
	{id: "go_test"},
	{id: "java", brig: []string{"java-full", "java"}, file: "Main.java", compiled: true},
	{id: "php", brig: []string{"php-full", "php"}, file: "main.php", source: withTag},
	// The original has `dotnet run` build it, for debugging: Debug.Assert is there.
	{id: "csharp", brig: []string{"csharp"}, file: "Program.cs", flags: []string{"-define:DEBUG"}},
	{id: "bash", brig: []string{"bash"}, file: "main.sh"},
	{id: "typescript", brig: []string{"typescript"}, file: "main.ts", flags: []string{"--noCheck"}},
	{id: "sql"},
	{id: "rust", brig: []string{"rust"}, file: "main.rs", compiled: true,
		flags: []string{"-Copt-level=2", "-Cdebug-assertions", "--edition=2021"}},
	{id: "cuda"},
	{id: "lua", brig: []string{"lua"}, file: "main.lua"},
	{id: "R", brig: []string{"r"}, file: "main.R"},
	{id: "perl", brig: []string{"perl"}, file: "main.pl"},
	{id: "D_ut", brig: []string{"d"}, file: "main.d", flags: []string{"-funittest"}, compiled: true},
	{id: "ruby", brig: []string{"ruby-full", "ruby"}, file: "main.rb"},
	{id: "scala", brig: []string{"scala"}, file: "main.scala", compiled: true},
	{id: "julia"},
	{id: "pytest", brig: []string{"python-full"}, file: pytestFile},
	{id: "junit"},
	{id: "kotlin_script"},
	{id: "jest"},
	{id: "verilog"},
	{id: "python_gpu"},
	{id: "lean"},
	{id: "swift", brig: []string{"swift"}, file: "main.swift", compiled: true},
	{id: "racket"},
}

// The tests of pytest are a file, and the program is one that has pytest run it.
const (
	pytestFile   = "main.py"
	pytestDriver = ".brig-pytest.py"
	pytestSource = "import pytest, sys\nsys.argv[0] = 'pytest'\nsys.exit(pytest.main(['" + pytestFile + "']))\n"
)

func withTag(code string) string {
	code = strings.TrimLeft(code, " \t\r\n\v\f")
	if strings.HasPrefix(code, "<?php") {
		return code
	}
	return "<?php\n" + code
}

// offered returns the languages that can run on an agent.
func offered(a dialect.Agent) (ids []string) {
	for _, l := range languages {
		if _, stored := a.Find(l.brig...); stored {
			ids = append(ids, l.id)
		}
	}
	return ids
}
