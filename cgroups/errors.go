package cgroups

import (
	"errors"
	"fmt"
)

// ErrUnsupported matches every error that reports a feature that a caller requested
// and that the kernel, or the way it was booted, does not provide.
var ErrUnsupported = errors.New("not supported by this kernel")

// An UnsupportedError names a kernel feature that is missing.
type UnsupportedError struct {
	Feature string // kernel file or facility
	Since   string // kernel version that introduced it, or what switches it on
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s is missing: it needs %s", e.Feature, e.Since)
}

func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

// A ControllerError names a controller that is not available in a group, and what
// the operator can do about it.
type ControllerError struct {
	Controller string
	Dir        string // the group that needs it; empty when it is mounted nowhere
	Remedy     string
}

func (e *ControllerError) Error() string {
	where := "on this host"
	if e.Dir != "" {
		where = "in " + e.Dir
	}
	return fmt.Sprintf("cgroup controller %s is not available %s: %s", e.Controller, where, e.Remedy)
}

func (e *ControllerError) Is(target error) bool { return target == ErrUnsupported }

const remedyDelegate = "start the agent in its own group, as a unit with Delegate=yes or under systemd-run --scope -p Delegate=yes"
