// Package templates tests how programs of interpreters start, from a template and without.
package templates

import (
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
