package class

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
)

// Diagnoses have the name that the user knows.
func TestDiagnosesNameTheUsersFile(t *testing.T) {
	res := api.Result{Diagnosis: &api.Diagnosis{File: "main.py"},
		Tests: []api.TestResult{{Result: api.Result{Diagnosis: &api.Diagnosis{File: "main.py", Line: 3}}},
			{Result: api.Result{Diagnosis: &api.Diagnosis{}}}, {}}}
	withSourceName(&res, "ann.py")
	if res.Diagnosis.File != "ann.py" || res.Tests[0].Result.Diagnosis.File != "ann.py" || res.Tests[1].Result.Diagnosis.File != "" {
		t.Errorf("the diagnoses are %+v", res)
	}
}

// A run with a suite has neither the settings nor the tests of the person.
func TestSuitesRunNoTestsOfThePerson(t *testing.T) {
	g := Grading{Suite: &api.Suite{Report: api.ReportJUnit, Command: []string{"pytest", "{report}"}},
		Loader: grade.Loader{Problem: new(problem.Problem)}, Program: "shapes.py"}
	of := grade.Submission{Main: "shapes.py",
		Files: []api.File{{Name: "conftest.py"}, {Name: "tests/test_own.py"}, {Name: "helper.py"}}}
	r, err := g.suiteRequest(api.Run{Language: "python-full", Source: api.Bytes("x = 1")}, of)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Files {
		if f.Name == "conftest.py" || f.Name == "tests/test_own.py" {
			t.Errorf("the run has %s", f.Name)
		}
	}
	if len(r.Files) < 2 { // the program, helper.py
		t.Errorf("the run has the files %+v", r.Files)
	}
}
