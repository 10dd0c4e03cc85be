package run

import (
	"fmt"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cgroups"
)

// A limit that the host's kernel cannot apply is refused by its name: it is no failure of brig, and sending the run
// again does not help.
func TestLimitsThatTheHostLacksAreRefused(t *testing.T) {
	for _, cause := range []error{
		&cgroups.UnsupportedError{Feature: "cpuset.cpus", Since: "the cpuset controller"},
		&cgroups.ControllerError{Controller: "cpuset", Remedy: "boot with it"},
	} {
		e := APIError(fmt.Errorf("limits: %w", cause), "r1")
		if e.Code != api.CodeUnsupported || e.RetrySafe || e.Run != "r1" {
			t.Errorf("%v: %+v", cause, e)
		}
	}
	if e := APIError(fmt.Errorf("limits: %w", fmt.Errorf("broken")), "r1"); e.Code != api.CodeInternal {
		t.Errorf("%+v", e)
	}
}
