package harness

// A LanguageTest is what the tests know about a language beyond its manifest.
type LanguageTest struct {
	// version is a command that prints the version. It runs where programs of the language are
	// compiled, or, if they are not compiled, where they run.
	Version []string

	// without lists the cases for which the language has no program, and the lines that its own
	// library cannot print, each with the reason.
	Without map[string]string

	// tools are the tools that testdata/languages/NAME/tools.EXT exercises.
	Tools []string

	// LineOnly: its errors name the line and not the file.
	LineOnly bool

	OnlyAll bool // only make test-languages runs it
}

const (
	noJSON = "its library reads no JSON"
	noBig  = "its library has no big numbers"
)

// LanguageTests has every built-in language.
var LanguageTests = map[string]LanguageTest{
	"c": {
		Version: []string{"gcc", "--version"},
		Without: map[string]string{"json": noJSON, "big": noBig},
	},
	"cpp": {
		Version: []string{"g++", "--version"},
		Without: map[string]string{"json": noJSON, "big": noBig},
	},
	"java": {
		Version: []string{"java", "--version"},
		Without: map[string]string{"json": noJSON},
	},
	"java-full": {
		Version: []string{"java", "--version"}, Tools: []string{"junit", "junit alone"}, OnlyAll: true,
		Without: map[string]string{"json": noJSON},
	},
	"go": {Version: []string{"go", "version"}},
	"rust": {
		Version: []string{"rustc", "--version"},
		Without: map[string]string{
			"json": noJSON, "big": noBig,
			"regex": "in a crate, not in the standard library",
			"zone":  "in a crate, not in the standard library",
		},
	},
	"bash": {
		Version: []string{"bash", "--version"},
		Without: map[string]string{"thread": "a shell has none", "deep": "a shell's functions are not made for it"},
	},

	"python": {Version: []string{"python3", "--version"}},
	"python-full": {Version: []string{"python3", "--version"},
		Tools: []string{"numpy", "scipy", "pandas", "pytest", "black", "flake8", "mypy"}, OnlyAll: true},

	"javascript":      {Version: []string{"node", "--version"}},
	"javascript-full": {Version: []string{"node", "--version"}, Tools: []string{"typescript", "jest", "eslint", "prettier"}, OnlyAll: true},
	"typescript":      {Version: []string{"tsc", "--version"}},

	"ruby":      {Version: []string{"ruby", "--version"}},
	"ruby-full": {Version: []string{"ruby", "--version"}, Tools: []string{"rspec", "rubocop"}, OnlyAll: true},

	"php":      {Version: []string{"php", "--version"}, Without: phpWithout},
	"php-full": {Version: []string{"php", "--version"}, Without: phpWithout, Tools: []string{"phpunit", "composer"}, OnlyAll: true},

	"mono": {Version: []string{"mono", "--version"}, OnlyAll: true},
	"haskell": {Version: []string{"ghc", "--version"}, OnlyAll: true, Without: map[string]string{
		"json": noLibrary, "regex": noLibrary, "zone": noLibrary,
	}},
	"lua": {Version: []string{"lua", "-v"}, OnlyAll: true, Without: map[string]string{
		"sleep": "its library cannot sleep", "thread": "it has no threads",
		"json": noLibrary, "big": noLibrary, "zone": noLibrary,
	}},
	"pascal": {Version: []string{"fpc", "-iV"}, OnlyAll: true, Without: map[string]string{
		"big": noLibrary, "zone": noLibrary,
	}},
	"perl": {Version: []string{"perl", "-e", "printf '%vd', $^V"}, OnlyAll: true},

	"csharp":     {Version: []string{"dotnet", "--list-runtimes"}},
	"fsharp":     {Version: []string{"dotnet", "--list-runtimes"}},
	"vb":         {Version: []string{"dotnet", "--list-runtimes"}},
	"powershell": {Version: []string{"pwsh", "--version"}, Without: map[string]string{"deep": "the depth of its calls has a fixed limit"}},

	"d": {Version: []string{"gdc", "--version"}, OnlyAll: true},
	"fortran": {Version: []string{"gfortran", "--version"}, OnlyAll: true, Without: map[string]string{
		"thread": "it has none without OpenMP, whose flag is not a default",
		"json":   noJSON, "regex": noLibrary, "big": noBig, "zone": noLibrary,
	}},
	"kotlin": {
		Version: []string{"kotlinc", "-version"},
		Without: map[string]string{"json": noJSON}, OnlyAll: true,
	},
	"ocaml": {Version: []string{"ocamlopt", "-version"}, OnlyAll: true, Without: map[string]string{
		"json": noLibrary, "big": noLibrary, "zone": noLibrary,
	}},
	"pypy": {Version: []string{"pypy3", "--version"}, OnlyAll: true},
	"r": {Version: []string{"Rscript", "--version"}, OnlyAll: true, Without: map[string]string{
		"thread": "it has no threads", "deep": "the depth of its calls has a fixed limit",
		"json": noLibrary, "big": noLibrary,
	}},
	"scala": {Version: []string{"scalac", "-version"}, OnlyAll: true},
	"sql": {Version: []string{"sqlite3", "--version"}, LineOnly: true, OnlyAll: true, Without: map[string]string{
		"thread": "it has no threads", "zone": noLibrary,
	}},
	"swift": {Version: []string{"swiftc", "--version"}, OnlyAll: true, Without: map[string]string{
		"big": noBig,
	}},
}

const noLibrary = "its own library has nothing for that"

var phpWithout = map[string]string{"thread": "it has no threads"}
