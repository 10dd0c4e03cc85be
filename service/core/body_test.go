package core

import (
	"net/http"
	"testing"
)

// A body is compressed if its client says so, unless it says that it is as it is.
func TestCompressed(t *testing.T) {
	for encoding, want := range map[string]bool{"": false, "identity": false, "Identity": false, "gzip": true, "identity, gzip": true} {
		if got := Compressed(&http.Request{Header: http.Header{"Content-Encoding": {encoding}}}); got != want {
			t.Errorf("%q: %v", encoding, got)
		}
	}
}
