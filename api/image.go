package api

// An Image is a stored tree to run programs in.
type Image struct {
	Digest  string   `json:"digest"` // "sha256:..." of the canonical archive
	Names   []string `json:"names"`
	Size    int64    `json:"size_bytes"` // unpacked
	Created string   `json:"created"`    // RFC 3339, UTC
}

// Cleaned says what cleaning removed.
type Cleaned struct {
	Images []string `json:"images"` // digests
	Bytes  int64    `json:"bytes"`
}
