package api_test

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestGroupsListNothingTwice(t *testing.T) {
	first := api.ScoreGroup{ID: "a", Tests: []string{"1"}}
	for field, groups := range map[string][]api.ScoreGroup{
		"":         {first, {ID: "b", Tests: []string{"2"}, Requires: []string{"a"}}},
		"tests":    {{ID: "a", Tests: []string{"1", "1"}}},
		"groups":   {first, {ID: "b", Groups: []string{"a", "a"}}},
		"requires": {first, {ID: "b", Tests: []string{"2"}, Requires: []string{"a", "a"}}},
	} {
		r := api.Run{Language: "python", Source: api.Bytes("x"), Tests: []api.Test{{ID: "1"}, {ID: "2"}}, Groups: groups}
		switch err := r.Validate(); {
		case field == "" && err != nil:
			t.Error(err)
		case field != "" && (!api.HasCode(err, api.CodeBadRequest) || !strings.Contains(err.Error(), "twice in "+field)):
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A group cannot require one that is within it: whether its tests count would depend on themselves.
func TestAGroupRequiresNothingWithinIt(t *testing.T) {
	r := api.Run{Language: "python", Source: api.Bytes("x"), Tests: []api.Test{{ID: "1"}, {ID: "2"}}, Groups: []api.ScoreGroup{
		{ID: "a", Tests: []string{"1"}}, {ID: "b", Tests: []string{"2"}, Groups: []string{"a"}, Requires: []string{"a"}},
	}}
	if err := r.Validate(); !api.HasCode(err, api.CodeBadRequest) {
		t.Error(err)
	}
}
