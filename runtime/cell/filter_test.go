package cell

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/seccomp"
)

// No tier but network allows a call that keeps open files where they cannot be counted. The names of
// hosts need such calls: glibc asks for two addresses with sendmmsg.
func TestTiersHideNoOpenFiles(t *testing.T) {
	for _, name := range seccomp.Tiers() {
		p, err := seccomp.Tier(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := newFilter(plan.NewPolicy(p, api.Enforce, false))
		if want := name == "network"; err != nil || f.HidesFiles != want {
			t.Errorf("%s hides open files: %v, %v; want %v", name, f.HidesFiles, err, want)
		}
		if f, err = newFilter(plan.NewPolicy(p, api.Log, false)); err != nil || !f.HidesFiles {
			t.Errorf("%s in log mode lets messages with descriptors through and is taken to hide none: %v", name, err)
		}
	}
}
