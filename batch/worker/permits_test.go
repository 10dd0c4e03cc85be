package worker

import (
	"encoding/json"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

// BAT-01: a line of jobs has the rights that the command line gives it, also if root runs brig.
func TestJobsHaveTheRightsThatWereGiven(t *testing.T) {
	const index = "http://127.0.0.1:18305/simple"
	for name, tt := range map[string]struct {
		permits Permits
		run     api.Run
		want    bool
	}{
		"nothing":              {Permits{Network: "none"}, api.Run{}, true},
		"loopback, by default": {Permits{Network: "loopback"}, api.Run{Network: "loopback"}, true},
		"loopback":             {Permits{Network: "none"}, api.Run{Network: "loopback"}, false},
		"allow":                {Permits{Network: "loopback"}, api.Run{Network: "allow", Allow: []string{"127.0.0.1:18305"}}, false},
		"allow, permitted":     {Permits{Network: "allow"}, api.Run{Network: "allow"}, true},
		"public":               {Permits{Network: "allow"}, api.Run{Network: "public"}, false},
		"packages":             {Permits{Network: "public"}, api.Run{Requirements: []string{"x"}}, false},
		"packages, permitted":  {Permits{Packages: true}, api.Run{Requirements: []string{"x"}}, true},
		"an index":             {Permits{Packages: true}, api.Run{Requirements: []string{"x"}, Index: index}, false},
		"an index, permitted": {Permits{Packages: true, Indexes: []string{index}},
			api.Run{Requirements: []string{"x"}, Index: index}, true},
		"an index without packages": {Permits{}, api.Run{Index: index}, false},
	} {
		if tt.permits.Network == "" {
			tt.permits.Network = api.NetworkLoopback
		}
		if err := tt.permits.Refuse(tt.run); (err == nil) != tt.want || err != nil && !api.HasCode(err, api.CodeForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}

	for name, r := range map[string]api.Run{
		"profile_mode":      {ProfileMode: api.Log},
		"profile_rules":     {ProfileRules: json.RawMessage("{}")},
		"cpuset":            {Limits: api.Limits{Cpuset: "0"}},
		"cpuset of compile": {CompileLimits: api.Limits{Cpuset: "0"}},
	} {
		if err := batch.RefuseHost(r); !api.HasCode(err, api.CodeForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if err := batch.RefuseHost(api.Run{ProfileMode: api.Enforce, Profile: "strict", Limits: api.Limits{Memory: api.MiB}}); err != nil {
		t.Error(err)
	}
}
