package service

import (
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestGatewayCheck(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	s := harness.StartService(t, a)
	rules := func(all []api.Finding) (rules []string) {
		for _, f := range all {
			rules = append(rules, f.Rule)
		}
		return rules
	}

	const bad = "import os as o\nif False: o.system('id')\nprint('ran')\n"
	var found api.Checked
	s.Call("POST", "/v1/check", api.CheckRequest{Language: "py", Source: api.Bytes(bad)}, 200, &found)
	if len(found.Findings) != 1 || found.Findings[0].Line != 2 {
		t.Errorf("found %+v", found)
	}

	rule := rules(found.Findings)
	s.Call("POST", "/v1/check", api.CheckRequest{Language: "python", Source: api.Bytes("print(1)")}, 200, &found)
	if found.Findings == nil || len(found.Findings) != 0 || found.Refused {
		t.Errorf("found in a harmless program: %+v", found)
	}

	s.Call("POST", "/v1/check", api.CheckRequest{Language: "python", Source: api.Bytes("def f(:")}, 200, &found)
	if len(found.Findings) != 1 || !found.Refused {
		t.Errorf("found in no program: %+v", found)
	}
	if n := len(harness.Pages[struct{}](s, "/v1/history?limit=10")); n != 0 {
		t.Errorf("%d checks are in the history, which is of runs", n)
	}

	run := harness.Py(bad)
	var res api.Result
	s.Call("POST", "/v1/runs", run, 200, &res)
	if res.Findings != nil || string(res.Stdout) != "ran\n" {
		t.Errorf("without a check: %+v", res.Findings)
	}

	s.Call("POST", "/v1/runs?check=warn", run, 200, &res)
	if !slices.Equal(rules(res.Findings), rule) || string(res.Stdout) != "ran\n" {
		t.Errorf("warned of %+v, stdout %q", res.Findings, res.Stdout)
	}

	var p api.Problem
	s.Call("POST", "/v1/runs?check=enforce", run, 422, &p)
	if p.Code != api.CodeCheckRefused || !slices.Equal(rules(p.Findings), rule) {
		t.Errorf("enforced: %+v", p)
	}

	var simple api.Executed
	s.Call("POST", "/execute?check=warn", api.Execute{Code: new(bad)}, 200, &simple)
	if !slices.Equal(rules(simple.Findings), rule) || simple.Result == nil || *simple.Result != "ran" {
		t.Errorf("simply: %+v", simple)
	}

	s.Refused("POST", "/v1/runs?check=perhaps", run, 400, api.CodeBadRequest)
	s.Refused("POST", "/v1/check", `{"language":"cobol","source":"x"}`, 404, api.CodeNoLanguage)
	s.Refused("POST", "/v1/check", `{"language":"python"}`, 400, api.CodeBadRequest)
}
