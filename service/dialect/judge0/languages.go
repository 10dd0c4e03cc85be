package judge0

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// A language is one that clients of Judge0 name by its id.
type language struct {
	id    int
	title string
	of    string   // the implementation, in front of the version, if brig's version does not name it
	brig  []string // languages of brig, the best first: the first that is stored here is taken
	file  string   // name of the source

	options  bool // its compiler takes options
	linked   bool // and libraries, after the source
	ownStack bool // the virtual machine has stacks of its own
	verbatim bool // the source is data, and bash executes command with it
	command  string
}

// languages are those of the original that brig has. Old versions of C and C++ have ids of their own, because clients
// have them in tables; all are the one compiler that there is.
var languages = []language{
	{id: 43, title: "Plain Text", brig: []string{"bash"}, file: "text.txt", verbatim: true, command: `exec cat text.txt "$@"`},
	{id: 44, title: "Executable", brig: []string{"bash"}, file: "a.out", verbatim: true, command: `exec ./a.out "$@"`},
	{id: 46, title: "Bash", brig: []string{"bash"}, file: "script.sh"},
	{id: 48, title: "C", of: "GCC", brig: []string{"c"}, file: "main.c", options: true, linked: true},
	{id: 49, title: "C", of: "GCC", brig: []string{"c"}, file: "main.c", options: true, linked: true},
	{id: 50, title: "C", of: "GCC", brig: []string{"c"}, file: "main.c", options: true, linked: true},
	{id: 51, title: "C#", brig: []string{"mono", "csharp"}, file: "main.cs", options: true, ownStack: true},
	{id: 52, title: "C++", of: "GCC", brig: []string{"cpp"}, file: "main.cpp", options: true, linked: true},
	{id: 53, title: "C++", of: "GCC", brig: []string{"cpp"}, file: "main.cpp", options: true, linked: true},
	{id: 54, title: "C++", of: "GCC", brig: []string{"cpp"}, file: "main.cpp", options: true, linked: true},
	{id: 56, title: "D", brig: []string{"d"}, file: "main.d", options: true, linked: true},
	{id: 59, title: "Fortran", of: "GFortran", brig: []string{"fortran"}, file: "main.f90", options: true},
	{id: 60, title: "Go", brig: []string{"go"}, file: "main.go", options: true},
	{id: 61, title: "Haskell", of: "GHC", brig: []string{"haskell"}, file: "main.hs", options: true, linked: true},
	{id: 62, title: "Java", of: "OpenJDK", brig: []string{"java", "java-full"}, file: "Main.java", options: true, ownStack: true},
	{id: 63, title: "JavaScript", of: "Node.js", brig: []string{"javascript", "javascript-full"}, file: "script.js"},
	{id: 64, title: "Lua", brig: []string{"lua"}, file: "script.lua"},
	{id: 65, title: "OCaml", brig: []string{"ocaml"}, file: "main.ml", options: true},
	{id: 67, title: "Pascal", of: "FPC", brig: []string{"pascal"}, file: "main.pas", options: true},
	{id: 68, title: "PHP", brig: []string{"php", "php-full"}, file: "script.php"},
	{id: 71, title: "Python", brig: []string{"python", "python-full"}, file: "script.py"},
	{id: 72, title: "Ruby", brig: []string{"ruby", "ruby-full"}, file: "script.rb"},
	{id: 73, title: "Rust", brig: []string{"rust"}, file: "main.rs", options: true, linked: true},
	{id: 74, title: "TypeScript", brig: []string{"typescript"}, file: "script.ts", options: true},
	{id: 78, title: "Kotlin", brig: []string{"kotlin"}, file: "Main.kt", options: true, ownStack: true},
	{id: 80, title: "R", brig: []string{"r"}, file: "script.r"},
	{id: 81, title: "Scala", brig: []string{"scala"}, file: "Main.scala", options: true, ownStack: true},
	{id: 82, title: "SQL", brig: []string{"sql"}, file: "script.sql"},
	{id: 83, title: "Swift", brig: []string{"swift"}, file: "Main.swift", options: true},
	{id: 84, title: "Visual Basic.Net", brig: []string{"vb"}, file: "main.vb", options: true, ownStack: true},
	{id: 85, title: "Perl", brig: []string{"perl"}, file: "script.pl"},
	{id: 87, title: "F#", brig: []string{"fsharp"}, file: "main.fs", options: true, ownStack: true},
}

// find returns a language that can run here.
func find(id int64, on dialect.Agent) (of language, l api.Language, found bool) {
	i := slices.IndexFunc(languages, func(of language) bool { return int64(of.id) == id })
	if i < 0 {
		return of, l, false
	}
	l, found = on.Find(languages[i].brig...)
	return languages[i], l, found
}

// name is what the language is called: with the version that brig has, and not the one that the original has.
func (of language) name(l api.Language) string {
	v := strings.TrimSpace(of.of + " " + l.Version)
	if of.verbatim || v == "" {
		return of.title
	}
	return of.title + " (" + v + ")"
}

// A listed language is one of an answer. Its JSON has its fields in this order.
type listed struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Archived *bool  `json:"is_archived,omitempty"`
}

// list returns the languages that can run here, by name.
func list(on dialect.Agent) (all []listed) {
	all = []listed{}
	for _, of := range languages {
		if l, found := on.Find(of.brig...); found {
			all = append(all, listed{ID: of.id, Name: of.name(l)})
		}
	}
	slices.SortStableFunc(all, func(a, b listed) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func planLanguages(_ dialect.Request, on dialect.Agent) dialect.Plan {
	return dialect.Refuse(respond(200, list(on)))
}

func planAllLanguages(_ dialect.Request, on dialect.Agent) dialect.Plan {
	all := list(on)
	for i := range all {
		all[i].Archived = new(bool)
	}
	return dialect.Refuse(respond(200, all))
}

// planLanguage is GET /languages/{id}. brig has no commands of a shell: it names its language and the file.
func planLanguage(ask dialect.Request, on dialect.Agent) dialect.Plan {
	id, err := strconv.ParseInt(ask.Path["id"], 10, 32)
	of, l, found := find(id, on)
	if err != nil || !found {
		return dialect.Refuse(missing())
	}

	var compile *string
	if of.options {
		text := fmt.Sprintf("%s %%s %s", l.Name, of.file)
		compile = &text
	}
	return dialect.Refuse(respond(200, struct {
		listed
		File    string  `json:"source_file"`
		Compile *string `json:"compile_cmd"`
		Run     string  `json:"run_cmd"`
	}{listed{of.id, of.name(l), new(bool)}, of.file, compile, l.Name + " " + of.file}))
}
