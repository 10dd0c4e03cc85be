package processes

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A model of a ring: all that was written.
type model struct {
	bytes   []byte
	streams []api.ProcessStream // of each byte
}

func (m *model) write(stream api.ProcessStream, p []byte) {
	m.bytes = append(m.bytes, p...)
	for range p {
		m.streams = append(m.streams, stream)
	}
}

// Whatever is written and read, a ring returns the bytes at their offsets, tells what is gone, and keeps as much as it has
// memory for.
func TestRingIsTheEndOfAllOutput(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		var r Ring
		var m model
		r.Grow(1 + rng.IntN(64))
		for range 40 {
			p := make([]byte, rng.IntN(100))
			for i := range p {
				p[i] = byte(rng.Uint32())
			}
			stream := []api.ProcessStream{api.ProcessStdout, api.ProcessStderr}[rng.IntN(2)]
			before, room := r.Start(), r.Room(r.Start())
			r.Write(stream, p)
			m.write(stream, p)
			if len(p) <= room && r.Start() != before {
				t.Fatalf("%d bytes were written where there was room for %d, and some are lost", len(p), room)
			}
			if rng.IntN(8) == 0 {
				start := r.Start()
				r.Grow(r.Size() + rng.IntN(64))
				if r.Start() != start {
					t.Fatal("a larger ring has lost something")
				}
			}

			if r.End() != int64(len(m.bytes)) || r.End()-r.Start() > int64(r.Size()) {
				t.Fatalf("from %d to %d in %d bytes, of %d", r.Start(), r.End(), r.Size(), len(m.bytes))
			}
			since, maximum := rng.Int64N(r.End()+10), 1+rng.IntN(50)
			check(t, &r, m, since, maximum)
			check(t, &r, m, 0, 1<<20)
		}
	}
}

func check(t *testing.T, r *Ring, m model, since int64, maximum int) {
	t.Helper()
	out := r.Read(since, maximum)
	at := min(since, r.End())
	if out.Offset != max(at, r.Start()) || out.Gap != out.Offset-at || out.Next-out.Offset != min(int64(maximum), r.End()-out.Offset) {
		t.Fatalf("since %d, at most %d of %d to %d: %+v", since, maximum, r.Start(), r.End(), out)
	}
	o := out.Offset
	var last api.ProcessStream
	for _, p := range out.Pieces {
		if p.Stream == last || len(p.Data) == 0 {
			t.Fatalf("two pieces that are one, or an empty one: %+v", out.Pieces)
		}
		last = p.Stream
		for _, b := range p.Data {
			if b != m.bytes[o] || p.Stream != m.streams[o] {
				t.Fatalf("offset %d: %d of %s; want %d of %s", o, b, p.Stream, m.bytes[o], m.streams[o])
			}
			o++
		}
	}
	if o != out.Next {
		t.Fatalf("the pieces end at %d; want %d", o, out.Next)
	}
}

// A program that changes its stream with each byte costs a bounded number of pieces.
func TestPiecesAreBounded(t *testing.T) {
	var r Ring
	r.Grow(1 << 20)
	for i := range 4 * maxPieces {
		r.Write([]api.ProcessStream{api.ProcessStdout, api.ProcessStderr}[i%2], []byte("x"))
		if len(r.pieces) > maxPieces {
			t.Fatalf("%d pieces", len(r.pieces))
		}
	}
	if kept := r.End() - r.Start(); kept < maxPieces-1 {
		t.Errorf("%d bytes are kept", kept)
	}
}

// A ring without memory counts, and keeps nothing.
func TestRingWithoutMemory(t *testing.T) {
	var r Ring
	r.Write(api.ProcessStdout, []byte("12345"))
	if out := r.Read(2, 10); r.End() != 5 || out.Gap != 3 || len(out.Pieces) != 0 || out.Next != 5 {
		t.Errorf("end %d, %+v", r.End(), out)
	}
	r.Grow(10)
	r.Write(api.ProcessStdout, []byte("67"))
	if out := r.Read(0, 10); out.Gap != 5 || len(out.Pieces) != 1 || string(out.Pieces[0].Data) != "67" {
		t.Errorf("%+v", out)
	}
}

// The memory of a ring grows with what is written, up to its maximum.
func TestRingGrows(t *testing.T) {
	var r Ring
	for _, n := range []int{1, minRing, 100_000, MaxRing, MaxRing, 1} {
		r.Grow(r.Want(n))
		r.Write(api.ProcessStdout, []byte(strings.Repeat("x", n)))
		if r.Size() > MaxRing || r.End()-r.Start() != min(r.End(), MaxRing) {
			t.Errorf("%d bytes of %d are kept in %d", r.End()-r.Start(), r.End(), r.Size())
		}
	}
}
