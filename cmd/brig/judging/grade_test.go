package judging

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/class"
)

// gradesIn makes the options of a grading with its reports in a directory.
func gradesIn(dir string) *GradeOptions {
	o := &GradeOptions{outputs: map[string]*string{}}
	for _, format := range GradeFormats {
		name := filepath.Join(dir, "grades."+format)
		o.outputs[format] = &name
	}
	return o
}

func graded(id string) grade.Row {
	return grade.Judged(id, api.Result{Verdict: api.OK, Summary: &api.Summary{Tests: 1, Accepted: 1}})
}

// A grading that was interrupted, or that failed, leaves complete results as they are.
func TestCompleteGradesStay(t *testing.T) {
	dir := t.TempDir()
	o := gradesIn(dir)
	var stdout, stderr bytes.Buffer
	c := &cli.CLI{Stdout: &stdout, Stderr: &stderr, Env: func(string) string { return "" }}
	write := func(rows ...grade.Row) {
		t.Helper()
		if err := writeGrades(c, o, grade.Report{Tests: []string{"1"}, Submissions: rows}); err != nil {
			t.Fatal(err)
		}
	}

	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		return string(text)
	}
	write(graded("ann"), graded("bob"), grade.NotJudged("cy", grade.Missing, api.Refuse(api.CodeBadRequest, "x")))
	complete := map[string]string{}
	for _, format := range GradeFormats {
		if complete[format] = read("grades." + format); complete[format] == "" {
			t.Errorf("there is no report %s", format)
		}
	}

	if !strings.HasPrefix(complete["csv"], "\ufeffname,") {
		t.Errorf("Excel does not take %.10q for UTF-8", complete["csv"])
	}

	for _, status := range []grade.Status{grade.Canceled, grade.Failed} {
		write(graded("ann"), grade.NotJudged("bob", status, api.Fail(api.CodeAgentGone, "x")))
		for _, format := range GradeFormats {
			if read("grades."+format) != complete[format] || read("grades.partial."+format) == "" {
				t.Errorf("%s: the report %s was replaced, or there is none next to it", status, format)
			}
		}
	}

	if text := stderr.String(); !strings.Contains(text, "1 of 2 submissions were judged") || !strings.Contains(text, "--rerun not-judged") {
		t.Errorf("brig says %q", text)
	}

	o.rerun.Names = []string{class.NotJudged}
	if err := o.rerun.Read(o.reportFile()); err != nil {
		t.Fatal(err)
	}
	again, err := o.rerun.Select([]grade.Submission{{Name: "ann"}, {Name: "bob"}, {Name: "dan"}})
	if err != nil || len(again) != 2 || again[0].Name != "bob" || again[1].Name != "dan" {
		t.Fatalf("%v is judged again, %v", again, err)
	}
	if err := writeGrades(c, o,
		o.rerun.Complete(new(class.Grading),
			grade.Report{Tests: []string{"1"}, Submissions: []grade.Row{graded("dan"), graded("bob")}})); err != nil {
		t.Fatal(err)
	}

	var all grade.Report
	if err := json.Unmarshal([]byte(read("grades.json")), &all); err != nil || len(all.Submissions) != 3 ||
		all.Submissions[1].ID != "bob" || !all.AllJudged() {
		t.Errorf("the report is %+v, %v", all, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*partial*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestResumeCommand(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"x grade tests subs --json=g.json", "brig grade tests subs '--json=g.json' --rerun not-judged"},
		{"x grade tests subs --json=g.json --rerun ann --rerun=bob", "brig grade tests subs '--json=g.json' --rerun not-judged"},
	} {
		if got := resumeCommand(strings.Fields(tt.args)); got != tt.want {
			t.Errorf("%s: %s; want %s", tt.args, got, tt.want)
		}
	}
}
