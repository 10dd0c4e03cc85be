// Package languages tests the languages that come with brig, their compilers, and the tiers that
// they need.
package languages

import (
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
