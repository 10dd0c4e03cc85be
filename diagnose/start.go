package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// unstarted is what programs print that fail before the first line of their source.
var unstarted = []string{
	"error while loading shared libraries:",
	"Python runtime state: preinitialized",
	"Python runtime state: core initialized",
	"node::tracing::Agent::Agent()",
}

// ofStart explains an interpreter that did not start, because a profile refused what it
// needs. It is empty for any other failure, and under the profiles that languages have
// by themselves: what these refuse, interpreters do without.
func ofStart(language string, r api.Result) api.Diagnosis {
	said := string(r.Stderr)
	if len(r.Refused) == 0 || len(r.LimitsHit) > 0 || !slices.ContainsFunc(unstarted, func(s string) bool { return strings.Contains(said, s) }) {
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
	it := orWords(language, "the program")
	d := api.Diagnosis{Category: api.CategoryDenied, Type: string(r.Verdict), Message: it + " did not start"}
	d.Hint = fmt.Sprintf("%s did not start: the profile %s refused %s. Allow what it needs of these, or name no profile", it, profile, strings.Join(names, ", "))
	if profile == "strict" {
		d.Hint = fmt.Sprintf("%s does not start under the profile strict, which is for compiled programs that only compute (it refused %s): name no profile, and it has its language's own", it, strings.Join(names, ", "))
	}
	return d
}
