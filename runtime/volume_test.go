package runtime

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// The kernel's own answer for a file system that it has not, as it would be of ext4.
func TestNoVolumesWithoutTheFileSystem(t *testing.T) {
	testenv.NeedRoot(t)
	all := newVolumes(Volumes{Dir: t.TempDir()}, "6.1.0", slog.New(slog.DiscardHandler))
	_, err := all.openFS("nosuchfs")
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeUnsupported {
		t.Fatalf("%v; want code %s", err, api.CodeUnsupported)
	}
	for _, word := range []string{"volumes need nosuchfs", "CONFIG_NOSUCHFS_FS", "modprobe nosuchfs", "Linux 6.1.0"} {
		if !strings.Contains(e.Message, word) {
			t.Errorf("%q does not say %q", e.Message, word)
		}
	}
}
