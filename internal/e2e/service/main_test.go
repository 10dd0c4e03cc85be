// Package service tests brig serve: the gateway over HTTP, and its clients.
package service

import (
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
