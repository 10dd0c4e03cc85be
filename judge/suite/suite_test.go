package suite

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

const (
	pytestReport = `<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="0" failures="1" skipped="1" tests="3" time="0.03" hostname="brig">
<testcase classname="test_add" name="test_one" time="0.001" /><testcase classname="test_add.TestMore" name="test_two[1-2]" time="0.001"><failure message="assert 3 == 4">def test_two():
&gt;   assert add(1, 2) == 4</failure></testcase><testcase classname="test_add" name="test_three" time="0.000"><skipped type="pytest.skip" message="later">x</skipped></testcase></testsuite></testsuites>`
	nodeReport = `<?xml version="1.0" encoding="utf-8"?>
<testsuites>
	<testcase name="adds" time="0.001" classname="test"/>
	<testsuite name="more" time="0.002" disabled="0" errors="0" tests="1" failures="1" skipped="0" hostname="brig">
		<testcase name="fails" time="0.001" classname="test" failure="no">
			<failure type="testCodeFailure" message="no">[Error: no]</failure>
		</testcase>
	</testsuite>
	<!-- tests 2 -->
</testsuites>`
	pesterReport = "\ufeff" + `<?xml version="1.0" encoding="utf-8" standalone="no"?>
<testsuites name="Pester" tests="2" errors="0" failures="1" disabled="0" time="3.9">
  <testsuite name="/box/Add.Tests.ps1" tests="2" errors="0" failures="1" id="0" skipped="0" package="/box/Add.Tests.ps1" time="3.9">
    <properties><property name="framework-version" value="6.1.0" /></properties>
    <testcase name="Add.adds" status="Passed" classname="/box/Add.Tests.ps1" assertions="0" time="0.6" />
    <testcase name="Add.is wrong" status="Failed" classname="/box/Add.Tests.ps1" assertions="0" time="0.4">
      <failure message="Expected 3, but got 2.">at It, /box/Add.Tests.ps1:5</failure></testcase></testsuite></testsuites>`
	jestReport = `{"numFailedTests": 1, "testResults": [
 {"name": "/box/add.test.js", "status": "failed", "message": "", "assertionResults": [
  {"fullName": "add adds", "status": "passed", "failureMessages": []}, {"fullName": "add fails", "status": "failed", "failureMessages": ["Error: no", "x"]},
  {"fullName": "add later", "status": "todo", "failureMessages": []}]},
 {"name": "/box/broken.test.js", "status": "failed", "message": "SyntaxError", "assertionResults": []}]}`
	unittestReport = `{"cases": [{"id": "test_add.T.test_a", "status": "passed", "message": ""}, {"id": "test_add.T.test_b", "status": "failed", "message": "AssertionError"}]}`
)

// told is a result in one line: verdict, score, and each case with its answer.
func told(res api.Result) string {
	out := fmt.Sprintf("%s %.2f %s:", res.Verdict, api.JobScore(res), res.Summary.Answer)
	for _, t := range res.Tests {
		out += fmt.Sprintf(" %s=%s", t.ID, t.Answer)
		if t.Message != "" {
			out += "(" + t.Message + ")"
		}
		if !t.AnswerVisible || t.Result.Verdict == "" {
			out += "?"
		}
	}
	return out
}

func reported(f api.ReportFormat, exit int, report string) api.Result {
	res := api.Result{Verdict: api.OK, ExitCode: exit, Files: []api.File{{Name: reportName(f), Content: api.Bytes(report)}}}
	if exit != 0 {
		res.Verdict = api.Nonzero
	}
	return res
}

