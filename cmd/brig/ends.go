package main

// ends keeps the first and the last of what is written to it, each up to endSize:
// what a diagnosis looks at of a stream that is passed on.
type ends struct{ first, last []byte }

const endSize = 64 << 10

func (e *ends) Write(p []byte) (int, error) {
	n := len(p)
	room := min(endSize-len(e.first), len(p))
	e.first = append(e.first, p[:room]...)
	p = p[room:]
	e.last = append(e.last, p[max(0, len(p)-endSize):]...)
	if len(e.last) > 2*endSize { // moved once for each endSize, not for each write
		e.last = append(e.last[:0], e.last[len(e.last)-endSize:]...)
	}
	return n, nil
}

// bytes gives both, as one where nothing is missing between them.
func (e *ends) bytes() []byte {
	last := e.last[max(0, len(e.last)-endSize):]
	return append(e.first[:len(e.first):len(e.first)], last...)
}
