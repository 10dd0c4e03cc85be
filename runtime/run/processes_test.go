package run

import (
	"errors"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/judge"
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
		{"all well: the last end", []process{{api.OK, 5, 300 * ms, 9}, {api.OK, 7, 200 * ms, 4}, {api.OK, 6, 100 * ms, 2}}, api.OK, 7, 600 * ms, 9, false, true},
		{"together too slow", []process{{api.OK, 5, 600 * ms, 9}, {api.OK, 7, 500 * ms, 4}}, api.CPULimit, 7, 1100 * ms, 9, true, true},
		{"the first that failed", []process{{api.OK, 9, 600 * ms, 9}, {api.Signaled, 8, 500 * ms, 4}, {api.Nonzero, 3, 0, 1}}, api.Nonzero, 3, 1100 * ms, 9, false, true},
		{"a failure that has no time is the last", []process{{api.Signaled, 0, 0, 1}, {api.WallLimit, 8, 0, 1}}, api.WallLimit, 8, 0, 1, false, true},
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

// An interactor that met a limit after the program had met one was cut off, whichever limits these are, and the
// program's counts. In every other case the interactor decides, or failed.
func TestCut(t *testing.T) {
	verdicts := []api.Verdict{api.OK, api.Canceled, api.MemoryLimit, api.Denied, api.CPULimit, api.WallLimit, api.OutputLimit, api.Signaled, api.Nonzero}
	excuses := map[api.Verdict]bool{api.MemoryLimit: true, api.Denied: true, api.CPULimit: true, api.WallLimit: true, api.OutputLimit: true}
	ends := map[api.Verdict]bool{api.MemoryLimit: true, api.CPULimit: true, api.WallLimit: true, api.OutputLimit: true}
	broken := errors.New("no word of the protocol")
	for _, program := range verdicts {
		for _, interactor := range verdicts {
			for _, first := range []api.First{api.FirstProgram, api.FirstInteractor} {
				at := []*programEnd{{at: 5}, {at: 7}}
				if first == api.FirstInteractor {
					at = []*programEnd{{at: 7}, {at: 5}}
				}
				both := []ending{{res: api.Result{Verdict: program}}, {res: api.Result{Verdict: interactor}}}
				got := cut(both, at, program, at[0])
				want := first == api.FirstProgram && excuses[program] && ends[interactor]
				if got != want {
					t.Errorf("%s, and the interactor %s, %s first: cut %v", program, interactor, first, got)
				}
				if !ends[interactor] && interactor != api.Denied && interactor != api.Signaled {
					continue
				}
				v, _, err := judge.Ended{Program: program, ProgramAt: at[0].at, InteractorAt: at[1].at, Cut: got}.Judge(judge.Word{}, broken)
				if failed := !want && program != api.Canceled; v != program || (err != nil) != failed {
					t.Errorf("%s, and the interactor %s, %s first: %s, %v; want failed %v", program, interactor, first, v, err, failed)
				}
			}
		}
	}
	for _, tt := range []struct {
		name       string
		programs   []api.Verdict
		at         []time.Duration // the interactor's is 5
		program    api.Verdict     // of all together
		interactor api.Verdict
		decides    int
		want       bool
	}{
		{"a crash, and then a limit of another one", []api.Verdict{api.Signaled, api.CPULimit}, []time.Duration{1, 2}, api.Signaled, api.WallLimit, 0, true},
		{"a crash, and a limit after the interactor's", []api.Verdict{api.Signaled, api.CPULimit}, []time.Duration{1, 6}, api.Signaled, api.WallLimit, 0, false},
		{"together too slow", []api.Verdict{api.OK, api.OK}, []time.Duration{1, 2}, api.CPULimit, api.CPULimit, 1, true},
		{"together too slow at last", []api.Verdict{api.OK, api.OK}, []time.Duration{1, 6}, api.CPULimit, api.CPULimit, 1, false},
		{"all well", []api.Verdict{api.OK, api.OK}, []time.Duration{1, 2}, api.OK, api.WallLimit, 1, false},
		{"a limit, and a word", []api.Verdict{api.CPULimit, api.OK}, []time.Duration{1, 2}, api.CPULimit, api.Nonzero, 0, false},
	} {
		var all []ending
		var at []*programEnd
		for k, v := range tt.programs {
			all, at = append(all, ending{res: api.Result{Verdict: v}}), append(at, &programEnd{at: tt.at[k]})
		}
		all, at = append(all, ending{res: api.Result{Verdict: tt.interactor}}), append(at, &programEnd{at: 5})
		if got := cut(all, at, tt.program, at[tt.decides]); got != tt.want {
			t.Errorf("%s: cut %v", tt.name, got)
		}
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
