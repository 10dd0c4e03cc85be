package history

import (
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// Failed is the value of the parameter verdict that selects every run that is no success.
const Failed = "failed"

// ParseVerdicts parses a parameter that may be repeated, each time with one value or several separated
// by commas.
func ParseVerdicts(given []string) (all []api.Verdict, fails bool, err error) {
	for _, name := range strings.Split(strings.Join(given, ","), ",") {
		switch v := api.Verdict(name); {
		case name == "", slices.Contains(all, v): // ignore repetitions
		case name == Failed:
			fails = true
		case slices.Contains(api.Verdicts(), v):
			all = append(all, v)
		default:
			return nil, false, api.Refuse(api.CodeBadRequest,
				"verdict=%.40q does not exist: use one of %v, or %s for all runs without success", name, api.Verdicts(), Failed)
		}
	}

	return all, fails, nil
}
