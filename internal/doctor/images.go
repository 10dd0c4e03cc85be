package doctor

import "strings"

// imageChecks checks for stored images that are older than the languages that use them.
func imageChecks(f Facts) []Check {
	const name, why = "images", "programs of their languages are refused"
	if f.OutdatedErr != "" {
		return []Check{{name, Warn, "not checked: " + f.OutdatedErr,
			"an image may be older than its language: " + why, "sudo brig doctor"}}
	}
	if len(f.Outdated) == 0 {
		return []Check{{Name: name, Status: OK, Found: "none is older than its language"}}
	}

	var found, cures []string
	for _, o := range f.Outdated {
		found = append(found, o.Image+" has no "+strings.Join(o.Lacks, ", "))
		cures = append(cures, o.Image+": "+o.Remedy)
	}
	return []Check{{name, Warn, strings.Join(found, "; "), why, strings.Join(cures, "; ")}}
}
