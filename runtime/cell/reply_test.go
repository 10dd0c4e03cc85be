package cell

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// A cell that does not answer in time is reported as a timeout that may be retried.
func TestSetupTimeoutHasItsCode(t *testing.T) {
	ours, peer, err := linux.SeqpacketPair(true)
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	defer ours.Close()

	if err := ours.File.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}

	_, err = ours.Recv(make([]byte, ReplySize))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}

	var told *api.Error
	if err := fmt.Errorf("cell c: %w", SetupTimeout()); !errors.As(err, &told) || told.Code != api.CodeSetupTimeout || !told.RetrySafe {
		t.Errorf("%v", err)
	}
}
