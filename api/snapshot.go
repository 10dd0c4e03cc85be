package api

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A SnapshotRequest asks for a snapshot of the files of a session: what /box and /tmp have now.
type SnapshotRequest struct {
	Name  string   `json:"name,omitempty" doc:"name by which it is found as well as by its id; an earlier snapshot of that name loses it; at most 100 bytes"`
	Paths []string `json:"paths,omitempty" doc:"absolute paths below /box or /tmp, with all that is in them; none: everything there; at most 256"`
	Life  Duration `json:"life,omitempty" doc:"it is removed after this time; zero means 168h, and 720h is the most"`
	Space string   `json:"space,omitempty" doc:"of an agent: a set of snapshots of the same user, such as those of one key; the public service sets it, and accepts none"`
}

// A Snapshot is a stored copy of the files of a session, from which new sessions start.
type Snapshot struct {
	ID       string `json:"snapshot_id" doc:"its digest (sha256:...): equal files, modes and times have the same one"`
	Name     string `json:"name,omitempty" doc:"its name, if it has one"`
	Base     string `json:"base" doc:"digest of the image of its session, which is that of new ones unless they name another"`
	Language string `json:"language,omitempty" doc:"language of its session, and of new ones unless they name another"`
	Files    int64  `json:"files" doc:"files, directories and links"`
	Bytes    int64  `json:"bytes" doc:"bytes of all files, without the blocks of zeros in them"`
	Stored   int64  `json:"stored_bytes" doc:"bytes that it takes on the agent's disk"`
	Created  string `json:"created" doc:"when it was made, RFC 3339, UTC"`
	Expires  string `json:"expires" doc:"when it is removed, RFC 3339, UTC"`
}

// A SnapshotMade is a snapshot that was made just now.
type SnapshotMade struct {
	Snapshot

	Frozen  bool      `json:"frozen" doc:"whether all processes of the session stood still while the files were copied; if not, one of them did not stop within the bound, and files may be of different instants"`
	LeftOut []Skipped `json:"left_out,omitempty" doc:"what is not in the snapshot, and why; at most 64"`
	Omitted int64     `json:"omitted,omitempty" doc:"how many more were left out"`
}

// A ChangeKind says what became of a path.
type ChangeKind string

// The kinds.
const (
	PathAdded    ChangeKind = "added"
	PathModified ChangeKind = "modified" // its kind, its mode, its content, or what a link says
	PathRemoved  ChangeKind = "removed"
)

// A PathChange is one difference between a session and a snapshot. Of what was removed, kind, mode and size are those
// that it had.
type PathChange struct {
	Path   string     `json:"path" doc:"absolute; what is not UTF-8 in it is replaced, see bytes"`
	Bytes  []byte     `json:"bytes,omitempty" doc:"the path as it is, if it is not UTF-8"`
	Change ChangeKind `json:"change" doc:"what became of it"`
	Kind   FileKind   `json:"kind" doc:"file, directory or symlink"`
	Mode   uint32     `json:"mode" doc:"the nine bits of its permissions, as a number: 420 is 0644; 0 for a link"`
	Size   int64      `json:"size" doc:"of a regular file, in bytes"`
}

// A TakeRequest asks for files of another session.
type TakeRequest struct {
	From  string   `json:"from" doc:"id of the session that has the files"`
	Paths []string `json:"paths" doc:"absolute paths below /box or /tmp: regular files, and directories with all that is in them; at most 256"`
}

// TakenFiles says what was copied.
type TakenFiles struct {
	Files  int64 `json:"files" doc:"files and directories"`
	Bytes  int64 `json:"bytes" doc:"bytes of all files, without the blocks of zeros in them"`
	Frozen bool  `json:"frozen" doc:"whether all processes of the other session stood still meanwhile"`
}

// Bounds of snapshots, and of what is taken from another session.
const (
	SnapshotLife     = Duration(7 * 24 * time.Hour)
	SnapshotLifeMax  = Duration(30 * 24 * time.Hour)
	SnapshotFilesMax = 100_000 // files, directories and links of one
	SnapshotDepthMax = 60      // levels of directories
	SnapshotSizeMax  = GiB     // bytes that one takes on the agent's disk
	SnapshotsMax     = 256     // of one user or key
	SnapshotPathsMax = 256
	SnapshotsTotal   = 10 * GiB // of all together, if the operator sets nothing else (brigd --snapshots-total)
)

