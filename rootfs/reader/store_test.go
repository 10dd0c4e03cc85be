package reader

import (
	"io"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// IMG-45: the layers of an image together have a bound while they are stored, in what is sent and in what
// it becomes.
func TestLayersTogetherAreBounded(t *testing.T) {
	for total, ok := range map[int64]bool{0: true, rootfs.MaxImageBytes(): true, rootfs.MaxImageBytes() + 1: false, 1 << 40: false} {
		if err := checkSum(total); (err == nil) != ok || err != nil && !isRefusal(err) {
			t.Errorf("%d bytes: %v", total, err)
		}
	}
	for left, ok := range map[int64]bool{5: true, 6: true, 4: false, 0: false} {
		b := &boundedBody{r: strings.NewReader("hello"), left: left}
		text, err := io.ReadAll(b)
		if (err == nil) != ok || ok && string(text) != "hello" || (b.left < 0) == ok || err != nil && !api.HasCode(err, api.CodeBadImage) {
			t.Errorf("5 bytes of %d: %q, %v", left, text, err)
		}
	}
}
