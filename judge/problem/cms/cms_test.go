package cms

import (
	"testing"

	"github.com/brig-sandbox/brig/judge/problem/problemtest"
)

// Each archive of testdata is a package, with what is understood of it, or the mistakes in it.
func TestPackages(t *testing.T) { problemtest.Packages(t, Read, 3) }
