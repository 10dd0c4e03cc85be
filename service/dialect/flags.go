package dialect

import (
	"regexp"
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// AllowsFlags reports whether flags are those that every run of a language may set. They need no permission, and what is
// compiled with them is kept.
func AllowsFlags(l api.Language, flags []string) bool {
	return !slices.ContainsFunc(flags, func(flag string) bool { return !allows(l, flag) })
}

func allows(l api.Language, flag string) bool {
	if slices.Contains(l.Flags, flag) {
		return true
	}
	return slices.ContainsFunc(l.FlagPatterns, func(pattern string) bool {
		whole, err := regexp.Compile("^(?:" + pattern + ")$")
		return err == nil && whole.MatchString(flag)
	})
}
