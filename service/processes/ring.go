// Package processes has what a service keeps of a process that outlives a connection: its last output, with the place of
// each byte in all that it wrote, and its state. All functions are pure; service/sessions has the process.
package processes

import (
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// MaxRing is how much of a process's output is kept.
const MaxRing = 4 << 20

// minRing is the memory of a ring from its first byte on.
const minRing = 16 << 10

// maxPieces is how many pieces a ring has at most. Each is a change between stdout and stderr, and has a price of its own:
// a program that changes with each byte keeps less.
const maxPieces = 1024

// A Ring keeps the last bytes of stdout and stderr, in the order of their arrival. Each byte has an offset: how many bytes
// were written before it, to both together. The zero value is an empty ring that keeps nothing yet.
type Ring struct {
	buf    []byte // the byte with offset o is at o % len(buf)
	start  int64  // offset of the first byte that is kept
	end    int64  // of the next byte: all that was written
	pieces []piece
}

// A piece is a run of bytes of one stream; it ends where the next one begins.
type piece struct {
	at     int64 // offset of its first byte
	stream api.ProcessStream
}

// End is the offset of the next byte: how much was written.
func (r *Ring) End() int64 { return r.end }

// Start is the offset of the first byte that is kept.
func (r *Ring) Start() int64 { return r.start }

// Size is the memory that the ring has.
func (r *Ring) Size() int { return len(r.buf) }

// Want is the memory that a ring should have before n more bytes are written, so that none is lost before it has MaxRing.
func (r *Ring) Want(n int) int {
	size := max(len(r.buf), minRing)
	for size < MaxRing && int64(size) < r.end-r.start+int64(n) {
		size *= 2
	}
	return size
}

// Grow gives the ring more memory. Nothing is lost.
func (r *Ring) Grow(size int) {
	if size <= len(r.buf) {
		return
	}
	larger := make([]byte, size)
	for o := r.start; o < r.end; {
		part := r.buf[o%int64(len(r.buf)):]
		part = part[:min(int64(len(part)), r.end-o)]
		for len(part) > 0 {
			n := copy(larger[o%int64(size):], part)
			part, o = part[n:], o+int64(n)
		}
	}
	r.buf = larger
}

// Room is how much can be written before a byte from offset on is lost.
func (r *Ring) Room(offset int64) int {
	if len(r.pieces) >= maxPieces && offset < r.pieces[1].at { // the oldest piece may go with the next write
		return 0
	}
	return int(max(0, int64(len(r.buf))-(r.end-max(offset, r.start))))
}

// Write adds what the program wrote to a stream. What no longer fits is lost, the oldest first.
func (r *Ring) Write(stream api.ProcessStream, p []byte) {
	if len(p) == 0 {
		return
	}
	if len(r.buf) == 0 {
		r.end += int64(len(p))
		r.start = r.end
		return
	}
	if n := len(r.pieces); n == 0 || r.pieces[n-1].stream != stream {
		r.pieces = append(r.pieces, piece{r.end, stream})
	}

	if lost := len(p) - len(r.buf); lost > 0 {
		r.end += int64(lost)
		p = p[lost:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.end%int64(len(r.buf)):], p)
		p, r.end = p[n:], r.end+int64(n)
	}
	r.drop(r.end - int64(len(r.buf)))
	if len(r.pieces) > maxPieces {
		r.drop(r.pieces[1].at)
	}
}

// drop forgets what is before an offset.
func (r *Ring) drop(before int64) {
	r.start = max(r.start, min(before, r.end))
	gone := 0
	for gone+1 < len(r.pieces) && r.pieces[gone+1].at <= r.start {
		gone++
	}
	r.pieces = slices.Delete(r.pieces, 0, gone)
}

// Read copies what was written from an offset on, at most maximum bytes. Next is where to read on. An offset behind the end
// reads nothing, and what is not kept any more is told in Gap.
func (r *Ring) Read(offset int64, maximum int) (out api.ProcessOutput) {
	offset = max(0, min(offset, r.end))
	from := max(offset, r.start)
	to := min(r.end, from+int64(maximum))
	out = api.ProcessOutput{Offset: from, Gap: from - offset, Next: to, Pieces: []api.ProcessPiece{}}
	for i, p := range r.pieces {
		begin, end := max(p.at, from), to
		if i+1 < len(r.pieces) {
			end = min(end, r.pieces[i+1].at)
		}
		if begin < end {
			out.Pieces = append(out.Pieces, api.ProcessPiece{Stream: p.stream, Data: r.copy(begin, end)})
		}
	}
	return out
}

// copy copies the bytes of a range that is kept.
func (r *Ring) copy(from, to int64) api.Bytes {
	b := make(api.Bytes, 0, to-from)
	for from < to {
		part := r.buf[from%int64(len(r.buf)):]
		part = part[:min(int64(len(part)), to-from)]
		b, from = append(b, part...), from+int64(len(part))
	}
	return b
}
