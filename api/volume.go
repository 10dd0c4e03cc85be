package api

import (
	"strings"
	"unicode/utf8"
)

// A VolumeRequest asks for a volume at /workspace of a session: a file system of a
// fixed size that outlives it. One that does not exist is made.
type VolumeRequest struct {
	// Name is the volume's, among those of the caller; empty: that of labels.project. The
	// public service has one for each key and project and takes no name.
	Name string `json:"name,omitempty"`

	// Size is all that it takes up, with the file system's own tables and journal. Zero:
	// as it is, or VolumeSize for a new one. It never changes.
	Size Size `json:"size,omitempty"`

	// One session at a time may write, unless all that do say Shared. ReadOnly reads
	// beside any of them, and makes no volume.
	ReadOnly bool `json:"read_only,omitempty"`
	Shared   bool `json:"shared,omitempty"`
}

// The sizes of a volume: where none is asked for, the least, and the most where the
// operator has said nothing else (brigd --max-volume).
const (
	VolumeSize    = 256 * MiB
	VolumeSizeMin = 16 * MiB
	VolumeSizeMax = 4 * GiB
)

// A MountedVolume is a volume as a session has it.
type MountedVolume struct {
	Name     string `json:"name"`
	Size     Size   `json:"size"`
	Used     int64  `json:"used_bytes"` // by files and directories
	Free     int64  `json:"free_bytes"` // left to write
	Inodes   int64  `json:"inodes"`     // files and directories that may still be made
	ReadOnly bool   `json:"read_only,omitempty"`
	Shared   bool   `json:"shared,omitempty"`
}

// A Volume is one that is kept.
type Volume struct {
	Name     string   `json:"name"`
	Size     Size     `json:"size"`
	Modified string   `json:"modified"`           // RFC 3339, UTC: when it was last written to
	Sessions []string `json:"sessions,omitempty"` // that have it at /workspace
}

// VolumeName refuses names that a volume cannot have.
func VolumeName(name string) error {
	bad := func(why string) error { return Refuse(CodeBadRequest, "volume name %.80q %s", name, why) }
	switch {
	case name == "":
		return bad("is empty: set volume.name, or labels.project")
	case len(name) > 200:
		return bad("is over 200 bytes")
	case name == "." || name == "..":
		return bad("means a directory: choose another")
	case name == "/":
		return bad("is a part of no address: choose another") // net/http's patterns do not match it
	case !utf8.ValidString(name):
		return bad("has bytes that are not UTF-8")
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return bad("has control characters")
	}
	return nil
}

// VolumeName is the name of the volume that the session asks for.
func (s SessionRequest) VolumeName() string {
	if s.Volume.Name != "" {
		return s.Volume.Name
	}
	return s.Labels.Project
}

func (s SessionRequest) validateVolume() error {
	v := s.Volume
	if v == nil {
		return nil
	}
	switch {
	case v.ReadOnly && v.Shared:
		return Refuse(CodeBadRequest, "volume.shared is of those that write: leave it out with read_only")
	case v.Size < 0 || v.Size != 0 && v.Size < VolumeSizeMin:
		return Refuse(CodeBadLimits, "volume.size is %s: the least is %s", v.Size, VolumeSizeMin)
	}
	return VolumeName(s.VolumeName())
}
