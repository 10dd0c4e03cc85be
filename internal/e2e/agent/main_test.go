// Package agent tests the life of an agent, and the command line: its start, its stop, crashes and
// shortage.
package agent

import (
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
