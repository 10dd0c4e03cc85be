package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
)

func TestSelfchecksDetectBrokenIsolation(t *testing.T) {
	out := func(v api.Verdict, text string) api.Result { return api.Result{Verdict: v, Stdout: api.Bytes(text)} }
	const caps = "CapInh:\t0000\nCapPrm:\t0000\nCapEff:\t0000\nCapBnd:\t0000\nCapAmb:\t0000\n"
	for _, tt := range []struct {
		name, id string
		step     int
		res      api.Result
		holds    bool
	}{
		{"an id of its own range", "identity", 0, out(api.OK, "1000 1000 1000\n0 1073741824\n"), true},
		{"root inside", "identity", 0, out(api.OK, "0 0 0\n0 1073741824\n"), false},
		{"another group", "identity", 0, out(api.OK, "1000 1000 1000 4\n0 1073741824\n"), false},
		{"root on the host", "identity", 0, out(api.OK, "1000 1000 1000\n0 0\n"), false},
		{"no map at all", "identity", 0, out(api.OK, "1000 1000 1000\n\n"), false},
		{"five empty sets", "capabilities", 0, out(api.OK, caps), true},
		{"one capability", "capabilities", 0, out(api.OK, "CapInh:\t0000\nCapPrm:\t0000\nCapEff:\t0001\n"+
			"CapBnd:\t0000\nCapAmb:\t0000\n"), false},
		{"nothing read", "capabilities", 0, out(api.OK, ""), false},
		{"filter and no new privileges", "privileges", 0, out(api.OK, "NoNewPrivs:1\nSeccomp:2\n"), true},
		{"no filter", "privileges", 0, out(api.OK, "NoNewPrivs:1\nSeccomp:0\n"), false},
		{"loopback alone", "network", 0, out(api.OK, "1\n"), true},
		{"a second device", "network", 0, out(api.OK, "2\n"), false},
		{"a server answers", "network", 0, out(api.OK, "1\nreached\n"), false},
		{"no count", "network", 0, out(api.OK, ""), false},
		{"nothing written", "root", 0, out(api.OK, ""), true},
		{"a file in /etc", "root", 0, out(api.OK, "wrote to /etc\n"), false},
		{"a shell that crashed shows nothing", "root", 0, out(api.Signaled, ""), false},
		{"up to the limit", "scratch", 0, out(api.OK, "2097152\n"), true},
		{"beyond the limit", "scratch", 0, out(api.OK, "8388608\n"), false},
		{"no scratch at all", "scratch", 0, out(api.OK, "0\n"), false},
		{"memory", "memory-limit", 0, out(api.MemoryLimit, ""), true},
		{"a kill is no memory limit", "memory-limit", 0, out(api.Signaled, ""), false},
		{"a denied call without a name", "denied", 0, out(api.Denied, ""), false},
		{"a named call", "denied", 0, api.Result{Verdict: api.Denied, Denial: &api.Denial{Syscall: "pivot_root", Rule: "default"}}, true},
		{"forks refused", "pids", 0, api.Result{LimitsHit: []string{api.HitPids}}, true},
		{"forks granted", "pids", 0, out(api.OK, ""), false},
		{"a clean box", "nothing-left", 1, out(api.OK, "looked\n"), true},
		{"a file of the run before", "nothing-left", 1, out(api.OK, "/tmp/mark\nlooked\n"), false},
		{"a process of the run before", "nothing-left", 1, out(api.OK, "/proc/7/comm:sleep\nlooked\n"), false},
	} {
		t.Run(tt.id+": "+tt.name, func(t *testing.T) {
			chosen, err := chooseChecks(selfchecks(), nil, []string{tt.id})
			if err != nil {
				t.Fatal(err)
			}
			if bad := chosen[0].steps[tt.step].judge(tt.res, nil); (bad == "") != tt.holds {
				t.Errorf("judged %q; holds should be %v", bad, tt.holds)
			}
		})
	}
}

func TestSelfcheckNamesAreUniqueAndUnknownOnesRefused(t *testing.T) {
	var ids []string
	for _, k := range selfchecks() {
		ids = append(ids, k.id)
	}
	slices.Sort(ids)
	if n := len(ids); len(slices.Compact(ids)) != n {
		t.Errorf("ids %q are not unique", ids)
	}
	if _, err := chooseChecks(selfchecks(), nil, []string{"nosuch"}); err == nil {
		t.Error("an unknown check is accepted")
	}
}

// The hostile programs that could harm a host are not among the checks, and the error for a request
// for one says why.
func TestSelftestExcludesHarmfulPrograms(t *testing.T) {
	cases := []corpus.Case{{ID: "X-01", Verdicts: []api.Verdict{api.OK}}, {ID: "X-02", Harm: "fills a disk"}}
	canaries, err := corpus.Plant()
	if err != nil {
		t.Fatal(err)
	}
	defer canaries.Close()

	all := corpusChecks(cases)
	if len(all) != 1 || all[0].id != "X-01" {
		t.Fatalf("checks %+v; want X-01 alone", all)
	}

	judge := all[0].steps[0].judge
	if bad := judge(api.Result{Verdict: api.OK}, canaries); bad != "" {
		t.Errorf("a run that held is judged %q", bad)
	}

	for _, res := range []api.Result{{Verdict: api.Nonzero}, {Verdict: api.OK, Stdout: api.Bytes(corpus.Secret)}} {
		if judge(res, canaries) == "" {
			t.Errorf("%+v is judged to hold", res)
		}
	}

	if _, err := chooseChecks(all, cases, []string{"X-02"}); err == nil || !strings.Contains(err.Error(), "fills a disk") {
		t.Errorf("asked for X-02: %v; want the reason", err)
	}
}

func TestSelftestSummary(t *testing.T) {
	ok, bad, skip := selftestResult{OK: true}, selftestResult{}, selftestResult{Skipped: true}
	for want, all := range map[string][]selftestResult{
		"0 passed, 0 failed": nil, "2 passed, 0 failed": {ok, ok}, "1 passed, 1 failed": {ok, bad},
		"1 passed, 0 failed, 2 skipped": {skip, ok, skip},
	} {
		if got := selftestSummary(all); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}
