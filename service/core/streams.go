package core

import (
	"io"
	"net/http"
	"time"
)

// A LineStream sends lines of JSON. Blank lines are signs of life.
type LineStream struct {
	w   http.ResponseWriter
	Out *http.ResponseController
}

// NewLineStream makes the stream of a response whose headers have been sent.
func NewLineStream(w http.ResponseWriter) LineStream {
	return LineStream{w, http.NewResponseController(w)}
}

func (s LineStream) Write(p []byte) (int, error) {
	SetWriteDeadline(s.w)
	return s.w.Write(p)
}

// Flush sends what was written.
func (s LineStream) Flush() error { return s.Out.Flush() }

// Beat sends a sign of life.
func (s LineStream) Beat() error {
	if _, err := io.WriteString(s, "\n"); err != nil {
		return err
	}
	return s.Out.Flush()
}

// JSONLines is the content type of lines of JSON.
const JSONLines = "application/x-ndjson"

// Heartbeat keeps proxies from closing an idle stream, and detects clients that have left.
const Heartbeat = 15 * time.Second

// StartEvents begins a response of server-sent events.
func (s *Core) StartEvents(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", EventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer them
	w.WriteHeader(http.StatusOK)
}

// EventStream is the content type of server-sent events.
const EventStream = "text/event-stream"
