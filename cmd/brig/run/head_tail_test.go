package run

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestHeadTailKeepsBothEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var all []byte
		var e headTail
		for range r.IntN(200) {
			piece := make([]byte, r.IntN(1<<r.IntN(18)))
			for i := range piece {
				piece[i] = byte(r.Uint32())
			}
			if n, err := e.Write(piece); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
			all = append(all, piece...)
		}

		want := all
		if len(all) > 2*headTailSize {
			want = append(all[:headTailSize:headTailSize], all[len(all)-headTailSize:]...)
		}
		if !bytes.Equal(e.bytes(), want) {
			t.Fatalf("of %d bytes %d are kept, and not the ends", len(all), len(e.bytes()))
		}
		if cap(e.tail) > 8*headTailSize {
			t.Fatalf("%d bytes are held", cap(e.tail))
		}
	}
}