func TestReports(t *testing.T) {
	for _, tt := range []struct {
		format api.ReportFormat
		report string
		want   string
	}{
		{api.ReportPytest, pytestReport,
			"nonzero 0.33 wrong-answer: test_add.test_one=accepted " +
				"test_add.TestMore.test_two[1-2]=wrong-answer(assert 3 == 4) test_add.test_three=wrong-answer(it was skipped: later)"},
		{api.ReportJUnit, nodeReport, "nonzero 0.50 wrong-answer: adds=accepted fails=wrong-answer(no)"},
		{api.ReportJest, jestReport,
			"nonzero 0.25 wrong-answer: add adds=accepted add fails=wrong-answer(Error: no\nx) add " +
				"later=wrong-answer(it was skipped) broken.test.js=wrong-answer(SyntaxError)"},
		{api.ReportUnittest, unittestReport,
			"nonzero 0.50 wrong-answer: test_add.T.test_a=accepted test_add.T.test_b=wrong-answer(AssertionError)"},
		{api.ReportPester, pesterReport, "nonzero 0.50 wrong-answer: Add.adds=accepted Add.is wrong=wrong-answer(Expected 3, but got 2.)"},
		{api.ReportPytest, `<testsuites><testsuite><testcase time="0.001" /></testsuite></testsuites>`,
			"nonzero 0.00 wrong-answer: case=wrong-answer(the case has no name: it did not run to its end)"},
		{api.ReportJUnit, `<testsuite><testcase name="a"><error>no file</error></testcase><testcase name="a"/><testcase name="suite"/></testsuite>`, "nonzero 0.67 wrong-answer: a=wrong-answer(no file) a#2=accepted case=accepted"},
	} {
		if got := told(Read(api.Suite{Report: tt.format}, reported(tt.format, 1, tt.report))); got != tt.want {
			t.Errorf("%s:\n%s; want\n%s", tt.format, got, tt.want)
		}
	}

	all := strings.ReplaceAll(unittestReport, "failed", "passed")
	if got := told(Read(api.Suite{Report: api.ReportUnittest, Cases: 4}, reported(api.ReportUnittest, 0, all))); !strings.HasPrefix(got,
		"ok 0.50 wrong-answer:") {
		t.Errorf("two of four cases: %s", got)
	}
}

// GRD-14: reports that are missing, wrong, too large or bombs are wrong answers; none is an error or a score.
func TestHostileReports(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	var many, deep strings.Builder
	for i := range maxCases + 1 {
		fmt.Fprintf(&many, `<testcase name="%d"/>`, i)
	}

	for range maxDepth + 1 {
		deep.WriteString("<testsuite>")
	}

	for name, tt := range map[string]struct {
		format api.ReportFormat
		res    api.Result
		want   string
	}{
		"none": {api.ReportPytest, api.Result{Verdict: api.OK}, "there is no report: the command exited with 0"},
		"none, too large": {api.ReportPytest,
			api.Result{Verdict: api.OK, Skipped: []api.Skipped{{Name: "brig-report.xml", Reason: "too large"}}}, "too large"},
		"another name": {api.ReportPytest,
			api.Result{Verdict: api.OK, Files: []api.File{{Name: "x", Content: api.Bytes(pytestReport)}}}, "there is no report"},
		"empty":    {api.ReportPytest, reported(api.ReportPytest, 0, ""), "not JUnit XML|no cases"},
		"no cases": {api.ReportPytest, reported(api.ReportPytest, 0, "<testsuites/>"), "the report has no cases"},
		"all passed, and failed": {api.ReportPytest, reported(api.ReportPytest, 3, `<testsuite><testcase name="a"/></testsuite>`),
			"every case of the report was passed, and the command exited with 3"},
		"another root": {api.ReportJUnit, reported(api.ReportJUnit, 0, `<html><testcase name="a"/></html>`), `its root is "html"`},
		"unfinished":   {api.ReportJUnit, reported(api.ReportJUnit, 0, `<testsuite><testcase name="a"/>`), "not JUnit XML"},
		"billion laughs": {api.ReportJUnit,
			reported(api.ReportJUnit, 0,
				`<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>`),
			"document type"},
		"an entity": {api.ReportJUnit,
			reported(api.ReportJUnit, 0, `<testsuite><testcase name="&b;"/></testsuite>`), "not JUnit XML"},
		"an external entity": {api.ReportJUnit,
			reported(api.ReportJUnit, 0, `<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>`), "document type"},
		"many cases": {api.ReportJUnit, reported(api.ReportJUnit, 0, "<testsuite>"+many.String()+"</testsuite>"),
			"more than 16384 cases"},
		"deep":         {api.ReportJUnit, reported(api.ReportJUnit, 0, deep.String()), "nested more than 64 deep"},
		"deep JSON":    {api.ReportJest, reported(api.ReportJest, 0, strings.Repeat("[", 100_000)), "not the JSON of jest"},
		"another JSON": {api.ReportJest, reported(api.ReportJest, 0, `{"testResults": 3}`), "not the JSON of jest"},
		"another encoding": {api.ReportJUnit,
			reported(api.ReportJUnit, 0, `<?xml version="1.0" encoding="utf-7"?><testsuite><testcase name="a"/></testsuite>`), "not JUnit XML"},
		"a limit": {api.ReportPytest,
			api.Result{Verdict: api.WallLimit,
				Files: []api.File{{Name: "brig-report.xml", Content: api.Bytes(`<testsuite><testcase name="a"/></testsuite>`)}}}, ""},
		"killed": {api.ReportPytest,
			api.Result{Verdict: api.Signaled,
				Files: []api.File{{Name: "brig-report.xml", Content: api.Bytes(`<testsuite><testcase name="a"/></testsuite>`)}}}, ""},
	} {
		res := Read(api.Suite{Report: tt.format}, tt.res)
		last := res.Tests[len(res.Tests)-1]
		if api.JobScore(res) != 0 || res.Summary.Answer != api.WrongAnswer || last.ID != Whole || last.Accepted() {
			t.Errorf("%s: %s", name, told(res))
		}
		if !slices.ContainsFunc(strings.Split(tt.want, "|"), func(w string) bool { return strings.Contains(last.Message, w) }) {
			t.Errorf("%s: %q; want %q", name, last.Message, tt.want)
		}
	}

	res := Read(api.Suite{Report: api.ReportJUnit},
		reported(api.ReportJUnit, 0, `<testsuite><testcase name="`+long+`"><failure>`+long+`</failure></testcase></testsuite>`))
	if one := res.Tests[0]; len(one.ID) > maxID || len(one.Message) > maxMessage {
		t.Errorf("a name of %d bytes, a message of %d", len(one.ID), len(one.Message))
	}
}

