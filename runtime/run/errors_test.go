package run

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
)

func TestExhaustionHasItsCodeAndRemedy(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		cure string // part of it; empty: it is another error
	}{
		{"descriptors", fmt.Errorf("cell: %w", os.NewSyscallError("pipe2", unix.EMFILE)), "LimitNOFILE="},
		{"processes, told by cellinit", fmt.Errorf("start: %w", &cell.StepError{Step: "clone", Err: unix.EAGAIN}), "TasksMax="},
		{"processes, told by runc's C code", errors.New("nsexec-0[5]: unable to spawn stage-1: Resource temporarily " +
			"unavailable"), "TasksMax="},
		{"memory", errors.Join(errors.New("x"), unix.ENOMEM), "memory"},
		{"a full table", unix.ENOSPC, "user.max_"},
		{"another failure", unix.EPERM, ""},
		{"one that has a code", api.Fail(api.CodeHostMemory, "%w", unix.ENOMEM), ""},
		{"none", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := exhaustion(tt.err)
			switch {
			case tt.cure == "" && got != nil:
				t.Errorf("exhaustion = %v; want nothing", got)
			case tt.cure != "" && (got == nil || got.Code != api.CodeHostExhausted || !got.RetrySafe || !strings.Contains(got.Message, tt.cure)):
				t.Errorf("exhaustion = %+v; want a cure with %q", got, tt.cure)
			}
		})
	}
}

// A cell that does not answer in time is reported as a timeout, and not as a lack of processes,
// whose error the wait meets on its way.
func TestSetupTimeoutIsNoExhaustion(t *testing.T) {
	for _, err := range []error{os.ErrDeadlineExceeded, fmt.Errorf("cell c: %w", cell.SetupTimeout())} {
		if got := exhaustion(err); got != nil {
			t.Errorf("%v, told as %v", err, got)
		}
	}
}
