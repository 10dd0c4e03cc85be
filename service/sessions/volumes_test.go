package sessions

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
)

// The owner of a volume sees it by its project, also in errors of the agent. Such an error names
// the conflicting session only if that belongs to the caller.
func TestVolumeErrorsNameTheProject(t *testing.T) {
	ss := &Sessions{registry: &sessionRegistry{all: map[string]sessionEntry{"a": {owner: "ann"}, "b": {owner: "bob"}}}}
	for id, want := range map[string]string{"a": "a", "b": "", "": ""} {
		said := api.Refuse(api.CodeConflict, "a session has volume %q: end it first", "ann/course")
		said.Session = id
		p, _ := core.ProblemFor(ss.withOwnNames(said, core.Caller{Key: auth.Key{Name: "ann"}}, "course"))
		if p.Code != api.CodeConflict || p.Detail != `a session has volume "course": end it first` || p.Session != want {
			t.Errorf("with session %q it gets %+v", id, p)
		}
	}
	if err := ss.withOwnNames(nil, core.Caller{}, "course"); err != nil {
		t.Errorf("no error becomes %v", err)
	}
}
