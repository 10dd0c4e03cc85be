// Package limits tests limits, ceilings and measurements, and the verdict or the error that each
// gives.
package limits

import (
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
