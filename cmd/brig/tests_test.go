package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestFindTestsInTheOrderPeopleCount(t *testing.T) {
	dir := t.TempDir()
	want := []string{"0", "1", "2", "02b", "10", "a-2-x", "a-10", "a-10-1", "b", "secret/2", "secret/10", "secret/123456789012345678901234567890"}
	if err := os.Mkdir(filepath.Join(dir, "secret"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, i := range rand.Perm(len(want)) {
		ext := []string{".ans", ".out"}[i%2]
		for _, name := range []string{want[i] + ".in", want[i] + ext} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	pairs, err := findTests(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range pairs {
		got = append(got, p.id)
	}
	if !slices.Equal(got, want) {
		t.Errorf("order %q\nwant  %q", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "lost.ans"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := findTests(dir); err == nil || !strings.Contains(err.Error(), "lost.ans answers nothing") {
		t.Errorf("an answer to nothing: %v", err)
	}
}

// What the table has no place for is said below it, once.
func TestReportSaysWhyTheFirstTestFailed(t *testing.T) {
	failed := func(id string, r api.Result) api.TestResult { return api.TestResult{ID: id, Result: r} }
	wrong := api.TestResult{ID: "wrong", Answer: api.WrongAnswer, Difference: "line 1", Result: api.Result{Verdict: api.OK}}
	for _, tt := range []struct {
		name  string
		tests []api.TestResult
		want  string
	}{
		{"all is well", []api.TestResult{failed("1", api.Result{Verdict: api.OK})}, ""},
		{"a wrong answer stands in the table", []api.TestResult{wrong}, ""},
		{"an exception of the language", []api.TestResult{
			wrong,
			failed("2", api.Result{Verdict: api.Nonzero, ExitCode: 1, Stderr: api.Bytes("Traceback (most recent call last):\n  File \"/box/a.py\", line 3, in <module>\nZeroDivisionError: division by zero\n")}),
			failed("3", api.Result{Verdict: api.Nonzero, ExitCode: 9}),
		}, "brig: test 2: a.py:3: ZeroDivisionError: division by zero\nbrig: hint: look for a division whose divisor can be 0\n"},
		{"an exit code alone", []api.TestResult{failed("1", api.Result{Verdict: api.Nonzero, ExitCode: 3})}, "brig: test 1: nonzero: exit code 3\n"},
		{"its last line", []api.TestResult{failed("1", api.Result{Verdict: api.Nonzero, ExitCode: 2, Stderr: api.Bytes("a\nusage: a N\n")})}, "brig: test 1: nonzero: exit code 2: usage: a N\n"},
		{"a limit", []api.TestResult{failed("1", api.Result{Verdict: api.OutputLimit, Limits: api.Defaults()})},
			"brig: test 1: output-limit: wrote more than 16M to one stream (raise --output)\nbrig: hint: look for a loop that prints without end, or print less\n"},
	} {
		for _, quiet := range []bool{false, true} {
			var out, errs bytes.Buffer
			c := &console{stdout: &out, stderr: &errs}
			o := &runOptions{testsDir: "tests", quiet: quiet, run: api.Run{Language: "python", SourceName: "a.py"}}
			res := api.Result{Verdict: api.Nonzero, Tests: tt.tests, Summary: &api.Summary{Tests: len(tt.tests), Ran: len(tt.tests)}}
			o.explain(&res, nil)
			c.report(o, res)
			if want := map[bool]string{false: tt.want}[quiet]; errs.String() != want {
				t.Errorf("%s, quiet %v: %q; want %q", tt.name, quiet, errs.String(), want)
			}
		}
	}
}
