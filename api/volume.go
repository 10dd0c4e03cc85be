package api

import (
	"strings"
	"unicode/utf8"
)

// A VolumeRequest asks for a volume at /workspace of a session: a file system of a
// fixed size that outlives it. One that does not exist is made.
type VolumeRequest struct {
	Name string `json:"name,omitempty" doc:"of an agent's volume; empty: that of labels.project. The public service has one for each key and project, and takes no name"`

	Size Size `json:"size,omitempty" doc:"all that it takes up, with the file system's own tables and journal; zero: as it is, or 256 MiB for a new one. It never changes"`

	ReadOnly bool `json:"read_only,omitempty" doc:"reads beside any session that writes, and makes no volume"`
	Shared   bool `json:"shared,omitempty" doc:"writes beside others that say so too; else one session at a time may write"`
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
	Name     string `json:"name" doc:"of the volume: the project"`
	Size     Size   `json:"size" doc:"all that it takes up, with the file system's own tables"`
	Used     int64  `json:"used_bytes" doc:"bytes that files and directories take"`
	Free     int64  `json:"free_bytes" doc:"bytes left to write"`
	Inodes   int64  `json:"inodes" doc:"files and directories that may still be made"`
	ReadOnly bool   `json:"read_only,omitempty" doc:"this session reads it only"`
	Shared   bool   `json:"shared,omitempty" doc:"other sessions may write to it at the same time"`
}

// A Volume is one that is kept.
type Volume struct {
	Name     string   `json:"name" doc:"of the volume: the project"`
	Size     Size     `json:"size" doc:"all that it takes up, with the file system's own tables"`
	Modified string   `json:"modified" doc:"when it was last written to, RFC 3339, UTC"`
	Sessions []string `json:"sessions,omitempty" doc:"that have it at /workspace"`
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
