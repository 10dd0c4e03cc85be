// Package isolation tests what a program must not reach: the corpus of hostile programs, and each
// layer that holds them.
package isolation

import (
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
