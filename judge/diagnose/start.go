package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// startFailures are the messages of interpreters that fail before the first line of the source.
var startFailures = []string{
	"error while loading shared libraries:",
	"Python runtime state: preinitialized",
	"Python runtime state: core initialized",
	"node::tracing::Agent::Agent()",
}

// explainStart explains an interpreter that did not start because the profile refused a call that it
// needs. The diagnosis is empty for any other failure, and under the default profiles of languages:
// interpreters do not need the calls that these refuse.
func explainStart(language string, r api.Result) api.Diagnosis {
	output := string(written(r))
	if len(r.Refused) == 0 || len(r.LimitsHit) > 0 ||
		!slices.ContainsFunc(startFailures, func(s string) bool { return strings.Contains(output, s) }) {
		return api.Diagnosis{}
	}

	profile := r.Refused[0].Profile
	if profile == "default" || profile == "managed" {
		return api.Diagnosis{}
	}

	var names []string
	for _, one := range r.Refused[:min(len(r.Refused), 4)] {
		names = append(names, one.Syscall)
	}

	it := cmp.Or(language, "the program")
	d := api.Diagnosis{Category: api.CategoryDenied, Type: string(r.Verdict), Message: it + " did not start"}
	d.Hint = fmt.Sprintf("%s did not start: the profile %s refused %s. Allow the calls that it needs, or omit the profile",
		it, profile, strings.Join(names, ", "))
	if profile == "strict" {
		d.Hint = fmt.Sprintf("%s does not start under the profile strict, which is for compiled programs that only "+
			"compute (it refused %s): omit the profile to use the one of the language", it, strings.Join(names, ", "))
	}
	return d
}
