package cgroups

import (
	"bytes"
	"errors"
	"fmt"
	"math"
)

// parseInt parses a file with one number, or "max" for math.MaxInt64. Version 1 prints
// unsigned values; one that does not fit becomes MaxInt64.
func parseInt(b []byte) (int64, error) {
	b = bytes.TrimSuffix(b, []byte("\n"))
	if string(b) == "max" {
		return math.MaxInt64, nil
	}
	if len(b) == 0 {
		return 0, errors.New("parse number: empty")
	}

	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("parse number %q: not a digit: %q", string(b), c) // the copy keeps b off the heap
		}
		if n > (math.MaxInt64-int64(c-'0'))/10 {
			return math.MaxInt64, nil
		}
		n = n*10 + int64(c-'0')
	}

	return n, nil
}

// flatKey returns the value of key in a flat keyed file: lines of "key value".
func flatKey(b []byte, key string) (int64, error) {
	for len(b) > 0 {
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		if len(line) > len(key) && line[len(key)] == ' ' && string(line[:len(key)]) == key {
			n, err := parseInt(line[len(key)+1:])
			if err != nil {
				return 0, fmt.Errorf("key %s: %w", key, err)
			}
			return n, nil
		}
	}

	return 0, fmt.Errorf("key %s: %w", key, errNoKey)
}
