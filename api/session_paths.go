package api

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// SessionPaths selects the files of a session by their absolute paths, as its programs see them. They
// are read and changed with the rights of these programs. The agent and the public service serve them
// at the same addresses.
type SessionPaths struct{ Session string }

// A PathStatus describes what has a path in a session. A link is described itself.
type PathStatus struct {
	Path        string   `json:"path" doc:"absolute; what is not UTF-8 in it is replaced, see bytes"`
	Bytes       []byte   `json:"bytes,omitempty" doc:"the path as it is, if it is not UTF-8"`
	Kind        FileKind `json:"kind" doc:"only regular files can be read"`
	Size        int64    `json:"size" doc:"of a regular file, in bytes"`
	Mode        uint32   `json:"mode" doc:"the twelve bits of its mode, as a number: 420 is 0644"`
	Permissions string   `json:"permissions" doc:"kind and mode as ls -l prints them: -rw-r--r--"`
	UID         uint32   `json:"uid" doc:"its owner, as programs see it; theirs is 1000"`
	GID         uint32   `json:"gid" doc:"its group, as programs see it"`
	Owner       string   `json:"owner" doc:"the owner's name; its number if it has none"`
	Group       string   `json:"group" doc:"the group's name; its number if it has none"`
	Modified    string   `json:"modified" doc:"time of the last change of its content, RFC 3339"`
	Target      string   `json:"target,omitempty" doc:"of a link: what it says, which need not exist"`
}

// Raw is the path as the kernel has it, to send it back.
func (s PathStatus) Raw() string {
	if s.Bytes != nil {
		return string(s.Bytes)
	}
	return s.Path
}

// A PathList lists what is below a directory.
type PathList struct {
	Entries []PathStatus `json:"entries" doc:"in the order of a walk: of one directory by name, each directory before what is in it"`
	Skipped []Skipped    `json:"skipped,omitempty" doc:"directories that could not be read, and why"`
	Next    string       `json:"next,omitempty" doc:"there are more entries: send it as after"`
}

// The bounds of a PathList. PathListDepth is the most levels of directories.
const (
	PathListMax     = 10_000
	PathListDefault = 1_000
	PathListDepth   = 32
)

// A PathListing says what to list. The zero value lists what is in the directory itself.
type PathListing struct {
	Depth int    // levels of directories; zero: 1; at most PathListDepth
	Limit int    // most entries; zero: PathListDefault; at most PathListMax
	After string // Next of the list before; empty: from the beginning
}

// A PathContent is what is read of a regular file. The body has Length bytes from Offset on, or fewer if a
// program shortens the file meanwhile, and must be closed.
type PathContent struct {
	Status PathStatus
	Offset int64
	Length int64
	Body   io.ReadCloser
}

// PartHeader is the header with which the agent sends the Part that follows.
const PartHeader = "Brig-Part"

// A Part says which bytes of a file of Size bytes are sent.
type Part struct{ Offset, Length, Size int64 }

func (p Part) String() string { return fmt.Sprintf("%d %d %d", p.Offset, p.Length, p.Size) }

// ParsePart reads what Part.String wrote.
func ParsePart(text string) (p Part, err error) {
	_, err = fmt.Sscanf(text, "%d %d %d", &p.Offset, &p.Length, &p.Size)
	if err == nil && (p.Offset < 0 || p.Length < 0 || p.Offset+p.Length > p.Size) {
		err = fmt.Errorf("%q is no part of a file", text)
	}
	return p, err
}

// A PathMade says whether a request to make a directory made one.
type PathMade struct {
	Made bool `json:"made" doc:"false: there was such a directory already"`
}

// An Unpacked says what a request to unpack an archive has written.
type Unpacked struct {
	Entries int   `json:"entries" doc:"files, directories and links"`
	Bytes   int64 `json:"bytes" doc:"content of the files"`
}

// MaxPath is the longest path in bytes, as the kernel limits it, with a zero at its end.
const MaxPath = 4095

// CleanPath checks an absolute path in a session, and returns it without parts . and .. and without
// empty ones. A path may have any bytes but zero.
func CleanPath(name string) (string, error) {
	bad := func(why string) error {
		return Refuse(CodeBadFile, "path %q %s: write an absolute path in the session, such as /tmp/out.txt", shorten(name), why)
	}
	switch {
	case name == "":
		return "", Refuse(CodeBadFile, "there is no path: write an absolute path in the session, such as /tmp/out.txt")
	case name[0] != '/':
		return "", bad("is not absolute")
	case len(name) > MaxPath:
		return "", bad("is longer than " + strconv.Itoa(MaxPath) + " bytes")
	case strings.ContainsRune(name, 0):
		return "", bad("contains NUL")
	}

	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxName {
			return "", bad("has a part longer than " + strconv.Itoa(maxName) + " bytes")
		}
	}
	return path.Clean(name), nil
}

// LinkTarget checks what a symbolic link is to say. It may lead anywhere: nobody follows it with more
// rights than his own.
func LinkTarget(text string) (string, error) {
	if text == "" || len(text) > MaxPath || strings.ContainsRune(text, 0) {
		return "", Refuse(CodeBadFile, "target of the link must have from 1 to %d bytes and no NUL", MaxPath)
	}
	return text, nil
}

// shorten cuts a long path for a message.
func shorten(name string) string {
	const most = 200
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "..."
}

