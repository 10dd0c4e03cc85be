package archive

import (
	"errors"
	"fmt"
)

// Why an archive is refused, for callers to test for. The errors that wrap them name the member or
// the number, and the remedy.
var (
	ErrTruncated = errors.New("archive ends too early")
	ErrMalformed = errors.New("unsupported archive")
	ErrTooLarge  = errors.New("archive exceeds a limit")
)

// An UnsafeError is a member the admission policy refuses.
type UnsafeError struct {
	Member string // the name as in the archive, perhaps truncated
	Reason string
}

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("unsafe archive: member %q %s", e.Member, e.Reason)
}

// A refusal is what the admission child reports on its standard error: the kind in one word, the
// member it concerns, and the reason. The kinds are a protocol between two copies of the same
// binary.
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

// err converts the refusal to the error that a caller of Import gets.
func (r *refusal) err() error {
	sentinel := map[string]error{kindTruncated: ErrTruncated, kindMalformed: ErrMalformed,
		kindTooLarge: ErrTooLarge}[r.kind]
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
