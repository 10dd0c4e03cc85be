package api

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// A Size is a number of bytes. In JSON it is a plain number of bytes, or a
// string such as "512M"; it is written as a number.
type Size int64

// The units a Size is written in: powers of 1024, as everywhere in the kernel.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

// ParseSize reads "4096", "512M", "512MiB", "512MB" or "1.5G". K, M, G and T are
// powers of 1024 in either spelling. Zero and negative sizes, and those that do
// not fit 63 bits, are refused.
func ParseSize(s string) (Size, error) {
	num := strings.TrimSpace(s)
	num, binary := cutSuffixFold(num, "ib")
	if !binary {
		num, _ = cutSuffixFold(num, "b")
	}

	shift := 0
	for i, unit := range []string{"k", "m", "g", "t"} {
		if n, ok := cutSuffixFold(num, unit); ok {
			num, shift = n, 10*(i+1)
			break
		}
	}

	if binary && shift == 0 {
		num = "" // iB belongs to a unit
	}

	f, err := strconv.ParseFloat(num, 64)
	bytes := math.Ldexp(f, shift)
	switch {
	case err != nil || strings.ContainsAny(num, "xXpPeE_nN"):
		return 0, fmt.Errorf("size %q: write a number with an optional K, M, G or T, such as 512M", s)
	case !(bytes >= 1 && bytes < math.MaxInt64):
		return 0, fmt.Errorf("size %q: must be at least one byte and less than 8192P", s)
	}

	return Size(bytes), nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n >= 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n], true
	}
	return s, false
}

// String writes s in the largest unit that divides it: 512M, 1536K, 1000.
func (s Size) String() string {
	for _, u := range []struct {
		size Size
		name string
	}{{1 << 40, "T"}, {GiB, "G"}, {MiB, "M"}, {KiB, "K"}} {
		if s >= u.size && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// About writes s for people, always with a unit, and with one digit after the point if no unit
// divides it: 512M, 1028.4M, 12 bytes. Parsing it again may give another size.
func (s Size) About() string {
	switch {
	case s >= MiB && s%MiB != 0:
		return fmt.Sprintf("%.1fM", float64(s)/float64(MiB))
	case s >= KiB && s%KiB != 0:
		return fmt.Sprintf("%.1fK", float64(s)/float64(KiB))
	case s < KiB:
		return fmt.Sprintf("%d bytes", int64(s))
	}
	return s.String()
}

// formattedSize is a Size in an error's text: %s and %v write it as About does.
type formattedSize Size

func (t formattedSize) Format(f fmt.State, verb rune) {
	if verb == 's' || verb == 'v' {
		_, _ = io.WriteString(f, Size(t).About()) // fmt keeps it
		return
	}
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), int64(t))
}

// formatSizes makes each Size among the arguments of an error print with a unit.
func formatSizes(args []any) {
	for i, a := range args {
		if s, is := a.(Size); is {
			args[i] = formattedSize(s)
		}
	}
}

// UnmarshalJSON accepts a number of bytes or a string ParseSize reads.
func (s *Size) UnmarshalJSON(b []byte) error {
	text := string(b)
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	v, err := ParseSize(text)
	if err != nil {
		return err
	}
	*s = v
	return nil
}

// Set and Type make *Size a command-line flag.
func (s *Size) Set(text string) (err error) { *s, err = ParseSize(text); return err }

// Type names the kind of flag for --help.
func (s *Size) Type() string { return "size" }
