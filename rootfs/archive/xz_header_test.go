package archive

import "testing"

// IMG-30: the header of a block is parsed correctly, also with sizes before its filter. Invalid
// headers give a size of 0.
func TestXzDictionary(t *testing.T) {
	block := func(inside ...byte) []byte { // stream header, then block header with size and checksum
		for (len(inside)+5)%4 != 0 {
			inside = append(inside, 0)
		}
		head := append(make([]byte, 12), byte((len(inside)+5)/4-1))
		return append(append(head, inside...), 0, 0, 0, 0)
	}

	for _, tt := range []struct {
		head []byte
		want int64
	}{
		{block(0, 0x21, 1, 0), 4 << 10},
		{block(0, 0x21, 1, 28), 64 << 20},
		{block(0, 0x21, 1, 37), 1536 << 20},
		{block(0xc0, 0x80, 0x08, 0xff, 0x01, 0x21, 1, 37), 1536 << 20}, // with both sizes
		{block(1, 0x03, 1, 0xff, 0x21, 1, 37), 1536 << 20},             // behind a delta filter
		{block(0, 0x21, 1, 40), 1<<32 - 1},
		{block(0, 0x21, 1, 41), 0},
		{block(0, 0x21, 5, 37), 0},
		{block(3, 0x04, 0x80), 0},
		{block(0xc0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), 0},
		{block(0, 0x21, 1, 37)[:16], 0},
		{make([]byte, 20), 0},
		{nil, 0},
	} {
		if got := xzDictionary(tt.head); got != tt.want {
			t.Errorf("% x: %d; want %d", tt.head, got, tt.want)
		}
	}
}
