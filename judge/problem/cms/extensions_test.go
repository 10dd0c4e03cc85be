package cms

import (
	"strings"
	"testing"
)

// Programs of a package have the extensions that programs of people have, in the languages of the format.
func TestExtensionsThatPeopleUse(t *testing.T) {
	for language, names := range map[string]string{
		"cpp": "a.cpp a.CPP a.cc a.cxx a.c++ a.C", "c": "a.c", "python": "a.py a.PY a.py3 a.pyw", "java": "a.java",
		"pascal": "a.pas a.pp", "rust": "a.rs", "csharp": "a.cs", "php": "a.php", "haskell": "a.hs",
		"": "a.h a.hpp a.txt a a.go a.js a.sh a.py2",
	} {
		for _, name := range strings.Fields(names) {
			if got := languageOf(name); got != language {
				t.Errorf("%s is %q; want %q", name, got, language)
			}
		}
	}
}
