package caller

import (
	"bytes"
	"strings"
	"sync"
)

// A Tail keeps the last tailMax bytes of what is written to it.
type Tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

const tailMax = 4 << 10

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailMax; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

// String is what it has kept, without space around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(bytes.ToValidUTF8(t.text, []byte("?"))))
}
