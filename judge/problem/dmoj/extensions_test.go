package dmoj

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/judge/problem"
)

// Programs of a package have the extensions that programs of people have.
func TestExtensionsThatPeopleUse(t *testing.T) {
	for language, names := range map[string]string{
		"cpp": "a.cpp a.cc a.cxx a.c++ a.C", "c": "a.c", "python": "a.py a.py3 a.pyw", "javascript": "a.js a.mjs a.cjs",
		"typescript": "a.ts a.mts a.cts", "bash": "a.sh", "pascal": "a.pas a.pp a.lpr a.dpr", "haskell": "a.hs a.lhs",
		"ruby": "a.rb a.rbw", "perl": "a.pl a.PL", "fortran": "a.f90 a.f95 a.f a.for", "": "a.h a.hpp a.txt",
	} {
		for _, name := range strings.Fields(names) {
			if got := problem.LanguageOf(name, extensions); got != language {
				t.Errorf("%s is %q; want %q", name, got, language)
			}
		}
	}
}
