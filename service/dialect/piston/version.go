package piston

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
)

// A version is that of a language, in the form that ranges of npm speak of.
type version struct{ *semver.Version }

var numbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d{1,9}(\.\d{1,9}){0,2}`) })

// versionOf makes a version of the first number in brig's words: of ".NET 10" it is 10.0.0. A language whose version
// brig does not know has 0.0.0.
func versionOf(words string) version {
	v, err := semver.NewVersion(cmp.Or(numbers().FindString(words), "0"))
	if err != nil {
		v = new(semver.Version) // 0.0.0: such numbers have leading zeros only
	}
	return version{semver.New(v.Major(), v.Minor(), v.Patch(), "", "")}
}

// isIn reports whether a version is in a range of npm, such as 3.x, ^3.10.0 or >=3 <4. None is in what is no range.
func (v version) isIn(wanted string) bool {
	for _, other := range []string{",", "!", "=>", "=<"} { // they are words of the library, and not of npm
		if strings.Contains(wanted, other) {
			return false
		}
	}
	if strings.TrimSpace(wanted) == "" {
		return true
	}

	within, err := semver.NewConstraint(wanted)
	return err == nil && within.Check(v.Version)
}
