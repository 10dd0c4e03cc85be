package rootfs

import (
	"errors"
	"fmt"
)

// Sentinels to branch on. The errors that wrap them name the image, the member
// or the figure, and the cure.
var (
	ErrName      = errors.New("not a name an image can have")
	ErrNotFound  = errors.New("no such image")
	ErrTruncated = errors.New("archive ends too early")
	ErrMalformed = errors.New("not an archive brig reads")
	ErrTooLarge  = errors.New("archive is over a limit")
	ErrDigest    = errors.New("archive has another digest than expected")
)

// An UnsafeError is a member the admission policy refuses.
type UnsafeError struct {
	Member string // its name as the archive spells it, perhaps cut short
	Reason string
}

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("unsafe archive: member %q %s", e.Member, e.Reason)
}

// A refusal is what the admission child reports on its standard error: one word
// for the kind, the member it concerns, the reason. The words are the protocol
// between two copies of the same binary.
type refusal struct {
	kind, member, reason string
}

const (
	kindUnsafe    = "unsafe"
	kindTruncated = "truncated"
	kindMalformed = "malformed"
	kindTooLarge  = "too-large"
	kindInternal  = "internal"
)

func (r *refusal) Error() string { return r.err().Error() }

// err is the error a caller of Import sees.
func (r *refusal) err() error {
	sentinel := map[string]error{kindTruncated: ErrTruncated, kindMalformed: ErrMalformed, kindTooLarge: ErrTooLarge}[r.kind]
	switch {
	case r.kind == kindUnsafe:
		return &UnsafeError{Member: r.member, Reason: r.reason}
	case sentinel == nil:
		return fmt.Errorf("admit archive: %s", r.reason)
	case r.member != "":
		return fmt.Errorf("%w: member %q: %s", sentinel, r.member, r.reason)
	}
	return fmt.Errorf("%w: %s", sentinel, r.reason)
}

func unsafeMember(member, format string, args ...any) *refusal {
	return &refusal{kindUnsafe, member, fmt.Sprintf(format, args...)}
}
