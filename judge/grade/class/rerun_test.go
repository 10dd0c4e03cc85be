package class

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
)

// A grading that was interrupted left what it had judged next to the report: all but that is judged again.
func TestRerunJudgesWhatIsMissing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grades.json")
	done := func(id string) grade.Row {
		return grade.Judged(id, api.Result{Verdict: api.OK, Summary: &api.Summary{Tests: 1, Accepted: 1}})
	}
	write := func(name string, r grade.Report) {
		t.Helper()
		text, err := json.Marshal(r)
		if err == nil {
			err = os.WriteFile(name, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	all := func() []grade.Submission { return []grade.Submission{{Name: "ann"}, {Name: "bob"}, {Name: "dan"}} }
	rest := Rerun{Names: []string{NotJudged}}
	if err := rest.Read(file); err == nil || !strings.Contains(err.Error(), "leave out --rerun") {
		t.Errorf("no report, and %v", err)
	}

	write(file, grade.Report{Tests: []string{"1"}, Submissions: []grade.Row{done("ann")}})
	write(PartialName(file), grade.Report{Tests: []string{"1"}, Submissions: []grade.Row{done("ann"), done("bob")}})
	if err := rest.Read(file); err != nil || rest.File != PartialName(file) {
		t.Fatalf("%q was read, %v", rest.File, err)
	}
	again, err := rest.Select(all())
	if err != nil || len(again) != 1 || again[0].Name != "dan" {
		t.Errorf("%v is judged again, %v", again, err)
	}

	g := &Grading{Common: api.Run{Tests: []api.Test{{ID: "1"}}}}
	if err := rest.Check(g, 0); err != nil {
		t.Error(err)
	}
	if err := rest.Check(g, 2); err == nil {
		t.Error("results of other limits are completed")
	}
	if err := rest.Check(new(Grading), 0); err == nil {
		t.Error("results of other tests are completed")
	}

	for _, tt := range []struct{ name, want string }{{"bob", "bob"}, {"submissions/bob.py", "bob"}, {"eve", ""}} {
		one := Rerun{Names: []string{tt.name}}
		if err := one.Read(file); err != nil || one.File != file {
			t.Errorf("%s: %q was read, %v", tt.name, one.File, err)
		}
		again, err := one.Select(all())
		if tt.want == "" && err == nil || tt.want != "" && (err != nil || len(again) != 1 || again[0].Name != tt.want) {
			t.Errorf("%s: %v is judged again, %v", tt.name, again, err)
		}
	}

	var none Rerun
	if again, err := none.Select(all()); err != nil || len(again) != 3 {
		t.Errorf("without --rerun %v is judged, %v", again, err)
	}
}
