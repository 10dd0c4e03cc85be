package problem

import (
	"cmp"

	"github.com/brig-sandbox/brig/api"
)

// languages are brig's names of the languages of sources, by their extensions as api.Extension returns them: those of
// which all formats of packages say the same.
var languages = map[string]string{
	"c": "c", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "c++": "cpp", "cs": "csharp", "d": "d", "fs": "fsharp", "go": "go",
	"f90": "fortran", "f95": "fortran", "f03": "fortran", "f08": "fortran", "f": "fortran", "for": "fortran",
	"hs": "haskell", "lhs": "haskell", "java": "java", "js": "javascript", "mjs": "javascript", "cjs": "javascript",
	"kt": "kotlin", "lua": "lua", "ml": "ocaml", "pas": "pascal", "pp": "pascal", "lpr": "pascal", "dpr": "pascal",
	"php": "php", "py": "python", "pyw": "python", "py3": "python", "py2": "python2", "rb": "ruby", "rbw": "ruby",
	"rs": "rust", "scala": "scala", "sh": "bash", "swift": "swift", "ts": "typescript", "mts": "typescript",
	"cts": "typescript", "vb": "vb",
}

// LanguageOf returns brig's name of the language that the name of a source says, and "" if it says none. A format has
// extensions of its own, which may be nil; they take precedence.
func LanguageOf(name string, own map[string]string) string {
	ext := api.Extension(name)
	return cmp.Or(own[ext], languages[ext])
}
