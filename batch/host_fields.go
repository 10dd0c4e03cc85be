package batch

import "github.com/brig-sandbox/brig/api"

// RefuseHost is Coordinator.Permit: the fields of a line that only root may set at an agent are not for the author
// of a line, also if root runs brig. Those of the command line are.
func RefuseHost(r api.Run) error {
	field := ""
	switch {
	case r.ProfileMode != "" && r.ProfileMode != api.Enforce:
		field = "profile_mode"
	case len(r.ProfileRules) > 0:
		field = "profile_rules"
	case r.Limits.Cpuset != "" || r.CompileLimits.Cpuset != "":
		field = "cpuset"
	default:
		return nil
	}
	return api.Refuse(api.CodeForbidden, "a job of a batch sets no %s: only the command line of brig does", field)
}
