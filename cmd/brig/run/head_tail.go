package run

// headTail keeps the beginning and the end of what is written to it, each up to headTailSize: the part of
// a forwarded stream that the diagnosis reads.
type headTail struct{ head, tail []byte }

const headTailSize = 64 << 10

func (e *headTail) Write(p []byte) (int, error) {
	n := len(p)
	space := min(headTailSize-len(e.head), len(p))
	e.head = append(e.head, p[:space]...)
	p = p[space:]
	e.tail = append(e.tail, p[max(0, len(p)-headTailSize):]...)
	if len(e.tail) > 2*headTailSize { // one copy for each headTailSize, not for each write
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-headTailSize:]...)
	}
	return n, nil
}

// bytes returns both parts, joined. If the stream had at most 2*headTailSize bytes nothing is missing.
func (e *headTail) bytes() []byte {
	last := e.tail[max(0, len(e.tail)-headTailSize):]
	return append(e.head[:len(e.head):len(e.head)], last...)
}
