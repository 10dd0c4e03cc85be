package api

// An Image is a stored file tree in which programs run.
type Image struct {
	Digest  string   `json:"digest"` // "sha256:..." of the canonical archive
	Names   []string `json:"names"`
	Size    int64    `json:"size_bytes"` // unpacked
	Created string   `json:"created"`    // RFC 3339, UTC

	Layers []Layer     `json:"layers,omitempty"` // lowest first, those of which the image shows something; none: the image is one tree
	Config ImageConfig `json:"config,omitzero"`
	Origin ImageOrigin `json:"origin,omitzero"` // of its first import

	Origins map[string]ImageOrigin `json:"origins,omitempty"` // by name, of the latest import under it

	Replaced bool `json:"replaced,omitempty"` // this import replaced the stored tree of the same digest, which was damaged
}

// OriginOf returns where the image came from under a name.
func (i Image) OriginOf(name string) ImageOrigin {
	if o, ok := i.Origins[name]; ok {
		return o
	}
	return i.Origin
}

// A Layer is one stored layer of images.
type Layer struct {
	Digest  string `json:"digest"` // "sha256:..." of the uncompressed tar: OCI's diffID
	Size    int64  `json:"size_bytes"`
	Created string `json:"created"` // RFC 3339, UTC
	Images  int    `json:"images"`  // that have it
}

// An ImageConfig is what an image says about running it.
type ImageConfig struct {
	Env        []string `json:"env,omitempty"` // NAME=VALUE
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	WorkingDir string   `json:"working_dir,omitempty"`
	User       string   `json:"user,omitempty"` // not followed: a program is always the same unprivileged user
}

// An ImageOrigin says where an image came from.
type ImageOrigin struct {
	Reference string `json:"reference,omitempty"`
	Manifest  string `json:"manifest,omitempty"` // digest
	Config    string `json:"config,omitempty"`   // digest
	Platform  string `json:"platform,omitempty"` // such as linux/amd64
}

// An ImageSpec describes an image of layers that the store has.
type ImageSpec struct {
	Layers []string    `json:"layers"` // digests, lowest first
	Config ImageConfig `json:"config,omitzero"`
	Origin ImageOrigin `json:"origin,omitzero"`
}

// Cleaned lists what a cleaning removed.
type Cleaned struct {
	Images []string `json:"images"` // digests
	Layers []string `json:"layers,omitempty"`
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
