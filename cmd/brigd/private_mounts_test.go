package main

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWhatFailsBeforeGoIsReported(t *testing.T) {
	for _, tt := range []struct {
		step  string
		errno unix.Errno
		want  string
	}{
		{"unshare mount namespace", unix.EPERM, "the agent needs CAP_SYS_ADMIN: run it outside a container, or in a privileged one"},
		{"unshare mount namespace", unix.ENOSPC, "unshare mount namespace: no space left on device"},
		{"make mounts private", unix.EINVAL, "/ is not a mount point: the agent is in a chroot"},
		{"make mounts private", unix.EPERM, "make mounts private: operation not permitted"},
		{"memfd_create", unix.EPERM, "memfd_create: operation not permitted"},
	} {
		err := failedBeforeGo(tt.step, tt.errno)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.step, err, tt.want)
		}
		if tt.errno == unix.ENOSPC && !errors.Is(err, tt.errno) {
			t.Errorf("%s: %v is not %v", tt.step, err, tt.errno)
		}
	}
}
