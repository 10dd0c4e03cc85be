package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestEncodingInPiecesIsTheSame(t *testing.T) {
	binary := make([]byte, 300_001)
	for i := range binary {
		binary[i] = byte(rand.Uint32())
	}
	contents := map[string][]byte{
		"none": nil, "empty": {}, "short": []byte("x\n"), "text": []byte(strings.Repeat("line <of> \"text\"\n", 20_000)),
		"wide": []byte(strings.Repeat("ü€😀\u2028", 30_000)), "wide, shifted": []byte("x" + strings.Repeat("😀", 60_000)),
		"binary": binary, "controls": []byte(strings.Repeat("plain text about it \x00\x01\b\f\x1f\x7f&\u2029\u2027\u0428\u00a8\\", 3000)), "zeros": make([]byte, 1<<20), "nearly text": append([]byte(strings.Repeat("a", 1<<20)), 0xff),
		"at the bound": bytes.Repeat([]byte("a"), 64<<10), "over it": bytes.Repeat([]byte("a"), 64<<10+1),
	}
	for name, b := range contents {
		for other, c := range contents {
			r := result(func(r *api.Result) {
				r.Stdout, r.Stderr = b, c
				r.Files = []api.File{{Name: "a", Content: c}, {Name: "b"}, {Name: "c", Content: b, Executable: true}}
			})
			want, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := r.EncodeTo(&got); err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s, %s: %v; it differs from json.Marshal", name, other, err)
			}
			if !bytes.Equal(r.Stdout, b) || !bytes.Equal(r.Files[0].Content, c) {
				t.Errorf("%s, %s: the result has changed", name, other)
			}
		}
	}
}

// To encode 64 MiB of output takes a small part of that in memory.
func TestEncodingInPiecesTakesLittleMemory(t *testing.T) {
	for name, b := range map[string][]byte{"text": bytes.Repeat([]byte("some text\n"), 64<<20/10), "binary": bytes.Repeat([]byte{0xff}, 64<<20)} {
		r := result(func(r *api.Result) { r.Stdout = b })
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		seen := &most{}
		if err := r.EncodeTo(seen); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		held := int64(after.HeapSys) - int64(before.HeapSys)
		if held > 16<<20 || seen.n > 1<<20 {
			t.Errorf("%s: the heap has grown by %d bytes, the largest piece is %d", name, held, seen.n)
		}
	}
}

// most is the largest piece that was written.
type most struct{ n int }

func (m *most) Write(p []byte) (int, error) {
	m.n = max(m.n, len(p))
	return io.Discard.Write(p)
}
