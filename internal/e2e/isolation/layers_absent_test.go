//go:build !ablate

package isolation

import (
	"bytes"
	"os"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The installed build has no way to leave a layer out: it contains neither the variable that would
// request it nor the names of the layers.
func TestProductionHasEveryLayer(t *testing.T) {
	content, err := os.ReadFile(harness.Binary(t, "brigd"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(content, []byte("user.max_user_namespaces")) {
		t.Fatal("the binary does not contain a string it must: the search proves nothing")
	}
	for _, s := range []string{"BRIG_WITHOUT", "brig_work=", "max-user-namespaces", "layersOff", "tag ablate"} {
		if bytes.Contains(content, []byte(s)) {
			t.Errorf("brigd contains %q", s)
		}
	}
}
