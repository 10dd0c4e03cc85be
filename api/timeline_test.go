package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

func TestTimelineRequests(t *testing.T) {
	for _, tt := range []struct{ json, refusal string }{
		{`{}`, ""},
		{`{"every": "5ms"}`, ""},
		{`{"every": "1m"}`, ""},
		{`{"every": "4999us"}`, "timeline.every is 4.999ms: must be between 5ms and 1m"},
		{`{"every": "61s"}`, "timeline.every is 1m1s: must be between 5ms and 1m"},
		{`{"every": "-5ms"}`, "must be positive"},
		{`{"every": "0s"}`, "must be positive"},
		{`{"every": 20}`, "timeline.every"},
		{`{"every": "20"}`, "has no unit"},
		{`{"every": "often"}`, "timeline.every"},
		{`{"evry": "20ms"}`, "evry"},
		{`true`, "timeline"},
		{`"20ms"`, "timeline"},
		{`["20ms"]`, "timeline"},
	} {
		run, err := decode.Run([]byte(`{"image": "tiny", "argv": ["true"], "timeline": ` + tt.json + `}`))
		if err == nil {
			err = run.Validate()
		}

		exec, eerr := decode.Value[api.Exec]([]byte(`{"argv": ["true"], "timeline": `+tt.json+`}`), "exec")
		if eerr == nil {
			eerr = exec.Validate()
		}

		for _, err := range []error{err, eerr} {
			switch {
			case tt.refusal == "" && err != nil:
				t.Errorf("%s: %v; want it accepted", tt.json, err)
			case tt.refusal != "" && (!api.HasCode(err, api.CodeBadRequest) || !strings.Contains(err.Error(), tt.refusal)):
				t.Errorf("%s: %v; want bad-request with %q", tt.json, err, tt.refusal)
			}
		}
	}
}

func TestTestsHaveNoTimeline(t *testing.T) {
	r := api.Run{Image: "tiny", Argv: []string{"true"}, Tests: []api.Test{{ID: "1"}}, Timeline: &api.TimelineRequest{}}
	if err := r.Validate(); !api.HasCode(err, api.CodeBadRequest) || !strings.Contains(err.Error(), "timeline and tests are both set") {
		t.Errorf("%v; want a refusal that names both", err)
	}
}

func TestTimelineInterval(t *testing.T) {
	if got := (api.TimelineRequest{}).Interval(); got != 20*time.Millisecond {
		t.Errorf("%v; want 20ms", got)
	}
	if got := (api.TimelineRequest{Every: api.Duration(time.Second)}).Interval(); got != time.Second {
		t.Errorf("%v; want 1s", got)
	}
}
