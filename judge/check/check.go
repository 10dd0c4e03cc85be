package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// The maximum number of findings of one check, and the size above which a source is reported.
const (
	MaxFindings = 200
	LargeSource = 1 << 20
)

// Program checks a source: what needs no parser here, the rest by calling run with the run of a
// parser. Findings are in the order of the source. An error is that of run; a parser that ends
// badly is a finding instead, with the rule not-checked.
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
	return normalize(found), nil
}

// hideSecrets appends further findings to those of Source. On a line with a secret they get the
// snippet from Source, in which the secret is masked.
func hideSecrets(found, further []api.Finding) []api.Finding {
	masked := map[int]string{}
	for _, f := range found {
		if secretRules[f.Rule] && f.Line > 0 {
			masked[f.Line] = f.Snippet
		}
	}

	for _, f := range further {
		if snippet, ok := masked[f.Line]; ok {
			f.Snippet = snippet
		}
		found = append(found, f)
	}

	return found
}

// HasErrors reports whether a finding is of the severity error or above.
func HasErrors(found []api.Finding) bool {
	return slices.ContainsFunc(found, func(f api.Finding) bool { return f.Severity.AtLeast(api.SeverityError) })
}

// normalize sorts findings, removes duplicates, and keeps the most severe ones if there are too many.
func normalize(found []api.Finding) []api.Finding {
	byPlace := func(a, b api.Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message))
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
