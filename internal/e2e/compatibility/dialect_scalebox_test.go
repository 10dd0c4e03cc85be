package compatibility

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A client of ScaleBox that is pointed at brig gets its evaluations.
func TestScaleBox(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	harness.Images.Load(t, a, "cpp")
	s := harness.StartService(t, a, "--dialect", "sandboxfusion")

	type object = map[string]any
	add := "```python\ndef add(a, b):\n    return a + b\n```"
	sum := "```python\na, b = map(int, input().split())\nprint(a + b)\n```"
	cpp := "```cpp\n#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }\n```"
	method := "class Solution:\n    def matrixSum(self, nums: List[List[int]], n: int = 1, s: str = '') -> int:\n" +
		"        for row in nums:\n            row.sort(reverse=True)\n        return sum(max(col) for col in zip(*nums))"
	stdio := object{"type": "stdin_stdout", "input": []string{"1 2", "3 4"}, "output": []string{"3", "7"}, "fn_name": nil}
	wrong := object{"type": "stdin_stdout", "input": []string{"1 2", "3 4"}, "output": []string{"4", "7"}}
	calls := object{"type": "function_call", "fn_name": "add", "input": []any{[]int{1, 2}, []string{"a", "b"}},
		"output": []any{[]int{3}, []string{"x"}}}
	lines := object{"type": "function_call", "fn_name": "matrixSum", "json_input": true, "output": []string{"15", "1"},
		"input": []string{"[[7, 2, 1], [6, 4, 2], [6, 5, 3], [3, 2, 1]]\n1\n\"abc\"", "[[1]]\n2\n\"'''\""}}
	single := []object{{"type": "function_call", "input": []int{1, 2}, "output": []int{3}, "fn_name": "add"},
		{"type": "function_call", "input": []int{3, 4}, "output": []int{7}, "fn_name": "add"}}
	long := harness.Slow(20 * time.Second).Seconds()

	for _, tt := range []struct {
		name, path, completion, language string
		tests                            any
		accepted                         bool
		passed                           []bool
	}{
		{"stdio", "/common_evaluate_batch", sum, "python", stdio, true, []bool{true, true}},
		{"a wrong answer", "/common_evaluate_batch", sum, "python", wrong, false, []bool{false, true}},
		{"C++", "/common_evaluate_batch", cpp, "cpp", stdio, true, []bool{true, true}},
		{"C++ that does not compile", "/common_evaluate_batch", "```cpp\nint x(\n```", "cpp", stdio, false, []bool{false, false}},
		{"calls", "/common_evaluate_batch", add, "python", calls, false, []bool{true, false}},
		{"a method, and JSON", "/common_evaluate_batch", method, "python", lines, true, []bool{true, true}},
		{"tests one by one", "/common_evaluate", add, "python", single, true, []bool{true, true}},
	} {
		body, err := json.Marshal(object{"completion": tt.completion, "config": object{"language": tt.language, "run_timeout": long,
			"compile_timeout": long, "provided_data": object{"test_cases": tt.tests}, "extra": object{"run_all_cases": true}}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.Post(s.Url+"/sandboxfusion"+tt.path, "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}

		var got struct {
			Accepted bool
			Tests    []struct {
				Passed bool
				Exec   ranCode `json:"exec_info"`
			}
		}
		err = json.NewDecoder(res.Body).Decode(&got)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 || got.Accepted != tt.accepted || len(got.Tests) != len(tt.passed) {
			t.Errorf("%s: %d, %v: %+v", tt.name, res.StatusCode, err, got)
			continue
		}
		for i, passed := range tt.passed {
			if one := got.Tests[i]; one.Passed != passed {
				t.Errorf("%s: test %d: %s %s, %+v", tt.name, i, one.Exec.Compile.said(), one.Exec.Run.said(), one.Exec.Run)
			}
		}
	}
}
