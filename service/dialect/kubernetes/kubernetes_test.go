package kubernetes

import (
	"testing"

	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
)

// The requests are those of kubectl 1.32.3 and of the Python client 30.1.0.
func TestExchanges(t *testing.T) { dialecttest.Golden(t, Dialect, 31) }
