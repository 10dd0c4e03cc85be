package plan

import (
	"reflect"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/seccomp"
)

// The policy that the agent makes while it starts is the one that a run with no wishes would get, and no other run's.
func TestOnlyARunWithoutWishesHasTheDefaultPolicy(t *testing.T) {
	shared, err := DefaultPolicy()
	if err != nil {
		t.Fatal(err)
	}
	tier, err := seccomp.Tier(DefaultTier)
	if err != nil || !reflect.DeepEqual(shared, NewPolicy(tier, api.Enforce, false)) {
		t.Errorf("the default policy is not that of the tier %s: %v", DefaultTier, err)
	}

	own := tier
	own.Default = seccomp.Allow()
	root := api.Caller{}
	for _, tt := range []struct {
		name     string
		profiles map[string]seccomp.Profile
		run      api.Run
		tier     string
		want     bool
	}{
		{"no wishes", nil, api.Run{}, "", true},
		{"by name", nil, api.Run{Profile: DefaultTier}, "strict", true},
		{"the language's tier", nil, api.Run{}, DefaultTier, true},
		{"another profile", nil, api.Run{Profile: "strict"}, "", false},
		{"another tier of the language", nil, api.Run{}, "strict", false},
		{"the network", nil, api.Run{Network: api.NetworkPublic}, "", false},
		{"mode log", nil, api.Run{ProfileMode: api.Log}, "", false},
		{"a writable root", nil, api.Run{WritableRoot: true}, "", false},
		{"a terminal", nil, api.Run{TTY: &api.TTY{}}, "", false},
		{"the operator's profile of that name", map[string]seccomp.Profile{DefaultTier: own}, api.Run{}, "", false},
	} {
		pl := &Planner{Profiles: tt.profiles}
		got, err := pl.policy(tt.run, tt.tier, root)
		if err != nil || (got == shared) != tt.want {
			t.Errorf("%s: %v; the default policy: %v, want %v", tt.name, err, got == shared, tt.want)
		}
	}
}
