// Package images tests images: how they are built, pulled, read and removed, and what a hostile one
// can do.
package images

import (
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
