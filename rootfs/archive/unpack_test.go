package archive

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// If an archive has more hard links to a file than the file system allows, the refusal names the
// member. Other failures of link(2) are errors of the host.
func TestTooManyHardLinksAreAnArchiveError(t *testing.T) {
	e := entry{Path: "h65000", Link: "orig"}
	for err, theirs := range map[error]bool{unix.EMLINK: true, unix.ENOSPC: false, unix.EIO: false} {
		var unsafe *UnsafeError
		got := linkError(e, err)
		if errors.As(got, &unsafe) != theirs || theirs && unsafe.Member != "h65000" || !theirs && !errors.Is(got, err) {
			t.Errorf("%v: %v; the archive's %v", err, got, theirs)
		}
	}
}