// Validate refuses a request that makes no sense, and cleans its paths.
func (s *SnapshotRequest) Validate() error {
	switch {
	case s.Life < 0 || s.Life > SnapshotLifeMax:
		return Refuse(CodeBadLimits, "life of a snapshot is %s: it must be from 0, which means %s, to %s", s.Life, SnapshotLife,
			SnapshotLifeMax)
	case s.Name != "":
		if err := SnapshotName(s.Name); err != nil {
			return err
		}
	}
	return cleanSnapshotPaths(s.Paths)
}

// Validate refuses a request that makes no sense, and cleans its paths.
func (t *TakeRequest) Validate() error {
	switch {
	case t.From == "":
		return Refuse(CodeBadRequest, "from is empty: set the id of the session that has the files")
	case len(t.Paths) == 0:
		return Refuse(CodeBadRequest, "paths is empty: name what to take, such as /box/out")
	}
	return cleanSnapshotPaths(t.Paths)
}

// cleanSnapshotPaths refuses paths that are not below /box or /tmp, and those with a part .., which could mean
// something else when a program has put a link there.
func cleanSnapshotPaths(paths []string) error {
	if len(paths) > SnapshotPathsMax {
		return Refuse(CodeBadRequest, "%d paths: the maximum is %d: name a directory that has them", len(paths), SnapshotPathsMax)
	}
	for i, p := range paths {
		clean, err := CleanPath(p)
		if err != nil {
			return err
		}
		text, _ := PrintablePath(p)
		for part := range strings.SplitSeq(p, "/") {
			if part == ".." {
				return Refuse(CodeBadFile, "path %q has a part ..: write it without", text)
			}
		}
		below, _, _ := strings.Cut(clean[1:], "/")
		if below != "box" && below != "tmp" {
			return Refuse(CodeBadFile, "path %q is not below /box or /tmp, which are the places whose files a snapshot has: "+
				"have a program copy it there (cp)", text)
		}
		paths[i] = clean
	}
	return nil
}

var snapshotName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`) })

// SnapshotName refuses names that a snapshot cannot have.
func SnapshotName(name string) error {
	if len(name) > 100 || !snapshotName().MatchString(name) {
		return Refuse(CodeBadRequest, "snapshot name %.120q: use 1 to 100 of A-Z, a-z, 0-9, _, . and -, and begin with a letter or digit",
			name)
	}
	return nil
}

const snapshotDigest = "sha256:"

// SnapshotRef refuses what is neither the id nor the name of a snapshot.
func SnapshotRef(ref string) error {
	hex, is := strings.CutPrefix(ref, snapshotDigest)
	switch {
	case is && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == "":
		return nil
	case is:
		return Refuse(CodeBadRequest, "snapshot %.120q: an id has sha256: and 64 hexadecimal digits: see brig snapshot ls", ref)
	}
	return SnapshotName(ref)
}

// The addresses of snapshots, in the agent and in the public service. Space is for the agent alone.

// SnapshotsPath is the address of all.
func SnapshotsPath(space string) string { return "/v1/snapshots" + spaceQuery(space) }

// SnapshotPath is the address of one.
func SnapshotPath(ref, space string) string {
	return "/v1/snapshots/" + url.PathEscape(ref) + spaceQuery(space)
}

// DiffPath is the address of the changes of a session since a snapshot; empty: since its creation.
func DiffPath(session, since string) string {
	path := "/v1/sessions/" + url.PathEscape(session) + "/diff"
	if since != "" {
		path += "?since=" + url.QueryEscape(since)
	}
	return path
}

func spaceQuery(space string) string {
	if space == "" {
		return ""
	}
	return "?space=" + url.QueryEscape(space)
}

// InSpace is how an agent is told of a snapshot that belongs to a space, where a request names it by one word.
func InSpace(space, ref string) string {
	if space == "" {
		return ref
	}
	return space + "/" + ref
}

// CutSpace is the reverse of InSpace.
func CutSpace(text string) (space, ref string) {
	if i := strings.LastIndexByte(text, '/'); i >= 0 {
		return text[:i], text[i+1:]
	}
	return "", text
}
