package suite

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// The bounds of what is taken out of a report.
const (
	maxCases   = api.MaxTests
	maxID      = 256     // bytes of the name of a case
	maxMessage = 4 << 10 // bytes of what it says
	maxDepth   = 64      // of nested elements
)

// Whole is the id of the outcome of a suite that is not one of its cases: there is no report, or the
// command failed although the report names no failure.
const Whole = "suite"

// A status says how a case ended.
type status int

// The statuses.
const (
	passed status = iota
	failed
	skipped
)

// A testCase is one case of a report.
type testCase struct {
	id      string
	status  status
	message string
}

// Read returns the result of a run that Prepare made, with a test for each case of the report and their
// summary. A report that is missing or wrong is a wrong answer. A skipped case is not passed: a program can
// have its cases skipped.
func Read(s api.Suite, res api.Result) api.Result {
	if res.Verdict == api.Canceled {
		return res
	}

	var report []byte
	for _, f := range res.Files {
		if f.Name == reportName(s.Report) {
			report = f.Content
		}
	}

	skippedFiles := res.Skipped
	res.Files, res.Skipped = nil, nil
	cases, err := casesOf(s.Report, report, res, skippedFiles)
	switch {
	case err != nil:
		one := api.TestResult{ID: Whole, AnswerVisible: true, Result: api.Result{Verdict: res.Verdict, Stage: api.StageRun}}
		if res.Verdict == api.OK || res.Verdict == api.Nonzero {
			one.Result.Verdict, one.Answer, one.Message = api.OK, api.WrongAnswer, err.Error()
		}
		res.Tests = []api.TestResult{one}

	default:
		res.Tests = results(cases)
		if res.Verdict == api.Nonzero && allPassed(cases) {
			res.Tests = append(res.Tests,
				api.TestResult{ID: Whole, AnswerVisible: true, Result: api.Result{Verdict: api.OK, Stage: api.StageRun},
					Answer:  api.WrongAnswer,
					Message: fmt.Sprintf("every case of the report was passed, and the command exited with %d", res.ExitCode)})
		}
	}

	sum := api.Summarize(max(s.Cases, len(res.Tests)), res.Tests)
	if n := len(res.Tests); n > 0 && res.Tests[n-1].ID == Whole {
		zero := 0.0
		sum.Score = &zero
	}
	if sum.Accepted < sum.Tests {
		sum.Answer = api.WrongAnswer
	}

	res.Summary = &sum
	return res
}

// casesOf reads the cases of a report. The error says why there are none.
func casesOf(f api.ReportFormat, report []byte, res api.Result, skippedFiles []api.Skipped) ([]testCase, error) {
	switch {
	case res.Verdict != api.OK && res.Verdict != api.Nonzero:
		return nil, errors.New("the run did not end by itself")
	case report == nil && len(skippedFiles) > 0:
		return nil, fmt.Errorf("there is no report: %s; the command exited with %d%s", skippedFiles[0].Reason, res.ExitCode, lastWords(res))
	case report == nil:
		return nil, fmt.Errorf("there is no report: the command exited with %d before it wrote one%s", res.ExitCode, lastWords(res))
	case len(report) > MaxReport:
		return nil, fmt.Errorf("the report has more than %d MiB, the maximum", MaxReport>>20)
	}

	read := map[api.ReportFormat]func([]byte) ([]testCase, error){
		api.ReportJUnit: junitCases, api.ReportPytest: junitCases, api.ReportJest: jestCases, api.ReportPester: junitCases,
		api.ReportUnittest: unittestCases,
	}[f]
	cases, err := read(report)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the report cannot be read: %w", err)
	case len(cases) == 0:
		return nil, errors.New("the report has no cases")
	}

	return cases, nil
}

// lastWords is the last line that a command wrote to stderr, as the end of a message; "": there is none.
func lastWords(res api.Result) string {
	said := bytes.TrimSpace(res.Stderr)
	if said = said[bytes.LastIndexByte(said, '\n')+1:]; len(said) == 0 {
		return ""
	}
	return ": " + strings.ToValidUTF8(string(said[:min(len(said), 300)]), "?")
}

var errMany = fmt.Errorf("it has more than %d cases, the maximum", maxCases)

func allPassed(cases []testCase) bool {
	for _, c := range cases {
		if c.status != passed {
			return false
		}
	}
	return true
}

// results makes a test of each case. Cases with one name get numbers, each the one after that of the case before: a
// report of one name could keep its reader busy for minutes (TestReportsAreReadInLittleTime).
func results(cases []testCase) []api.TestResult {
	seen := map[string]bool{}
	last := map[string]int{} // numbers that cases of a name got
	all := make([]api.TestResult, 0, len(cases)+1)
	for _, c := range cases {
		id := cut(c.id, maxID-8)
		if id == "" || id == Whole {
			id = "case"
		}

		for base := id; seen[id]; {
			last[base] = max(last[base], 1) + 1
			id = base + "#" + strconv.Itoa(last[base])
		}

		seen[id] = true
		one := api.TestResult{ID: id, Answer: api.Accepted, AnswerVisible: true,
			Result: api.Result{Verdict: api.OK, Stage: api.StageRun}, Message: cut(c.message, maxMessage)}
		switch c.status {
		case failed:
			one.Answer = api.WrongAnswer
		case skipped:
			one.Answer, one.Message = api.WrongAnswer, strings.TrimSuffix("it was skipped: "+one.Message, ": ")
		}

		all = append(all, one)
	}

	return all
}

// cut returns the beginning of a text, as valid UTF-8 without NUL.
func cut(s string, maximum int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	if len(s) <= maximum {
		return s
	}
	for maximum > 0 && !utf8.RuneStart(s[maximum]) {
		maximum--
	}
	return s[:maximum]
}

// Against returns a result with exactly the cases of ids, which a right program has shown: others that a
// report has do not count, and those that it lacks were not passed.
func Against(res api.Result, ids []string) api.Result {
	if res.Summary == nil {
		return res
	}

	had := map[string]api.TestResult{}
	var whole []api.TestResult
	for _, one := range res.Tests {
		if had[one.ID] = one; one.ID == Whole {
			whole = append(whole, one)
		}
	}

	asked := make(map[string]bool, len(ids))
	for _, id := range ids {
		asked[id] = true
	}

	lacking := "the report has no such case"
	for _, one := range res.Tests { // such as a file of cases that could not be imported
		if !asked[one.ID] && one.ID != Whole && !one.Accepted() {
			lacking = one.Message
			break
		}
	}

	tests := make([]api.TestResult, 0, len(ids)+1)
	for _, id := range ids {
		one, ok := had[id]
		switch {
		case !ok && len(whole) > 0: // it says why there are no cases
			continue
		case !ok:
			one = api.TestResult{ID: id, Answer: api.WrongAnswer, AnswerVisible: true,
				Result: api.Result{Verdict: api.OK, Stage: api.StageRun}, Message: lacking}
		}
		tests = append(tests, one)
	}

	res.Tests = append(tests, whole...)
	score := res.Summary.Score
	sum := api.Summarize(max(len(ids), len(res.Tests)), res.Tests)
	if sum.Score = score; sum.Accepted < sum.Tests {
		sum.Answer = api.WrongAnswer
	}

	res.Summary = &sum
	return res
}
