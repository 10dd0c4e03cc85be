package session

import (
	"errors"
	"testing"
	"time"
)

// What is awaited is looked at once at least, until it is so, fails, or takes too long.
func TestPoll(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name    string
		maximum time.Duration
		after   int // looks
		err     error
		want    bool
		looks   int
	}{
		{"at once", time.Hour, 1, nil, true, 1},
		{"at last", time.Hour, 3, nil, true, 3},
		{"never", 0, 9, nil, false, 1},
		{"it fails", time.Hour, 9, broken, false, 1},
	} {
		looks := 0
		got, err := poll(tt.maximum, func() (bool, error) {
			looks++
			return looks == tt.after, tt.err
		})
		if got != tt.want || !errors.Is(err, tt.err) || looks != tt.looks {
			t.Errorf("%s: %v, %v after %d looks; want %v after %d", tt.name, got, err, looks, tt.want, tt.looks)
		}
	}
}
