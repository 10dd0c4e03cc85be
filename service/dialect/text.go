package dialect

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// Text returns a stream as text: bytes that are none become U+FFFD.
func Text(b api.Bytes) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
