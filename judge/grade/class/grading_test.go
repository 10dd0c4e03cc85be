package class

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
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
