package polygon

import (
	"testing"

	"github.com/brig-sandbox/brig/judge/problem/problemtest"
)

// Each archive of testdata is a package, with what is understood of it, or the mistakes in it.
func TestPackages(t *testing.T) { problemtest.Packages(t, Read, 4) }

func TestNumbered(t *testing.T) {
	for pattern, want := range map[string]string{"tests/%02d": "tests/07", "%d.in": "7.in", "t/%03d.a": "t/007.a", "tests/1": "", "%d/%d": "",
		"%s": "", "%d%s": "", "%99999d": "", "%n": ""} {
		if got, ok := numbered(pattern, 7); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", pattern, got, ok, want)
		}
	}
}
