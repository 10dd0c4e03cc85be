package api

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Duration is a time span. In JSON it is a string such as "1.5s"; a bare
// number is refused, because its unit is unknown.
type Duration time.Duration

// ParseDuration reads the syntax of time.ParseDuration ("1.5s", "200ms", "2m"), and
// a plain number as seconds, because people type that at a prompt. Zero,
// negative, infinite and overflowing spans are refused.
func ParseDuration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	if secs, ferr := strconv.ParseFloat(s, 64); ferr == nil && !strings.ContainsAny(s, "xXpPeE_nN") {
		if err = nil; math.Abs(secs) < float64(math.MaxInt64)/1e9 {
			d = time.Duration(secs * 1e9)
		} else {
			d = -1
		}
	}

	switch {
	case err != nil:
		return 0, fmt.Errorf("duration %q: write a number with a unit, such as 1.5s or 200ms", s)
	case d <= 0:
		return 0, fmt.Errorf("duration %q: must be positive and less than 292 years", s)
	}

	return Duration(d), nil
}

// String writes d as time.Duration does.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes d as a string with its unit.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON accepts a string with a unit.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("duration %s: write a string with a unit, such as \"1.5s\"", b)
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return fmt.Errorf("duration %q: has no unit; write it as %q", text, text+"s")
	}

	v, err := ParseDuration(text)
	if err != nil {
		return err
	}

	*d = v
	return nil
}

// Set and Type make *Duration a command-line flag.
func (d *Duration) Set(text string) (err error) { *d, err = ParseDuration(text); return err }

// Type names the kind of flag for --help.
func (d *Duration) Type() string { return "duration" }
