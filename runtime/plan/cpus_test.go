package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestProcessorLists(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0-2,5\n": {0, 1, 2, 5}} {
		if got, err := ParseCPUs(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", list, got, err, want)
		}
	}
	for _, bad := range []string{"", "a", "2-1", "-1", "0-99999999", "1,,2", strings.Repeat("9", 30)} {
		if got, err := ParseCPUs(bad); err == nil {
			t.Errorf("%q: accepted as %v", bad, got)
		}
	}
}

// CPU-13: only root may name any processor; others may name those that the operator lists.
func TestOnlyRootNamesProcessors(t *testing.T) {
	for _, tt := range []struct {
		listed, asked string
		uid           uint32
		ok            bool
	}{
		{"", "", 1000, true},
		{"", "0", 0, true},
		{"", "0", 1000, false},
		{"0-1", "1", 1000, true},
		{"0-1", "0,2", 1000, false},
		{"0-1", "nonsense", 1000, false},
	} {
		pl := &Planner{Ceiling: api.Limits{Cpuset: tt.listed}}
		l := api.Limits{Cpuset: tt.asked}
		for name, r := range map[string]api.Run{
			"run": {Limits: l}, "compile stage": {CompileLimits: l}, "test": {Tests: []api.Test{{}, {Limits: l}}},
		} {
			err := pl.checkCpusetsAllowed(r, api.Caller{UID: tt.uid})
			var e *api.Error
			if (err == nil) != tt.ok || err != nil && (!errors.As(err, &e) || e.Code != api.CodeAboveCeiling && e.Code != api.CodeBadLimits) {
				t.Errorf("uid %d asks for %q of %q in a %s: %v", tt.uid, tt.asked, tt.listed, name, err)
			}
		}
	}
}
