package languages

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// The extensions that people use belong to a language each, and its main source keeps the one that it has.
func TestExtensionsThatPeopleUse(t *testing.T) {
	all, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	for name, language := range map[string]string{
		"a.sh": "bash", "a.bash": "bash", "a.c": "c", "a.C": "cpp", "a.cpp": "cpp", "a.cc": "cpp", "a.cxx": "cpp", "a.c++": "cpp",
		"a.cs": "csharp", "a.fs": "fsharp", "a.vb": "vb", "a.d": "d", "a.go": "go", "a.hs": "haskell", "a.lhs": "haskell",
		"a.java": "java", "a.js": "javascript", "a.mjs": "javascript", "a.cjs": "javascript", "a.ts": "typescript",
		"a.mts": "typescript", "a.cts": "typescript", "a.kt": "kotlin", "a.lua": "lua", "a.ml": "ocaml", "a.pas": "pascal",
		"a.pp": "pascal", "a.lpr": "pascal", "a.dpr": "pascal", "a.pl": "perl", "a.php": "php", "a.ps1": "powershell", "a.py": "python",
		"a.pyw": "python", "a.py3": "python", "a.r": "r", "a.R": "r", "a.rb": "ruby", "a.rbw": "ruby", "a.rs": "rust",
		"a.f90": "fortran", "a.f95": "fortran", "a.f": "fortran", "a.for": "fortran",
		"a.scala": "scala", "a.sql": "sql", "a.swift": "swift", "a.h": "", "a.hpp": "", "a.txt": "", "a": "",
	} {
		got := ""
		for _, l := range all.All() {
			for _, ext := range l.Extensions {
				if ext == api.Extension(name) {
					got = l.Name
				}
			}
		}
		if got != language {
			t.Errorf("%s is %q; want %q", name, got, language)
		}
		if language == "" {
			continue
		}

		l, err := all.ByName(language)
		if err != nil {
			t.Fatal(err)
		}
		if !l.IsSource(name) || l.CompiledName(name) != name {
			t.Errorf("%s is a source of %s: %t, and compiled as %s", name, language, l.IsSource(name), l.CompiledName(name))
		}
	}
}
