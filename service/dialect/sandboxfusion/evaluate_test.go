package sandboxfusion

import (
	"encoding/json"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
)

// The program is found in the text of a model as the original finds it.
func TestExtract(t *testing.T) {
	for _, tt := range []struct{ text, language, want string }{
		{"a\n```python\nx = 1\n```\nb", "python", "x = 1"},
		{"```cpp\nint\n```\n```py\nx\n```", "python", "x"},
		{"```cpp\nint\n```\n```java\nx\n```", "python", "int"},
		{"```\nx\n\ny\n  ```", "go", "x\n\ny"},
		{"```python\nx = 1\n", "python", "x = 1\n"},
		{"text\n\nimport re\n\ndef f():\n    return 1\n\ntext\n", "python", "import re\ndef f():\n    return 1\n"},
		{"ls\n\nls -l", "bash", "ls\nls -l\n"},
		{"just text", "python", ""}, {"", "cpp", ""}, {"int main() {}", "cpp", ""},
	} {
		if got := extract(tt.text, tt.language); got != tt.want {
			t.Errorf("%q, %s: %q; want %q", tt.text, tt.language, got, tt.want)
		}
	}
}

// Output is compared as the original compares it, also where that is lenient.
func TestSameLines(t *testing.T) {
	for _, tt := range []struct {
		got, want string
		same      bool
	}{
		{"3\n", "3", true}, {"Yes", "YES\n", true}, {" a \n b", "a\nb", true}, {"a", "b", false}, {"", "1", false},
		{"1.000001", "1", true}, {"1.0001", "1", false}, {"0", "0.0", true}, {"1e3", "1000", true}, {"0x10", "16", false},
		{"1_0", "10", true}, {"nan", "nan", true}, {"nan", "1", false}, {"inf", "1", false}, {"1", "0", false}, {".", "0", false},
		{"a\nb\nc", "a\nb", true}, {"a", "a\nb", true}, // the original leaves out what only one has
	} {
		if got := sameLines(tt.got, tt.want); got != tt.same {
			t.Errorf("%q and %q: %v", tt.got, tt.want, got)
		}
	}
}

// Every request gets a plan that is an answer, or a run that brig accepts as valid.
func FuzzEvaluate(f *testing.F) {
	for _, body := range []string{
		`{"completion":"x","config":{"language":"js","provided_data":{"test_cases":[{"input":"1","output":"1"}]}},"id":1}`,
		`{"completion":"x","config":{"language":"python","provided_data":{"test_cases":{"fn_name":"f","input":["1\n2"],"output":["3"],"json_input":true}}}}`,
		`{"completion":"x","config":{"language":"python","provided_data":{"test_cases":[{"fn_name":"f","input":[],"output":[null]}]},"extra":{"run_all_cases":"yes"}}}`,
		`{"completion":1,"config":[]}`, `{"config":{"extra":null,"provided_data":null,"run_timeout":1e-9}}`, `null`, "\xff",
	} {
		f.Add([]byte(body), true)
		f.Add([]byte(body), false)
	}

	on := dialecttest.StandardAgent()
	f.Fuzz(func(t *testing.T, body []byte, batch bool) {
		p := planEvaluate(batch)(dialect.Request{Body: body}, on)
		if p.Answer != nil {
			if !json.Valid(p.Answer.Body) || p.Answer.Status == 200 {
				t.Fatalf("%q is answered with %d %s", body, p.Answer.Status, p.Answer.Body)
			}
			return
		}

		run := p.Runs[0]
		if err := run.Validate(); err != nil && !api.HasCode(err, api.CodeTooLarge) {
			t.Fatalf("%q is not valid: %v", body, err)
		}
		res := api.Result{Verdict: api.OK, Stage: api.StageRun}
		for _, one := range run.Tests {
			res.Tests = append(res.Tests, api.TestResult{ID: one.ID, Result: api.Result{Verdict: api.OK, Stage: api.StageRun}})
		}
		if told := p.Tell([]api.Result{res}); told.Status != 200 || !json.Valid(told.Body) {
			t.Fatalf("%q is told as %d %s", body, told.Status, told.Body)
		}
	})
}
