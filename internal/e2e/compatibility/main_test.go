// Package compatibility tests clients of other programs: foreign dialects and MCP.
package compatibility

import (
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
