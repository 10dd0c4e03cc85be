package packages

import (
	"strings"
	"sync"
	"unicode"
)

// maxWords is how much of an installer's output an error has.
const maxWords = 4 << 10

// lastWords keeps the end of what an installer writes.
type lastWords struct {
	mu   sync.Mutex
	end  []byte // guarded by mu
	lost bool   // guarded by mu; there was more
}

func (l *lastWords) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = append(l.end, b...)
	if over := len(l.end) - maxWords; over > 0 {
		l.end, l.lost = append(l.end[:0], l.end[over:]...), true
	}
	return len(b), nil
}

// text returns the words without control characters: they may come from a hostile package, and go to a
// terminal.
func (l *lastWords) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()

	text := strings.ToValidUTF8(string(l.end), "?")
	if l.lost {
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			text = rest
		}
	}

	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return -1
	}, text)

	return strings.TrimSpace(text)
}
