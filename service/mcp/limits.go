package mcp

import (
	"time"

	"github.com/brig-sandbox/brig/api"
)

// maxSeconds bounds a number of seconds before it is converted; the operator's ceiling is far lower.
const maxSeconds = 1e6

// spanOf converts a number of units, such as seconds. Zero means that it is not set.
func spanOf(name string, n float64, unit time.Duration) (api.Duration, error) {
	span := time.Duration(n * float64(unit))
	switch {
	case n == 0:
		return 0, nil
	case !(n > 0 && n <= maxSeconds) || span <= 0:
		return 0, api.Refuse(api.CodeBadLimits, "%s is %v: write a positive number of at most %v, such as 10", name, n,
			float64(maxSeconds))
	}
	return api.Duration(span), nil
}

// limitsOf makes limits of the arguments that set any.
func limitsOf(seconds float64, memory string) (l api.Limits, err error) {
	if l.Wall, err = spanOf("timeout_seconds", seconds, time.Second); err != nil {
		return l, err
	}
	l.Memory, err = sizeOf(memory)
	return l, err
}

// sizeOf reads an argument such as 256M; empty: it is not set.
func sizeOf(memory string) (api.Size, error) {
	if memory == "" {
		return 0, nil
	}
	size, err := api.ParseSize(memory)
	if err != nil {
		return 0, api.Refuse(api.CodeBadLimits, "memory: %w: write a size such as 256M", err)
	}
	return size, nil
}
