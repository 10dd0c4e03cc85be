// Package neighbours tests what runs may learn of each other and take from each other, at the same
// time or one after another.
package neighbours

import (
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
