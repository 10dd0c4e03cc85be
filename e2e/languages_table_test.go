package e2e

// A tongue is what the tests know of a language beyond its manifest.
type tongue struct {
	// version is a command that prints the version, run where programs of the
	// language are compiled or, where they are not, run.
	version []string

	// without names the cases the language has no program for, and the lines its
	// own library cannot print, each with the reason.
	without map[string]string

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
		without: map[string]string{"thread": "a shell has none"},
	},
	"python": {version: []string{"python3", "--version"}},
}
