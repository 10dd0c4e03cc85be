package testenv

import (
	"bytes"
	"sync"
)

// A Log keeps everything written to it, and may be read concurrently. The zero value is
// an empty log.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
