package sandboxfusion

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/fastapi"
)

// An evaluated answer is what ScaleBox's operations return. Every field is always there.
type evaluated struct {
	ID            json.RawMessage `json:"id"`
	Accepted      bool            `json:"accepted"`
	Code          string          `json:"extracted_code"`
	FullCode      *string         `json:"full_code"`
	TestCode      *string         `json:"test_code"`
	Tests         []evaluatedTest `json:"tests"`
	ExtractedType *string         `json:"extracted_type"`
	Extra         *string         `json:"extra"`
}

type evaluatedTest struct {
	Passed bool            `json:"passed"`
	Exec   answer          `json:"exec_info"`
	Info   json.RawMessage `json:"test_info"`
}

const (
	interpretedTimeout = 20.0              // seconds, of a program that is not compiled
	callFile           = ".brig-call.json" // has the arguments of a call, and what it returns
)

// planEvaluate is POST /common_evaluate, or /common_evaluate_batch.
func planEvaluate(batch bool) func(dialect.Request, dialect.Agent) dialect.Plan {
	return func(ask dialect.Request, on dialect.Agent) dialect.Plan {
		if !utf8.Valid(ask.Body) {
			return fastapi.NotText()
		}

		q, bad := readEvaluation(ask.Body, batch, offered(on))
		var p dialect.Plan
		switch {
		case len(bad) > 0:
			p = dialect.Refuse(fastapi.Error(422, bad))
		case q.language == "":
			p = dialect.Refuse(fastapi.Error(400, "config.language field must exist, got None"))
		default:
			of := languages[slices.IndexFunc(languages, func(l language) bool { return l.id == q.language })]
			code := extract(q.completion, q.language)
			p.Runs, p.MaxWait = []api.Run{q.run(code, of, on)}, maxWait
			p.Tell = func(results []api.Result) dialect.Response { return fastapi.Respond(200, q.tell(code, of, results[0])) }
		}
		p.UnknownFields = q.unknown
		return p
	}
}

// run is one run with all tests: the program is compiled once, and each test is in a sandbox of its own.
func (q evaluation) run(code string, of language, on dialect.Agent) api.Run {
	asked := request{language: q.language, code: code, runTimeout: q.runTimeout, compileTimeout: q.compileTimeout}
	if asked.runTimeout == nil && !of.compiled {
		v := interpretedTimeout
		asked.runTimeout = &v
		if longest := on.Ceiling.Wall; longest > 0 && seconds(v) > longest {
			asked.runTimeout = nil
		}
	}
	if q.calls != "" {
		asked.code = callProgram(code, q.calls)
	}

	run := runOf(asked, of, on)
	if q.memoryKiB > 0 {
		run.Limits.Memory = max(api.Size(min(q.memoryKiB, maxMemoryMB<<10))*api.KiB, api.MinMemory)
	}
	run.KeepOutput = maxStream
	for i, t := range q.tests {
		one := api.Test{ID: strconv.Itoa(i), Stdin: api.Bytes(t.stdin)}
		if q.calls != "" {
			content := "[" + string(t.args) + "," + string(t.expected) + "]"
			one.Files = []api.File{{Name: callFile, Content: api.Bytes(content)}}
		}
		run.Tests = append(run.Tests, one)
	}
	return run
}

// callPrelude are the modules of which the original imports everything for a class Solution.
var callPrelude = []string{"string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random", "statistics",
	"itertools", "functools", "operator", "io", "sys", "json", "builtins", "typing"}

// callProgram is a program that calls a function with the arguments of its test, and fails if it returns another value.
func callProgram(code, function string) string {
	var b strings.Builder
	if strings.Contains(code, "class Solution") {
		for _, m := range callPrelude {
			b.WriteString("from " + m + " import *\n")
		}
		for _, m := range callPrelude[:len(callPrelude)-2] {
			b.WriteString("import " + m + "\n")
		}
		b.WriteString("sys.setrecursionlimit(600000)\n")
		function = "Solution()." + function
	}

	b.WriteString("\n" + code + "\n\n")
	b.WriteString("import json as _brig_json\n")
	b.WriteString("with open('" + callFile + "') as _brig_file:\n    _brig_args, _brig_expected = _brig_json.load(_brig_file)\n")
	b.WriteString("_brig_result = " + function + "(*_brig_args)\n")
	b.WriteString("assert _brig_result == _brig_expected, f'{_brig_result!r:.1000} is not {_brig_expected!r:.1000}'\n")
	return b.String()
}

// tell tells the tests, in their order: all, or those up to the first that failed.
func (q evaluation) tell(code string, of language, res api.Result) evaluated {
	e := evaluated{ID: q.id, Accepted: true, Code: code, Tests: []evaluatedTest{}}
	for i, t := range q.tests {
		var one evaluatedTest
		if i < len(res.Tests) {
			ended := res.Tests[i].Result
			ended.Compile = res.Compile
			one = evaluatedTest{Exec: tell(ended, of, nil), Info: t.info}
			one.Passed = one.Exec.Status == success && (q.calls != "" || sameLines(*one.Exec.RunResult.Stdout, t.stdout))
		} else { // it did not compile
			one = evaluatedTest{Exec: tell(res, of, nil), Info: t.info}
		}

		e.Tests = append(e.Tests, one)
		if !one.Passed {
			e.Accepted = false
			if !q.all {
				break
			}
		}
	}
	return e
}

// sameLines compares as the original does: as many lines as both have, without the space around them and in lower case,
// or as numbers that differ by less than one in 100,000.
func sameLines(got, want string) bool {
	lines, expected := strings.Split(strip(got), "\n"), strings.Split(strip(want), "\n")
	for i := range min(len(lines), len(expected)) {
		g, w := strip(strings.ToLower(lines[i])), strip(strings.ToLower(expected[i]))
		if g == w {
			continue
		}
		gf, isNumber := float(g)
		wf, wasNumber := float(w)
		if !isNumber || !wasNumber || !(math.Abs(gf-wf)/max(math.Abs(wf), 1e-10) < 1e-5) {
			return false
		}
	}
	return true
}

func strip(s string) string {
	return strings.Trim(s, " \t\n\r\v\f\x1c\x1d\x1e\x1f\u0085\u00a0\u2028\u2029\u3000")
}

var numberText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[+-]?((\d(_?\d)*)?\.?(\d(_?\d)*)?(e[+-]?\d(_?\d)*)?|inf|infinity|nan)$`)
})

// float reads a number as Python's float does, in lower case.
func float(s string) (float64, bool) {
	if !numberText().MatchString(s) {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return v, err == nil || math.IsInf(v, 0)
}
