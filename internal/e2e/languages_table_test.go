package e2e

// A languageTest is what the tests know about a language beyond its manifest.
type languageTest struct {
	// version is a command that prints the version. It runs where programs of the language are
	// compiled, or, if they are not compiled, where they run.
	version []string

	// without lists the cases for which the language has no program, and the lines that its own
	// library cannot print, each with the reason.
	without map[string]string

	// tools are the tools that testdata/languages/NAME/tools.EXT exercises.
	tools []string

	// lineOnly: its errors name the line and not the file.
	lineOnly bool

	onlyAll bool // only make test-languages runs it
}

const (
	noJSON = "its library reads no JSON"
	noBig  = "its library has no big numbers"
)

// languageTests has every built-in language.
var languageTests = map[string]languageTest{
	"c": {
		version: []string{"gcc", "--version"},
		without: map[string]string{"json": noJSON, "big": noBig},
	},
	"cpp": {
		version: []string{"g++", "--version"},
		without: map[string]string{"json": noJSON, "big": noBig},
	},
	"java": {
		version: []string{"java", "--version"},
		without: map[string]string{"json": noJSON},
	},
	"java-full": {
		version: []string{"java", "--version"}, tools: []string{"junit", "junit alone"}, onlyAll: true,
		without: map[string]string{"json": noJSON},
	},
	"go": {version: []string{"go", "version"}},
	"rust": {
		version: []string{"rustc", "--version"},
		without: map[string]string{
			"json": noJSON, "big": noBig,
			"regex": "in a crate, not in the standard library",
			"zone":  "in a crate, not in the standard library",
		},
	},
	"bash": {
		version: []string{"bash", "--version"},
		without: map[string]string{"thread": "a shell has none", "deep": "a shell's functions are not made for it"},
	},

	"python": {version: []string{"python3", "--version"}},
	"python-full": {version: []string{"python3", "--version"},
		tools: []string{"numpy", "scipy", "pandas", "pytest", "black", "flake8", "mypy"}, onlyAll: true},

	"javascript":      {version: []string{"node", "--version"}},
	"javascript-full": {version: []string{"node", "--version"}, tools: []string{"typescript", "jest", "eslint", "prettier"}, onlyAll: true},
	"typescript":      {version: []string{"tsc", "--version"}},

	"ruby":      {version: []string{"ruby", "--version"}},
	"ruby-full": {version: []string{"ruby", "--version"}, tools: []string{"rspec", "rubocop"}, onlyAll: true},

	"php":      {version: []string{"php", "--version"}, without: phpWithout},
	"php-full": {version: []string{"php", "--version"}, without: phpWithout, tools: []string{"phpunit", "composer"}, onlyAll: true},

	"mono": {version: []string{"mono", "--version"}, onlyAll: true},
	"haskell": {version: []string{"ghc", "--version"}, onlyAll: true, without: map[string]string{
		"json": noLibrary, "regex": noLibrary, "zone": noLibrary,
	}},
	"lua": {version: []string{"lua", "-v"}, onlyAll: true, without: map[string]string{
		"sleep": "its library cannot sleep", "thread": "it has no threads",
		"json": noLibrary, "big": noLibrary, "zone": noLibrary,
	}},
	"pascal": {version: []string{"fpc", "-iV"}, onlyAll: true, without: map[string]string{
		"big": noLibrary, "zone": noLibrary,
	}},
	"perl": {version: []string{"perl", "-e", "printf '%vd', $^V"}, onlyAll: true},

	"csharp":     {version: []string{"dotnet", "--list-runtimes"}},
	"fsharp":     {version: []string{"dotnet", "--list-runtimes"}},
	"vb":         {version: []string{"dotnet", "--list-runtimes"}},
	"powershell": {version: []string{"pwsh", "--version"}, without: map[string]string{"deep": "the depth of its calls has a fixed limit"}},

	"d": {version: []string{"gdc", "--version"}, onlyAll: true},
	"kotlin": {
		version: []string{"kotlinc", "-version"},
		without: map[string]string{"json": noJSON}, onlyAll: true,
	},
	"ocaml": {version: []string{"ocamlopt", "-version"}, onlyAll: true, without: map[string]string{
		"json": noLibrary, "big": noLibrary, "zone": noLibrary,
	}},
	"pypy": {version: []string{"pypy3", "--version"}, onlyAll: true},
	"r": {version: []string{"Rscript", "--version"}, onlyAll: true, without: map[string]string{
		"thread": "it has no threads", "deep": "the depth of its calls has a fixed limit",
		"json": noLibrary, "big": noLibrary,
	}},
	"scala": {version: []string{"scalac", "-version"}, onlyAll: true},
	"sql": {version: []string{"sqlite3", "--version"}, lineOnly: true, onlyAll: true, without: map[string]string{
		"thread": "it has no threads", "zone": noLibrary,
	}},
	"swift": {version: []string{"swiftc", "--version"}, onlyAll: true, without: map[string]string{
		"big": noBig,
	}},
}

const noLibrary = "its own library has nothing for that"

var phpWithout = map[string]string{"thread": "it has no threads"}
