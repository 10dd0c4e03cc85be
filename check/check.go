package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// The most findings of one check, and the size from which a program is remarkable.
const (
	MaxFindings = 200
	LargeSource = 1 << 20
)

// Program checks a source: what needs no parser here, the rest by a run that is
// handed to run. Findings are in the order of the source. The error is run's own: a
// check whose run ends badly is a finding, with the rule not-checked.
func Program(language, name string, source []byte, run func(api.Run) (api.Result, error)) ([]api.Finding, error) {
	found := Source(fileName(language, name), source) // as Read names it
	plan, ok := Plan(language, name, source)
	if ok {
		res, err := run(plan)
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", name, err)
		}
		found = hideSecrets(found, Read(language, name, source, res))
	}
	return tidy(found), nil
}

// hideSecrets adds further findings to those of Source, whose snippets lack what is
// secret in a line.
func hideSecrets(found, further []api.Finding) []api.Finding {
	shown := map[int]string{}
	for _, f := range found {
		if secretRules[f.Rule] && f.Line > 0 {
			shown[f.Line] = f.Snippet
		}
	}
	for _, f := range further {
		if snippet, ok := shown[f.Line]; ok {
			f.Snippet = snippet
		}
		found = append(found, f)
	}
	return found
}

// Refuses reports whether a finding is of the severity error or above.
func Refuses(found []api.Finding) bool {
	return slices.ContainsFunc(found, func(f api.Finding) bool { return f.Severity.AtLeast(api.SeverityError) })
}

// tidy sorts findings, drops those told twice, and keeps the heaviest where there
// are too many.
func tidy(found []api.Finding) []api.Finding {
	byPlace := func(a, b api.Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	}
	slices.SortFunc(found, byPlace)
	found = slices.CompactFunc(found, func(a, b api.Finding) bool {
		return byPlace(a, b) == 0
	})
	if len(found) > MaxFindings {
		slices.SortStableFunc(found, func(a, b api.Finding) int {
			switch {
			case a.Severity == b.Severity:
				return 0
			case a.Severity.AtLeast(b.Severity):
				return -1
			}
			return 1
		})
		found = found[:MaxFindings]
		slices.SortFunc(found, byPlace)
	}
	return found
}
