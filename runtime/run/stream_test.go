package run

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

	s, buf := stream{file: r, limit: 1 << 20, maxKept: 1 << 20}, make([]byte, 1000)
	for _, part := range []string{"", "abc", strings.Repeat("x", 300) + "end", strings.Repeat("y", 255), "!"} {
		if _, err := w.WriteString(part); err != nil {
			t.Fatal(err)
		}
		if part != "" {
			if _, err := s.read(buf, true); err != nil {
				t.Fatal(err)
			}
		}
		if want := s.kept[max(0, len(s.kept)-maxTail):]; string(s.tail) != string(want) {
			t.Errorf("the end is %q; want %q", s.tail, want)
		}
	}

	w.Close()
}
