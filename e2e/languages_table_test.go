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

// tongues has every language brig brings.
var tongues = map[string]tongue{
	"python": {version: []string{"python3", "--version"}},
}
