package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
)

// WriteFile are the arguments of write_file.
type WriteFile struct {
	Session    string  `json:"session_id" jsonschema:"id of the session"`
	Path       string  `json:"path" jsonschema:"name of the file relative to /box, such as src/main.py"`
	Content    Content `json:"content" jsonschema:"the whole content: text, or an object with base64"`
	Executable bool    `json:"executable,omitempty" jsonschema:"whether it can be executed"`
}

// ReadFile are the arguments of read_file.
type ReadFile struct {
	Session string `json:"session_id" jsonschema:"id of the session"`
	Path    string `json:"path" jsonschema:"name of the file relative to /box"`
	Offset  int64  `json:"offset,omitempty" jsonschema:"byte at which to begin, such as next_offset of an earlier call"`
}

// ListFiles are the arguments of list_files.
type ListFiles struct {
	Session string `json:"session_id" jsonschema:"id of the session"`
	Path    string `json:"path,omitempty" jsonschema:"directory relative to /box; none: /box itself"`
}

// DeleteFile are the arguments of delete_file.
type DeleteFile struct {
	Session string `json:"session_id" jsonschema:"id of the session"`
	Path    string `json:"path" jsonschema:"name relative to /box of a file, or of an empty directory"`
}

// boxName returns a path as a name relative to /box: models also write the absolute path.
func boxName(path string) string {
	if path == "/box" || path == "." {
		return ""
	}
	return strings.TrimPrefix(strings.TrimPrefix(path, "/box/"), "./")
}

// readMax is the most bytes of a file in one answer.
const readMax = 32 << 10

// A FilePart is the answer of read_file.
type FilePart struct {
	Content  string `json:"content" jsonschema:"the content from offset on, at most 32 KiB"`
	Encoding string `json:"encoding" jsonschema:"utf-8, or base64 if the content is not text"`
	Next     int64  `json:"next_offset,omitempty" jsonschema:"offset of the rest; absent at the end of the file"`
}

// tellPart makes the answer of read_file. The bytes may be one more than fit, to show that there are more.
func tellPart(offset int64, got []byte) FilePart {
	p := FilePart{Encoding: "utf-8"}
	if len(got) > readMax {
		got = got[:readMax]
		if cut := api.Bytes(got).IncompleteTail(); utf8.Valid(got[:len(got)-cut]) {
			got = got[:len(got)-cut]
		}
		p.Next = offset + int64(len(got))
	}

	if p.Content = string(got); !utf8.Valid(got) {
		p.Content, p.Encoding = base64.StdEncoding.EncodeToString(got), "base64"
	}
	return p
}

func (p FilePart) text() string {
	text := p.Content
	if p.Encoding != "utf-8" {
		text = p.Encoding + ":\n" + text
	}
	if p.Next > 0 {
		text += fmt.Sprintf("\n[the file goes on at offset %d]\n", p.Next)
	}
	return text
}

// errEnough ends the reading of a file of which nothing more is needed.
var errEnough = errors.New("enough of the file was read")

// A window keeps the bytes of a file from an offset on, and one more than an answer can have.
type window struct {
	skip int64
	max  int // the most bytes of an answer
	kept bytes.Buffer
}

func (w *window) Write(p []byte) (int, error) {
	n := len(p)
	skipped := min(w.skip, int64(n))
	w.skip -= skipped
	p = p[skipped:]
	w.kept.Write(p[:min(len(p), w.max+1-w.kept.Len())])
	if w.kept.Len() > w.max {
		return 0, errEnough
	}
	return n, nil
}

// FileNames is the answer of list_files.
type FileNames struct {
	Files []FileName `json:"files" jsonschema:"the names, in the order of a walk"`
	More  bool       `json:"more,omitempty" jsonschema:"whether there are more names than fit into an answer: list a directory"`
}

// A FileName is one name in the answer of list_files.
type FileName struct {
	Name string `json:"name" jsonschema:"name relative to /box"`
	Kind string `json:"kind" jsonschema:"file, directory, symlink or other"`
	Size int64  `json:"size" jsonschema:"size of a file in bytes"`
}

// listMax is the most names in an answer of list_files.
const listMax = 500

// tellFiles makes the answer of list_files.
func tellFiles(l api.FileList) FileNames {
	out := FileNames{Files: []FileName{}, More: l.More || len(l.Files) > listMax}
	for _, f := range l.Files[:min(len(l.Files), listMax)] {
		out.Files = append(out.Files, FileName{Name: validText([]byte(f.Name)), Kind: string(f.Kind), Size: f.Size})
	}
	return out
}

func (l FileNames) text() string {
	var b strings.Builder
	for _, f := range l.Files {
		fmt.Fprintf(&b, "%s %d %q\n", f.Kind, f.Size, f.Name)
	}
	if len(l.Files) == 0 {
		b.WriteString("there are no files\n")
	}
	if l.More {
		b.WriteString("[there are more: list a directory]\n")
	}
	return b.String()
}

// addFiles adds the tools for files in sessions.
func addFiles(s *sdk.Server, of runnerOf) {
	add(s, tool{name: "write_file", title: "Write a file", effect: same,
		about: "Write a file in /box of a session. It replaces a file of that name, and makes missing directories."},
		func(ctx context.Context, in WriteFile) (Done, error) {
			name := boxName(in.Path)
			err := of(ctx).PutFile(ctx, in.Session, name, bytes.NewReader(in.Content), in.Executable)
			return Done{fmt.Sprintf("%d bytes are in /box/%s", len(in.Content), name)}, err
		})

	add(s, tool{name: "read_file", title: "Read a file", effect: reads,
		about: "Read a file in /box of a session, 32 KiB at a time."},
		func(ctx context.Context, in ReadFile) (FilePart, error) {
			if in.Offset < 0 {
				return FilePart{}, api.Refuse(api.CodeBadRequest, "offset is %d: write 0 or more", in.Offset)
			}
			w := &window{skip: in.Offset, max: readMax}
			err := of(ctx).GetFile(ctx, in.Session, boxName(in.Path), w)
			if errors.Is(err, errEnough) {
				err = nil
			}
			return tellPart(in.Offset, w.kept.Bytes()), err
		})

	add(s, tool{name: "list_files", title: "List files", effect: reads,
		about: "List the files in /box of a session, or in a directory there."},
		func(ctx context.Context, in ListFiles) (FileNames, error) {
			l, err := of(ctx).ListFiles(ctx, in.Session, boxName(in.Path))
			return tellFiles(l), err
		})

	add(s, tool{name: "delete_file", title: "Delete a file", effect: same,
		about: "Delete a file in /box of a session, or an empty directory."},
		func(ctx context.Context, in DeleteFile) (Done, error) {
			name := boxName(in.Path)
			return Done{"/box/" + name + " is deleted"}, of(ctx).DeleteFile(ctx, in.Session, name)
		})
}
