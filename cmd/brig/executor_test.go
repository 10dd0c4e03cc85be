package main

import (
	"testing"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
)

// A program of one file in an interpreted language begins from a template, which expects the language's
// own name of the source; diagnoses have the name that the user knows.
func TestSourceNamesOfOneFile(t *testing.T) {
	x := &executor{Executor: &caller.Executor{Languages: []api.Language{{Name: "python", Extensions: []string{"py"}}, {Name: "java", CompileTier: "compile"}}}}
	for _, tt := range []struct {
		language, name string
		files          int
		ofTest         string // a file of a test
		want           string
	}{
		{"python", "ann.py", 0, "", ""}, {"python", "ann.py", 1, "", "ann.py"}, {"java", "Ann.java", 0, "", "Ann.java"},
		{"unknown", "a.x", 0, "", "a.x"},
		{"python", "ann.py", 0, "main.txt", ""}, {"python", "ann.py", 0, "main.py", "ann.py"},
	} {
		if got := x.sourceName(tt.language, tt.name, tt.files, []api.Test{{}, {Files: []api.File{{Name: tt.ofTest}}}}); got != tt.want {
			t.Errorf("%s of %s with %d files: %q; want %q", tt.name, tt.language, tt.files, got, tt.want)
		}
	}

	res := api.Result{Diagnosis: &api.Diagnosis{File: "main.py"},
		Tests: []api.TestResult{{Result: api.Result{Diagnosis: &api.Diagnosis{File: "main.py", Line: 3}}},
			{Result: api.Result{Diagnosis: &api.Diagnosis{}}}, {}}}
	withSourceName(&res, "ann.py")
	if res.Diagnosis.File != "ann.py" || res.Tests[0].Result.Diagnosis.File != "ann.py" || res.Tests[1].Result.Diagnosis.File != "" {
		t.Errorf("the diagnoses are %+v", res)
	}
}
