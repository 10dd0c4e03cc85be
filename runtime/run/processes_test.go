package run

import (
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// Of several processes the first that failed decides, wherever it is in the list, and the sum of their times is
// the program's.
func TestProcessesMakeOneResult(t *testing.T) {
	const ms = int64(time.Millisecond)
	type process struct {
		verdict api.Verdict
		at, cpu int64
		memory  int64
	}

	for _, tt := range []struct {
		name             string
		of               []process
		verdict          api.Verdict
		at, cpu, memory  int64
		limitsHit, known bool
	}{
		{"one", []process{{api.Nonzero, 5, 700 * ms, 9}}, api.Nonzero, 5, 700 * ms, 9, false, true},
		{"all well: the last end", []process{{api.OK, 5, 300 * ms, 9}, {api.OK, 7, 200 * ms, 4}, {api.OK, 6, 100 * ms, 2}}, api.OK, 7,
			600 * ms, 9, false, true},
		{"together too slow", []process{{api.OK, 5, 600 * ms, 9}, {api.OK, 7, 500 * ms, 4}}, api.CPULimit, 7, 1100 * ms, 9, true, true},
		{"the first that failed", []process{{api.OK, 9, 600 * ms, 9}, {api.Signaled, 8, 500 * ms, 4}, {api.Nonzero, 3, 0, 1}}, api.Nonzero, 3,
			1100 * ms, 9, false, true},
		{"a failure that has no time is the last", []process{{api.Signaled, 0, 0, 1}, {api.WallLimit, 8, 0, 1}},
			api.WallLimit, 8, 0, 1, false, true},
		{"an unknown time", []process{{api.OK, 5, -1, 9}, {api.OK, 7, 2000 * ms, 4}}, api.OK, 7, 0, 9, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ends []ending
			var at []*programEnd
			for _, p := range tt.of {
				u := api.Usage{CPU: api.Known(p.cpu, "x"), Memory: api.Known(p.memory, "x")}
				if p.cpu < 0 {
					u.CPU = api.Unknown("x")
				}
				ends = append(ends, ending{res: api.Result{Verdict: p.verdict, LimitsHit: []string{}, Usage: u}})
				at = append(at, &programEnd{at: time.Duration(p.at)})
			}

			res, decisive := processes(ends, at, api.Limits{CPU: api.Duration(1000 * ms)})
			if res.Verdict != tt.verdict || int64(decisive.at) != tt.at || (len(res.LimitsHit) > 0) != tt.limitsHit {
				t.Errorf("%s at %d, limits %v; want %s at %d", res.Verdict, decisive.at, res.LimitsHit, tt.verdict, tt.at)
			}
			if *res.Usage.Memory.Value != tt.memory || (res.Usage.CPU.Value != nil) != tt.known || tt.known && *res.Usage.CPU.Value != tt.cpu {
				t.Errorf("memory %v, cpu %v; want %d, %d", *res.Usage.Memory.Value, res.Usage.CPU.Value, tt.memory, tt.cpu)
			}
		})
	}
}

// The usage of several processes is reported as that of one program.
func TestSumOfUsage(t *testing.T) {
	var got api.LiveUsage
	of := sumOfUsage(func(u api.LiveUsage) { got = u }, 2)
	of(0)(api.LiveUsage{CPU: api.Known(3, ""), Memory: api.Known(10, "")})
	of(1)(api.LiveUsage{CPU: api.Known(4, ""), Memory: api.Known(5, ""), StdoutBytes: 2})
	if *got.CPU.Value != 7 || *got.Memory.Value != 10 || got.StdoutBytes != 2 {
		t.Errorf("%+v", got)
	}
	if sumOfUsage(nil, 2)(1) != nil {
		t.Error("a report to nobody")
	}
}
