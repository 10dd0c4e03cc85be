package api_test

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// All contents of a value differ here, so that a swap of two contents is noticed.
func FuzzEncode(f *testing.F) {
	for _, seed := range []string{"", "a", "line\n", "<&>\"\\", "\x00", "\xff", "€\u2028\u2029", "😀", "\xe2\x80", "\xf0\x9f\x98"} {
		f.Add([]byte(seed), []byte("b"), uint16(60_001))
		f.Add([]byte("plain text, and then "), []byte(seed), uint16(3000))
	}

	f.Fuzz(func(t *testing.T, often, once []byte, times uint16) {
		n := 0
		content := func() api.Bytes {
			maximum := 4 << 10
			if n++; n%16 == int(times)%16 { // some are large, or base64 if that is shorter
				maximum = 80 << 10
			}
			some := bytes.Repeat(often, min(int(times), maximum/max(len(often), 1)))
			return append(append([]byte(strconv.Itoa(n)), some...), once...)
		}

		text := func() *string { s := string(content()); return &s }
		result := func() api.Result {
			return api.Result{
				Stdout: content(), Stderr: content(), Files: []api.File{{Name: "a", Content: content()}, {Name: "b", Content: content()}},
				Compile: &api.Compilation{Stdout: content(), Stderr: content()},
			}
		}

		whole := result()
		for range 2 {
			one := result()
			one.Tests = []api.TestResult{{ID: "inner", Result: result()}}
			whole.Tests = append(whole.Tests, api.TestResult{ID: "1", Difference: string(once), Output: content(), Result: one})
		}

		whole.Diagnosis, whole.Findings = &api.Diagnosis{Message: string(once)}, []api.Finding{{Message: string(once)}}
		same(t, "result", whole)
		same(t, "status", api.Status{Result: &whole})
		same(t, "test", whole.Tests[0])
		same(t, "executed", api.Executed{
			Status: string(once), Result: text(), Value: text(), Error: text(), Stdout: *text(), Stderr: *text(),
			Files: map[string]api.FileValue{"b": api.FileValue(content()), "a": api.FileValue(content()), string(once): api.FileValue(content())},
		})
	})
}
