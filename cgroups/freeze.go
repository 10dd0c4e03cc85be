package cgroups

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// freezePause is how long Freeze waits before it looks again.
const freezePause = 500 * time.Microsecond

// Freeze stops all processes of the branch, and returns whether they stand still. It waits for that at most so long: a
// process that waits in the kernel for something that no signal interrupts stops only when that is over, and until
// then the kernel does not call the group frozen. In mode v1, and before Linux 5.2, there is no cgroup.freeze: the answer is
// false. Thaw must follow in every case.
//
// A frozen process can be killed (cgroup-v2.rst, "cgroup.freeze"), so a session ends as always. Freeze and Thaw may be
// called while other methods are, except those that close files.
func (b *Branch) Freeze(bound time.Duration) (frozen bool, err error) {
	if b.dir == nil {
		return false, nil
	}
	freeze := filepath.Join(b.dir.Name(), "cgroup.freeze")
	if _, err := os.Lstat(freeze); err != nil {
		return false, nil //nolint:nilerr // this kernel does not have it
	}
	if err := putPath(freeze, "1"); err != nil {
		return false, fmt.Errorf("freeze: %w", err)
	}

	events := filepath.Join(b.dir.Name(), "cgroup.events")
	for until := time.Now().Add(bound); ; time.Sleep(freezePause) {
		text, err := os.ReadFile(events)
		if err != nil {
			return false, fmt.Errorf("freeze: %w", err)
		}
		if strings.Contains(string(text), "frozen 1") {
			return true, nil
		}
		if !time.Now().Before(until) {
			return false, nil
		}
	}
}

// Thaw lets the processes of the branch continue.
func (b *Branch) Thaw() error {
	if b.dir == nil {
		return nil
	}
	freeze := filepath.Join(b.dir.Name(), "cgroup.freeze")
	if _, err := os.Lstat(freeze); err != nil {
		return nil //nolint:nilerr // this kernel does not have it
	}
	if err := putPath(freeze, "0"); err != nil {
		return fmt.Errorf("thaw: %w", err)
	}
	return nil
}
