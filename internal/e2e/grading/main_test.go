// Package grading tests tests of a submission: checkers, interactors, managers, suites and data
// sets.
package grading

import (
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
