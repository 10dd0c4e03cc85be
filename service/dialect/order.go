package dialect

import "github.com/brig-sandbox/brig/api"

// An Order says in which order the pieces of stdout and stderr of a program arrived. That is the order in which it wrote
// them, unless it wrote to both at the same moment: they are two pipes.
type Order []OrderedPiece

// An OrderedPiece is a number of bytes of one stream.
type OrderedPiece struct {
	Stderr bool `json:"stderr,omitempty"`
	Bytes  int  `json:"bytes"`
}

// maxOrdered bounds the memory of an order. A program that changes between its streams more often than that has the rest
// of stdout before that of stderr.
const maxOrdered = 4096

// Add adds a piece at the end.
func (o *Order) Add(stderr bool, bytes int) {
	last := len(*o) - 1
	switch {
	case last >= 0 && (*o)[last].Stderr == stderr:
		(*o)[last].Bytes += bytes
	case last+1 < maxOrdered:
		*o = append(*o, OrderedPiece{Stderr: stderr, Bytes: bytes})
	}
}

// Merge returns stdout and stderr in this order, and then what it does not know of. Of a stream that is shorter than the
// order says, as it was cut, all that there is comes in its places.
func (o Order) Merge(stdout, stderr api.Bytes) api.Bytes {
	all := make(api.Bytes, 0, len(stdout)+len(stderr))
	for _, p := range o {
		from := &stdout
		if p.Stderr {
			from = &stderr
		}
		n := min(p.Bytes, len(*from))
		all, *from = append(all, (*from)[:n]...), (*from)[n:]
	}
	return append(append(all, stdout...), stderr...)
}
