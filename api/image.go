package api

// An Image is a stored file tree in which programs run.
type Image struct {
	Digest  string   `json:"digest"` // "sha256:..." of the canonical archive
	Names   []string `json:"names"`
	Size    int64    `json:"size_bytes"` // unpacked
	Created string   `json:"created"`    // RFC 3339, UTC

	Replaced bool `json:"replaced,omitempty"` // this import replaced the stored tree of the same digest, which was damaged
}

// Cleaned lists what a cleaning removed.
type Cleaned struct {
	Images []string `json:"images"` // digests
	Bytes  int64    `json:"bytes"`
}

// Verified says how a stored image differs from the imported one, by the paths of its members.
type Verified struct {
	Image   Image    `json:"image"`
	Members int64    `json:"members"` // checked
	Bytes   int64    `json:"bytes"`
	Changed []string `json:"changed"`
	Missing []string `json:"missing"`
	Extra   []string `json:"extra"`
}

// OK reports whether the stored image is unchanged.
func (v Verified) OK() bool { return len(v.Changed)+len(v.Missing)+len(v.Extra) == 0 }
