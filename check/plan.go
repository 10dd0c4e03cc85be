package check

import (
	_ "embed"
	"regexp"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

var (
	//go:embed checker.py
	checkerPython string
	//go:embed checker.js
	checkerNode string
)

// A checker reads sources of one language in the language's own image. It never
// carries them out, but for Perl's, whose BEGIN blocks belong to the parsing; it is in
// the sandbox with all that.
type checker struct {
	argv    []string // of the command; {name} is the source's
	program string   // on its stdin; "": none. It prints JSON lines, others their own errors
	profile string   // seccomp profile
	end     string   // what it prints last where it found nothing; empty: nothing that is known
}

// Nothing of these commands is written but in /box and /tmp.
var checkers = map[string]checker{
	"python":     {[]string{"python3", "-I", "-", "{name}"}, checkerPython, "default", ""},
	"javascript": {[]string{"node", "-", "{name}"}, checkerNode, "managed", ""},
	"typescript": {[]string{"node", "-", "{name}"}, checkerNode, "managed", ""},

	"c":       {[]string{"gcc", "-fsyntax-only", "-std=gnu17", "{name}"}, "", "compile", ""},
	"cpp":     {[]string{"g++", "-fsyntax-only", "-std=c++17", "{name}"}, "", "compile", ""},
	"java":    {[]string{"javac", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-XX:-UsePerfData", "-proc:none", "-d", "/tmp", "{name}"}, "", "managed", ""},
	"go":      {[]string{"gofmt", "-l", "-e", "{name}"}, "", "compile", ""},
	"rust":    {[]string{"rustc", "--edition=2021", "--emit=metadata", "-o", "/tmp/checked", "{name}"}, "", "compile", ""},
	"ruby":    {[]string{"ruby", "-c", "{name}"}, "", "default", ""},
	"php":     {[]string{"php", "-l", "{name}"}, "", "default", ""},
	"bash":    {[]string{"bash", "-n", "{name}"}, "", "default", ""},
	"perl":    {[]string{"perl", "-c", "{name}"}, "", "default", "./{name} syntax OK"},
	"lua":     {[]string{"luac", "-p", "{name}"}, "", "default", ""},
	"csharp":  {[]string{"mcs", "-target:library", "-out:/tmp/checked.dll", "{name}"}, "", "managed", ""},
	"pascal":  {[]string{"fpc", "-l-", "-v0", "-vew", "-s", "-FE/tmp", "{name}"}, "", "compile", ""},
	"haskell": {[]string{"ghc", "-v0", "-fno-code", "{name}"}, "", "compile", ""},
}

// Plan makes the run that checks a source; false where nothing is known of its
// language. name is the source's, and may say which of a language's kinds it is
// (main.mjs); an empty one will do.
func Plan(language, name string, source []byte) (api.Run, bool) {
	c, ok := checkers[plainLanguage(language)]
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
			Wall: api.Duration(20 * time.Second), CPU: api.Duration(20 * time.Second), Memory: api.GiB, Output: api.MiB, Scratch: 128 * api.MiB,
		},
		Collect: api.Collect{None: true},
	}
	for _, word := range c.argv {
		r.Argv = append(r.Argv, strings.ReplaceAll(word, "{name}", "./"+name))
	}
	return r, true
}

// names are what sources are called that came without a name.
var names = map[string]string{
	"python": "main.py", "javascript": "main.js", "typescript": "main.ts", "c": "main.c", "cpp": "main.cpp", "java": "Main.java", "go": "main.go",
	"rust": "main.rs", "ruby": "main.rb", "php": "main.php", "bash": "main.sh", "perl": "main.pl", "lua": "main.lua", "csharp": "main.cs",
	"pascal": "main.pas", "haskell": "main.hs",
}

func fileName(language, name string) string {
	if api.FileName(name) == nil {
		return name
	}
	return names[plainLanguage(language)]
}

// placedName is what a source is called where it is checked. A public class of Java
// lies in a file of its name: brig run takes one that does not, and so does the check.
func placedName(language, name string, source []byte) string {
	if plainLanguage(language) == "java" {
		if m := publicClass.FindSubmatch(source); m != nil {
			return string(m[1]) + ".java"
		}
	}
	return fileName(language, name)
}

var publicClass = regexp.MustCompile(`(?m)^\s*public\s+(?:(?:abstract|final|sealed|strictfp)\s+)*(?:class|record|enum|interface)\s+([A-Za-z_][A-Za-z0-9_]{0,200})`)

// plainLanguage is a full variant's plain one.
func plainLanguage(language string) string { return strings.TrimSuffix(language, "-full") }
