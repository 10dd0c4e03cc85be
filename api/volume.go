package api

import (
	"strings"
	"unicode/utf8"
)

// A VolumeRequest asks for a volume at /workspace of a session: a file system of a fixed size that
// outlives the session. A volume that does not exist is created.
type VolumeRequest struct {
	Name string `json:"name,omitempty" doc:"name of the agent's volume; empty: labels.project. The public service has one volume for each key and project and accepts no name"`

	Size Size `json:"size,omitempty" doc:"total size, including the file system's tables and journal; zero: the existing size, or 256 MiB for a new volume. The size of a volume never changes"`

	ReadOnly bool `json:"read_only,omitempty" doc:"mount read-only, also while another session writes; creates no volume"`
	Shared   bool `json:"shared,omitempty" doc:"write together with other sessions that also set shared; otherwise only one session at a time may write"`

	Temporary bool `json:"temporary,omitempty" doc:"a volume of labels.run alone, next to the one that lasts: it outlives the session, and is removed when its run is ended (POST /v1/end)"`
}

// The sizes of a volume: the default, the minimum, and the maximum if the operator has set nothing
// else (brigd --max-volume).
const (
	VolumeSize    = 256 * MiB
	VolumeSizeMin = 16 * MiB
	VolumeSizeMax = 4 * GiB
)

// A MountedVolume is a volume as mounted in a session.
type MountedVolume struct {
	Name     string `json:"name" doc:"name of the volume: the project"`
	Run      string `json:"run,omitempty" doc:"run of a temporary volume"`
	Size     Size   `json:"size" doc:"total size, including the file system's tables"`
	Used     int64  `json:"used_bytes" doc:"bytes used by files and directories"`
	Free     int64  `json:"free_bytes" doc:"bytes left to write"`
	Inodes   int64  `json:"inodes" doc:"files and directories that can still be created"`
	ReadOnly bool   `json:"read_only,omitempty" doc:"mounted read-only in this session"`
	Shared   bool   `json:"shared,omitempty" doc:"other sessions may write to it at the same time"`
}

// A Volume is a stored volume.
type Volume struct {
	Name     string   `json:"name" doc:"name of the volume: the project"`
	Run      string   `json:"run,omitempty" doc:"run of a temporary volume, with which it is removed; absent: it lasts until it is removed"`
	Size     Size     `json:"size" doc:"total size, including the file system's tables"`
	Modified string   `json:"modified" doc:"when it was last written to, RFC 3339, UTC"`
	Sessions []string `json:"sessions,omitempty" doc:"sessions that have it mounted at /workspace"`
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
		return bad("is the name of a directory: choose another")
	case name == "/":
		return bad("cannot be used in a URL: choose another") // net/http's patterns do not match it
	case !utf8.ValidString(name):
		return bad("has bytes that are not UTF-8")
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return bad("has control characters")
	}

	return nil
}

// VolumeRun returns the run of the temporary volume that the session asks for; empty: it asks for none.
func (s SessionRequest) VolumeRun() string {
	if s.Volume == nil || !s.Volume.Temporary {
		return ""
	}
	return s.Labels.Run
}

// VolumeName returns the name of the volume that the session asks for.
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
		return Refuse(CodeBadRequest, "volume.shared is only for writing: leave it out with read_only")
	case v.Temporary && s.Labels.Run == "":
		return Refuse(CodeBadRequest, "volume.temporary is set, and the session belongs to no run: set labels.run")
	case v.Size < 0 || v.Size != 0 && v.Size < VolumeSizeMin:
		return Refuse(CodeBadLimits, "volume.size is %s: the least is %s", v.Size, VolumeSizeMin)
	}
	return VolumeName(s.VolumeName())
}
