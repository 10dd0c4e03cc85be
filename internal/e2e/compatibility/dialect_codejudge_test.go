package compatibility

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A client of code-judge that is pointed at brig gets an outcome for each submission of a batch, in their order.
func TestCodeJudge(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	harness.Images.Load(t, a, "cpp")
	s := harness.StartService(t, a, "--dialect", "code-judge")

	type result struct {
		Success bool
		Ran     bool `json:"run_success"`
		Cost    float64
		Stdout  *string
		Stderr  *string
		Reason  string
	}
	send := func(path string, body any, into any) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.Post(s.Url+"/code-judge"+path, "application/json", bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(into); res.StatusCode != 200 || err != nil {
			t.Fatalf("%d, %v", res.StatusCode, err)
		}
	}

	python, cpp := "python", "cpp"
	cases := []struct {
		name, kind, solution, input, expected string
		success, ran                          bool
		reason                                string
		err                                   string // is in stderr
	}{
		{"right", python, "print(input())", "a", "a", true, true, "", ""},
		{"wrong", python, "print(input())", "a", "b", false, true, "", ""},
		{"no input", python, "print(input())", "", "a", false, false, "", "EOFError"},
		{"C++", cpp, "#include <cstdio>\nint main() { printf(\"a\"); return 0; }", "", "a", true, true, "", ""},
		{"C++ that fails", cpp, "int main() { return 1; }", "", "", false, false, "", ""},
		{"C++ that does not compile", cpp, "int main() { x }", "", "", false, false, "", "error:"},
		{"a crash", cpp, "#include <cstdlib>\nint main() { abort(); }", "", "", false, false, "", ""},
		{"asleep", python, "import time\nprint('so far', flush=True)\ntime.sleep(1000)", "", "", false, false, "worker_timeout", ""},
		{"much memory", cpp, "static volatile char x[300 << 20];\nint main() { for (long i = 0; i < sizeof x; i += 4096) x[i] = 1; }", "", "",
			false, false, "", ""},
		{"a child", python, "import subprocess\nprint(subprocess.run(['echo', 'c'], capture_output=True, text=True).stdout)", "", "c",
			true, true, "", ""},
		{"a file", python, "open('test.txt', 'w').write('x')", "", "", true, true, "", ""},
		{"of no type that runs", "math", "", "", "", false, false, "internal_error", ""},
	}
	var all []map[string]string
	for _, tt := range cases {
		all = append(all, map[string]string{"type": tt.kind, "solution": tt.solution, "input": tt.input, "expected_output": tt.expected})
	}

	for _, path := range []string{"/run/long-batch", "/judge/long-batch"} {
		var got struct{ Results []result }
		if send(path, map[string]any{"type": "batch", "submissions": all}, &got); len(got.Results) != len(cases) {
			t.Fatalf("%d results", len(got.Results))
		}
		for i, tt := range cases {
			r := got.Results[i]
			if r.Success != tt.success || r.Ran != tt.ran || r.Reason != tt.reason {
				t.Errorf("%s: %+v", tt.name, r)
			}
			if whole := path[:4] == "/run" && tt.kind != "math"; whole != (r.Stderr != nil) || whole && !strings.Contains(*r.Stderr, tt.err) {
				t.Errorf("%s: stderr %+v", tt.name, r.Stderr)
			}
			if tt.reason == "worker_timeout" && r.Stdout != nil && *r.Stdout != "so far\nSuicide from timeout.\n" {
				t.Errorf("%s: %q", tt.name, *r.Stdout)
			}
		}
	}

	var one result
	if send("/judge", all[0], &one); !one.Success || one.Cost <= 0 || one.Stdout != nil {
		t.Errorf("%+v", one)
	}
	var status struct {
		Workers int `json:"num_workers"`
	}
	if res, err := http.Get(s.Url + "/code-judge/status"); err != nil ||
		json.NewDecoder(res.Body).Decode(&status) != nil || status.Workers < 1 {
		t.Errorf("%+v, %v", status, err)
	}

	var page api.Page[api.Record]
	if s.Call("GET", "/v1/history", nil, 200, &page); len(page.Items) != 2*(len(cases)-1)+1 {
		t.Errorf("%d runs", len(page.Items))
	}
}