// Cases that a right program has shown: a report with others or fewer gains nothing.
func TestAgainst(t *testing.T) {
	s := api.Suite{Report: api.ReportJUnit}
	ids := []string{"a", "b"}
	for report, want := range map[string]string{
		`<testsuite><testcase name="b"/><testcase name="a"/></testsuite>`:                                                        "ok 1.00 accepted: a=accepted b=accepted",
		`<testsuite><testcase name="a"/></testsuite>`:                                                                            "ok 0.50 wrong-answer: a=accepted b=wrong-answer(the report has no such case)",
		`<testsuite><testcase name="x"/><testcase name="y"/><testcase name="z"/></testsuite>`:                                    "ok 0.00 wrong-answer: a=wrong-answer(the report has no such case) b=wrong-answer(the report has no such case)",
		`<testsuite><testcase name="file"><error message="collection failure">no module solution</error></testcase></testsuite>`: "ok 0.00 wrong-answer: a=wrong-answer(no module solution) b=wrong-answer(no module solution)",
		`<testsuite/>`: "ok 0.00 wrong-answer: suite=wrong-answer(the report has no cases)",
	} {
		if got := told(Against(Read(s, reported(s.Report, 0, report)), ids)); got != want {
			t.Errorf("%s\n%s; want\n%s", report, got, want)
		}
	}
}

func TestPrepare(t *testing.T) {
	base := api.Run{Language: "python-full", Source: api.Bytes("x = 1"), SourceName: "solution.py",
		Files: []api.File{{Name: "test_x.py", Content: api.Bytes("import solution")}}}
	with := func(change func(r *api.Run)) api.Run {
		r := base
		r.Suite = &api.Suite{Report: api.ReportPytest}
		change(&r)
		return r
	}

	for name, tt := range map[string]struct {
		r    api.Run
		want string // argv, or a part of the error
	}{
		"pytest": {with(func(*api.Run) {}), "python3 -m pytest -q -p no:cacheprovider --junitxml=brig-report.xml"},
		"unittest": {with(func(r *api.Run) { r.Suite = &api.Suite{Report: api.ReportUnittest, Command: []string{"-v", "test_x"}} }),
			"brig-report.json -v test_x"},
		"node": {with(func(r *api.Run) { r.Language, r.Suite.Report = "javascript", api.ReportJUnit }),
			"node --test --test-reporter=junit --test-reporter-destination=brig-report.xml"},
		"a command of an image": {with(func(r *api.Run) {
			r.Language, r.Image, r.Source, r.SourceName = "", "java-full", nil, ""
			r.Suite = &api.Suite{Report: api.ReportJUnit, Command: []string{"make", "REPORT={report}"}}
		}), "make REPORT=brig-report.xml"},
		"another language":  {with(func(r *api.Run) { r.Language = "cpp" }), "set image"},
		"no usual command":  {with(func(r *api.Run) { r.Suite.Report = api.ReportJUnit }), "has no usual command"},
		"no report":         {with(func(r *api.Run) { r.Suite.Command = []string{"pytest"} }), "write {report}"},
		"a name":            {with(func(r *api.Run) { r.SourceName = "" }), "without source_name"},
		"tests":             {with(func(r *api.Run) { r.Tests = []api.Test{{ID: "1"}} }), "excludes tests"},
		"arguments":         {with(func(r *api.Run) { r.Argv = []string{"x"} }), "suite.command"},
		"collect":           {with(func(r *api.Run) { r.Collect.Files = 3 }), "excludes collect"},
		"the report's name": {with(func(r *api.Run) { r.Files = []api.File{{Name: "brig-report.xml"}} }), "leave it out"},
		"an unknown report": {with(func(r *api.Run) { r.Suite.Report = "tap" }), "use junit, pytest, unittest, jest or pester"},
		"too many cases":    {with(func(r *api.Run) { r.Suite.Cases = api.MaxTests + 1 }), "between 0 and 16384"},
	} {
		got, err := Prepare(tt.r)
		switch {
		case err != nil:
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v; want %s", name, err, tt.want)
			}
		case strings.Join(got.Argv, " ") != tt.want || got.Suite != nil || got.Collect.Files != 1:
			t.Errorf("%s: %q", name, got.Argv)
		case got.Validate() != nil:
			t.Errorf("%s: %v", name, got.Validate())
		}
	}

	if !Configures("a/conftest.py") || !Configures("jest.config.mjs") || Configures("solution.py") {
		t.Error("which files configure the runner of the cases")
	}
}

