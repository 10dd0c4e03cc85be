package codejudge

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
)

func TestExchanges(t *testing.T) { dialecttest.Golden(t, Dialect, 14) }

// Every request gets an answer, or a batch of runs that brig accepts as valid, whose results are JSON, in their order.
func FuzzBatch(f *testing.F) {
	for _, body := range []string{
		`{"type":"batch","submissions":[{"type":"python","solution":"x","input":null},{"type":"math","solution":""}]}`,
		`{"submissions":[{"type":"cpp","solution":"\ud800","expected_output":"","options":{"a":1}}],"sub_id":7}`,
		`{"submissions":[[],null,1,{"type":[]}]}`, `{"submissions":{}}`, `{"submissions":[]}`, `[]`, ``, "\xff", `{"a":1,"a":""`,
	} {
		f.Add([]byte(body))
	}

	on := dialecttest.StandardAgent()
	plan := planBatch(wholeResult, longWait)
	f.Fuzz(func(t *testing.T, body []byte) {
		p := plan(dialect.Request{Body: body, Nonce: "n"}, on)
		if p.Answer != nil {
			if !json.Valid(p.Answer.Body) || p.Answer.Status == 200 {
				t.Fatalf("%q is answered with %d %s", body, p.Answer.Status, p.Answer.Body)
			}
			return
		}

		parts := make([][]byte, len(p.Batch.Runs))
		for i, run := range p.Batch.Runs {
			if err := run.Validate(); err != nil && !api.HasCode(err, api.CodeTooLarge) {
				t.Fatalf("%q is not valid: %v", body, err)
			}
			parts[i] = p.Batch.Part(i, dialect.Outcome{Result: api.Result{Verdict: api.OK, Stdout: api.Bytes("\xff<")}})
		}

		var told struct{ Results []result }
		if r := p.Batch.Tell(parts); r.Status != 200 || json.Unmarshal(r.Body, &told) != nil || len(told.Results) < len(parts) {
			t.Fatalf("%q is told as %d %s", body, r.Status, r.Body)
		}
	})
}

// What is expected is compared without the space around it, and the whole of it: a result has only its beginning.
func TestComparison(t *testing.T) {
	long := strings.Repeat("é", maxTold)
	for _, tt := range []struct {
		out, expected string
		success       bool
	}{
		{"a\n", "a", true}, {" a", "a\x1c\u00a0", true}, {"a b", "ab", false}, {"A", "a", false}, {"", "", true},
		{long + "x", long + "x\n", true}, {long + "x", long + "y", false},
	} {
		var got result
		raw := tell(submission{id: "i", expected: &tt.expected}, wholeResult, api.Result{Verdict: api.OK, Stdout: api.Bytes(tt.out)})
		if err := json.Unmarshal(raw, &got); err != nil || got.Success != tt.success || !got.RunSuccess {
			t.Errorf("%.20q, %.20q: %s, %v", tt.out, tt.expected, raw, err)
		}
		if n := len([]rune(*got.Stdout)); n > maxTold {
			t.Errorf("%d characters", n)
		}
	}
}

// New ids look as those of the original, and nobody who does not know the nonce can say one.
func TestIDs(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for _, nonce := range []string{"a", "b"} {
		for i := -1; i < 10; i++ {
			id := newID(nonce, i)
			if seen[id] || !form.MatchString(id) {
				t.Errorf("%s", id)
			}
			seen[id] = true
		}
	}
}
