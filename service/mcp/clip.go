package mcp

import (
	"fmt"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// How much of a stream a model gets: its beginning and its end.
const (
	headMax = 8 << 10
	tailMax = 4 << 10
)

// clip returns a stream as text, without its middle if it is long, and how many bytes are left out. written is how much
// the program wrote, which may be more than was kept.
func clip(kept api.Bytes, written int64) (text string, leftOut int64) {
	missing := max(written-int64(len(kept)), 0)
	if len(kept) <= headMax+tailMax && missing == 0 {
		return validText(kept), 0
	}

	head := kept[:min(headMax, len(kept))]
	head = head[:len(head)-head.IncompleteTail()]
	rest := kept[len(head):]
	tail := rest[max(len(rest)-tailMax, 0):]
	for i := 0; i < utf8.UTFMax && len(tail) > 0 && len(tail) < len(rest) && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}

	middle := int64(len(rest)-len(tail)) + missing
	if missing > 0 { // what follows the kept part is unknown, so the gap is at the end
		return validText(head) + gap(int64(len(rest)-len(tail))) + validText(tail) + gap(missing), middle
	}
	return validText(head) + gap(middle) + validText(tail), middle
}

func gap(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n[%d bytes left out]\n", n)
}
