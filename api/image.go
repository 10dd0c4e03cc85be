package api

// An Image is a stored tree to run programs in.
type Image struct {
	Digest  string   `json:"digest"` // "sha256:..." of the canonical archive
	Names   []string `json:"names"`
	Size    int64    `json:"size_bytes"` // unpacked
	Created string   `json:"created"`    // RFC 3339, UTC

	Replaced bool `json:"replaced,omitempty"` // by this import: what was stored under the digest was damaged
}

// Cleaned says what cleaning removed.
type Cleaned struct {
	Images []string `json:"images"` // digests
	Bytes  int64    `json:"bytes"`
}

// Verified says how a stored image differs from what was imported, by the paths of
// its members.
type Verified struct {
	Image   Image    `json:"image"`
	Members int64    `json:"members"` // looked at
	Bytes   int64    `json:"bytes"`
	Changed []string `json:"changed"`
	Missing []string `json:"missing"`
	Extra   []string `json:"extra"`
}

// OK says that it does not differ.
func (v Verified) OK() bool { return len(v.Changed)+len(v.Missing)+len(v.Extra) == 0 }
