package rootfs

import "errors"

// Sentinel errors for callers to test for, in addition to those of package archive. The errors that wrap
// them name the image, and the remedy.
var (
	ErrName     = errors.New("invalid image name")
	ErrNotFound = errors.New("no such image")
	ErrDigest   = errors.New("archive does not have the expected digest")
)
