package runs

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/history"
)

// A result is restored from the history as it was kept, whatever it contains: the record's own
// streams and summary take precedence, and the error for an unreadable record does not contain its
// text.
func FuzzResultOf(f *testing.F) {
	whole, err := json.Marshal(api.Result{Run: "r", Verdict: api.Nonzero, ExitCode: 3, LimitsHit: []string{"wall"},
		Usage: api.Usage{CPU: api.Known(7, "x")},
		Tests: []api.TestResult{{ID: "a", Answer: api.Accepted, Result: api.Result{Verdict: api.OK, Stdout: api.Bytes("\xff")}}}})
	if err != nil {
		f.Fatal(err)
	}

	for _, detail := range []string{string(whole), "null", "{}", `{"stdout":"theirs","summary":{"tests":7}}`,
		`{"tests":[null],"compile":null}`, `{"exit_code":"x"}`, "{", "\xff"} {
		f.Add([]byte(detail), "out", []byte("\xffe"), true)
	}

	f.Add([]byte(nil), "", []byte(nil), false)
	f.Fuzz(func(t *testing.T, detail []byte, stdout string, stderr []byte, judged bool) {
		rec := api.Record{ID: "r", Verdict: api.OK, Detail: detail, Stdout: api.Bytes(stdout), Stderr: stderr, StderrTruncated: judged}
		if judged {
			rec.Summary = &api.Summary{Tests: 2, Accepted: 1}
		}

		res, err := resultOf(rec)
		if err != nil {
			if p, ours := core.ProblemFor(err); !ours || p.Code != api.CodeInternal || strings.Contains(p.Detail, err.Error()) {
				t.Fatalf("%q is reported as %+v", detail, p)
			}
			return
		}
		if string(res.Stdout) != stdout || string(res.Stderr) != string(stderr) || res.StdoutTruncated || res.StderrTruncated != judged ||
			judged && !reflect.DeepEqual(res.Summary, rec.Summary) {
			t.Fatalf("with the detail %q it is given back with %q, %t, %q, %t and %+v", detail, res.Stdout, res.StdoutTruncated, res.Stderr,
				res.StderrTruncated, res.Summary)
		}

		kept := history.NewRecord(*res)
		if kept.Detail == nil {
			return // too large: the history says so
		}

		kept.ID, kept.Verdict = rec.ID, rec.Verdict
		again, err := resultOf(kept)
		if err != nil {
			t.Fatalf("%q is kept as %q: %v", detail, kept.Detail, err)
		}
		if twice := history.NewRecord(*again); string(twice.Detail) != string(kept.Detail) {
			t.Fatalf("%q is kept as %q, and then as %q", detail, kept.Detail, twice.Detail)
		}
	})
}