func FuzzReports(f *testing.F) {
	for _, s := range []string{pytestReport, nodeReport, jestReport, unittestReport} {
		f.Add(s, true)
	}

	f.Fuzz(func(t *testing.T, report string, ok bool) {
		for _, format := range api.ReportFormat("").Values() {
			res := Read(api.Suite{Report: format}, reported(format, map[bool]int{true: 0, false: 1}[ok], report))
			if s := api.JobScore(res); s < 0 || s > 1 || s == 1 && !ok {
				t.Errorf("score %v", s)
			}

			seen := map[string]bool{}
			for _, one := range res.Tests {
				if seen[one.ID] || one.ID == "" || len(one.ID) > maxID || len(one.Message) > maxMessage+32 || !one.AnswerVisible {
					t.Errorf("case %q", one.ID)
				}
				seen[one.ID] = true
			}

			if _, err := json.Marshal(res); err != nil {
				t.Error(err)
			}
		}
	})
}

// What cannot run is refused before anything is built for it.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		report   api.ReportFormat
		command  []string
		language string
		why      string // empty: it can run
	}{
		{api.ReportJUnit, nil, "java-full", ""},
		{api.ReportJUnit, nil, "javascript", ""},
		{api.ReportJUnit, nil, "java", "junit has no usual command for java: set it, or use the language javascript, " +
			"or java-full for Java"},
		{api.ReportJUnit, []string{"make", "{report}"}, "cpp", `language "cpp" is none of them`},
		{api.ReportJUnit, []string{"make", "{report}"}, "java-full", ""},
		{api.ReportPytest, nil, "python-full", ""},
		{api.ReportPytest, nil, "java-full", "pytest has no usual command for java-full"},
		{api.ReportUnittest, nil, "javascript", "use python"},
		{api.ReportPester, nil, "pwsh", ""},
		{api.ReportPester, nil, "python", "use powershell"},
		{api.ReportPester, []string{"x", "{report}"}, "powershell", "a command of its own"},
		{api.ReportJest, nil, "python", "jest has no usual command for python"},
	} {
		err := Check(api.Suite{Report: tt.report, Command: tt.command}, tt.language)
		if tt.why == "" && err != nil || tt.why != "" && (err == nil || !strings.Contains(err.Error(), tt.why)) {
			t.Errorf("%s in %s: %v; want %q", tt.report, tt.language, err, tt.why)
		}
	}
}

// Cases of one name got the first number that was free: the report of one run occupied a slot of the service for three
// minutes.
func TestReportsAreReadInLittleTime(t *testing.T) {
	name := strings.Repeat("a", maxID)
	for what, report := range map[string]string{
		"one name":          strings.Repeat(`<testcase name="`+name+`"/>`, maxCases),
		"numbers are taken": strings.Repeat(`<testcase name="a"/><testcase name="a#2"/><testcase name="a#2#2"/>`, maxCases/3),
		"one name, failed":  strings.Repeat(`<testcase name="`+name+`"><failure/></testcase>`, maxCases),
	} {
		begun := processorTime(t)
		res := Read(api.Suite{Report: api.ReportPytest}, reported(api.ReportPytest, 0, "<testsuite>"+report+"</testsuite>"))
		ids := map[string]bool{}
		for _, one := range res.Tests {
			ids[one.ID] = true
		}
		if len(ids) < maxCases-2 || len(ids) != len(res.Tests) {
			t.Errorf("%s: %d cases have %d names", what, len(res.Tests), len(ids))
		}

		Against(res, slices.Collect(maps.Keys(ids)))
		if took := processorTime(t) - begun; took > 10*time.Second {
			t.Errorf("%s: it took %v", what, took)
		}
	}
}

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