// ParseMode reads the mode of a file or directory to make: up to three octal digits after an optional
// zero. An upload sets no setuid, setgid or sticky bit (PTH-08).
func ParseMode(text string) (uint32, error) {
	digits := strings.TrimPrefix(text, "0")
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || len(digits) > 3 || n > 0o777 || text[0] == '+' {
		return 0, Refuse(CodeBadFile,
			"mode %q is not a mode of a file to make: write up to three octal digits, such as 0644; setuid, setgid and "+
				"sticky bits are not set", shorten(text))
	}
	return uint32(n), nil
}

// Cursor makes the text for PathList.Next of a path.
func Cursor(path string) string { return base64.RawURLEncoding.EncodeToString([]byte(path)) }

// ParseCursor reads what Cursor made; a path must be below dir.
func ParseCursor(text, dir string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	name := string(b)
	if err == nil && name != "" {
		name, err = CleanPath(name)
	}
	if err != nil || !strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/") {
		return "", Refuse(CodeBadRequest, "after is not next of a list of %q: send what the list before had as next", shorten(dir))
	}
	return name, nil
}

// FormatModified writes a file's time, in seconds and nanoseconds since 1970, in the form of PathStatus.
func FormatModified(seconds, nanoseconds int64) string {
	return time.Unix(seconds, nanoseconds).UTC().Format(time.RFC3339Nano)
}

// PrintablePath returns a path in the form of PathStatus: as text, and as bytes if the text is not the
// path.
func PrintablePath(name string) (text string, bytes []byte) {
	if utf8.ValidString(name) {
		return name, nil
	}
	return strings.ToValidUTF8(name, "\uFFFD"), []byte(name)
}

// Permissions writes kind and mode as ls -l prints them.
func Permissions(kind FileKind, mode uint32) string {
	first := map[FileKind]byte{RegularFile: '-', Directory: 'd', Symlink: 'l'}[kind]
	if first == 0 {
		first = '?'
	}
	text := []byte{first}
	for i := 8; i >= 0; i-- {
		if mode&(1<<i) != 0 {
			text = append(text, "xwr"[i%3])
		} else {
			text = append(text, '-')
		}
	}
	special := func(bit uint32, at int, plain, alone byte) {
		switch {
		case mode&bit == 0:
		case text[at] == 'x':
			text[at] = plain
		default:
			text[at] = alone
		}
	}
	special(0o4000, 3, 's', 'S')
	special(0o2000, 6, 's', 'S')
	special(0o1000, 9, 't', 'T')
	return string(text)
}

// Status is the address at which what has a path is described: a link itself, or with follow what it leads to.
func (p SessionPaths) Status(path string, follow bool) string {
	q := url.Values{"path": {path}}
	setFlag(q, "follow", follow)
	return p.address("", q)
}

// Remove is the address to which DELETE is sent.
func (p SessionPaths) Remove(path string, recursive bool) string {
	q := url.Values{"path": {path}}
	setFlag(q, "recursive", recursive)
	return p.address("", q)
}

// Content is the address of the content of a file. mode is of a file to write; empty: as it was, or 0644.
func (p SessionPaths) Content(path, mode string) string {
	q := url.Values{"path": {path}}
	if mode != "" {
		q.Set("mode", mode)
	}
	return p.address("/content", q)
}

// Part is the address of a part of the content of a file: length bytes from offset on, or if offset is
// negative, so many from the end. A negative length is all that follows.
func (p SessionPaths) Part(path string, offset, length int64) string {
	q := url.Values{"path": {path}}
	if offset != 0 {
		q.Set("offset", strconv.FormatInt(offset, 10))
	}
	if length >= 0 {
		q.Set("length", strconv.FormatInt(length, 10))
	}
	return p.address("/content", q)
}

// List is the address of a list of a directory.
func (p SessionPaths) List(path string, l PathListing) string {
	q := url.Values{"path": {path}}
	if l.Depth != 0 {
		q.Set("depth", strconv.Itoa(l.Depth))
	}
	if l.Limit != 0 {
		q.Set("limit", strconv.Itoa(l.Limit))
	}
	if l.After != "" {
		q.Set("after", l.After)
	}
	return p.address("/list", q)
}

// MakeDir is the address to which a request for a directory is sent; mode as of Content, else 0755.
func (p SessionPaths) MakeDir(path, mode string) string {
	q := url.Values{"path": {path}}
	if mode != "" {
		q.Set("mode", mode)
	}
	return p.address("/mkdir", q)
}

// Move is the address to which a request to rename is sent.
func (p SessionPaths) Move(from, to string, replace bool) string {
	q := url.Values{"from": {from}, "to": {to}}
	setFlag(q, "replace", replace)
	return p.address("/move", q)
}

// Link is the address to which a request for a symbolic link is sent.
func (p SessionPaths) Link(path, target string) string {
	return p.address("/link", url.Values{"path": {path}, "target": {target}})
}

// Tar is the address of the archive of a directory, at the public service alone: the agent reads no archive.
func (p SessionPaths) Tar(path string) string { return p.address("/tar", url.Values{"path": {path}}) }

func setFlag(q url.Values, name string, on bool) {
	if on {
		q.Set(name, "true")
	}
}

func (p SessionPaths) address(part string, q url.Values) string {
	return "/v1/sessions/" + url.PathEscape(p.Session) + "/fs" + part + "?" + q.Encode()
}
