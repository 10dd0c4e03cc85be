package core

import "net/http"

// A FileResponse sends the headers of a response before the first bytes of a file. No browser treats the file as a page
// of this service (API-23).
type FileResponse struct {
	W           http.ResponseWriter
	HeadersSent bool
}

func (f *FileResponse) Write(p []byte) (int, error) {
	if !f.HeadersSent {
		f.Send(http.StatusOK)
	}
	SetWriteDeadline(f.W)
	return f.W.Write(p)
}

// Send sends the headers.
func (f *FileResponse) Send(status int) {
	f.HeadersSent = true
	h := f.W.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment")
	h.Set("X-Content-Type-Options", "nosniff")
	f.W.WriteHeader(status)
}
