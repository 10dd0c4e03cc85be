package outputs

import (
	"os"
	"strings"
	"testing"
)

// The end of a stream is kept, whether or not the rest is delivered.
func TestEndOfAStream(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	s, buf := Stream{File: r, limit: 1 << 20, maxKept: 1 << 20}, make([]byte, 1000)
	for _, part := range []string{"", "abc", strings.Repeat("x", 300) + "end", strings.Repeat("y", 255), "!"} {
		if _, err := w.WriteString(part); err != nil {
			t.Fatal(err)
		}
		if part != "" {
			if _, err := s.Read(buf, true); err != nil {
				t.Fatal(err)
			}
		}
		if want := s.Kept[max(0, len(s.Kept)-maxTail):]; string(s.Tail) != string(want) {
			t.Errorf("the end is %q; want %q", s.Tail, want)
		}
	}

	w.Close()
}

// A stream's buffer never takes more memory than is accounted for it.
func TestStreamBufferIsBounded(t *testing.T) {
	const maximum = 1 << 20
	s := Stream{limit: 4 * maximum, maxKept: maximum}
	b := make([]byte, 65_000)
	for len(s.Kept) < maximum {
		s.append(b[:min(len(b), maximum-len(s.Kept))])
		if cap(s.Kept) > maximum {
			t.Fatalf("room for %d bytes of %d", cap(s.Kept), maximum)
		}
	}
}
