package service

import (
	"io"
	"net/http"
	"time"
)

// A lineStream sends lines of JSON. Blank lines are signs of life.
type lineStream struct {
	w   http.ResponseWriter
	out *http.ResponseController
}

func (s lineStream) Write(p []byte) (int, error) {
	setWriteDeadline(s.w)
	return s.w.Write(p)
}

func (s lineStream) Flush() error { return s.out.Flush() }

func (s lineStream) Beat() error {
	if _, err := io.WriteString(s, "\n"); err != nil {
		return err
	}
	return s.out.Flush()
}

// jsonLines is the content type of lines of JSON.
const jsonLines = "application/x-ndjson"

// heartbeat keeps proxies from closing an idle stream, and detects clients that have left.
const heartbeat = 15 * time.Second

func (s *core) startEvents(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer them
	w.WriteHeader(http.StatusOK)
}

// eventStream is the content type of server-sent events.
const eventStream = "text/event-stream"
