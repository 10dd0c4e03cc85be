package e2e

// A tongue is what the tests know of a language beyond its manifest.
type tongue struct {
	// version is a command that prints the version, run where programs of the
	// language are compiled or, where they are not, run.
	version []string

	// without names the cases the language has no program for, and the lines its
	// own library cannot print, each with the reason.
	without map[string]string

	// tools are those whose working testdata/languages/NAME/tools.EXT shows.
	tools []string

	later bool // only make test-languages runs it
}

const (
	noJSON = "its library reads no JSON"
	noBig  = "its library has no big numbers"
)

// tongues has every language brig brings.
var tongues = map[string]tongue{
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
		version: []string{"java", "--version"}, tools: []string{"junit", "junit alone"}, later: true,
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

	"python":      {version: []string{"python3", "--version"}},
	"python-full": {version: []string{"python3", "--version"}, tools: []string{"numpy", "scipy", "pandas", "pytest", "black", "flake8", "mypy"}, later: true},

	"javascript":      {version: []string{"node", "--version"}},
	"javascript-full": {version: []string{"node", "--version"}, tools: []string{"typescript", "jest", "eslint", "prettier"}, later: true},
	"typescript":      {version: []string{"tsc", "--version"}},

	"ruby":      {version: []string{"ruby", "--version"}},
	"ruby-full": {version: []string{"ruby", "--version"}, tools: []string{"rspec", "rubocop"}, later: true},

	"php":      {version: []string{"php", "--version"}, without: phpWithout},
	"php-full": {version: []string{"php", "--version"}, without: phpWithout, tools: []string{"phpunit", "composer"}, later: true},

	"csharp": {version: []string{"mono", "--version"}, later: true},
	"haskell": {version: []string{"ghc", "--version"}, later: true, without: map[string]string{
		"json": noLibrary, "regex": noLibrary, "zone": noLibrary,
	}},
	"lua": {version: []string{"lua", "-v"}, later: true, without: map[string]string{
		"sleep": "its library cannot sleep", "thread": "it has no threads",
		"json": noLibrary, "big": noLibrary, "zone": noLibrary,
	}},
	"pascal": {version: []string{"fpc", "-iV"}, later: true, without: map[string]string{
		"big": noLibrary, "zone": noLibrary,
	}},
	"perl": {version: []string{"perl", "-e", "printf '%vd', $^V"}, later: true},
}

const noLibrary = "its own library has nothing for that"

var phpWithout = map[string]string{"thread": "it has no threads"}
