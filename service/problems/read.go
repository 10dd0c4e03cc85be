// Package problems keeps the packages of problems that callers of a service have put, each under a key
// and a name, and makes runs of them. What callers pack is read by Read, in a process of its own.
package problems

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/format"
)

// Parts says what Read wrote, one part after the other: how many bytes each has, and what the package
// is.
type Parts struct {
	About    api.StoredProblem `json:"about"` // without Bytes, Stored and Manifest
	Archive  int64             `json:"archive"`
	Contents int64             `json:"contents"`
	Run      int64             `json:"run"`
	Manifest int64             `json:"manifest"`
	Blobs    int64             `json:"blobs"` // of all large files of its tests, which are in Archive
}

func (p Parts) size() int64 { return p.Archive + p.Contents + p.Run + p.Manifest }

// maxTitle bounds the title of a problem, in bytes: the service keeps the titles of all in memory.
const maxTitle = 256

// Read reads the package in a zip or tar archive, and writes to out what the service keeps of it: a zip
// of its files, the contents of its tests, the run that they make, and the package in brig's words. An
// error of the package has the code bad-problem, and says everything that is wrong.
func Read(name string, archive *os.File, out io.Writer) (Parts, error) {
	w := &countingWriter{to: out}
	p, err := read(name, archive, w)
	var e *api.Error
	switch {
	case err == nil, errors.As(err, &e):
		return p, err
	case errors.Is(err, syscall.EFBIG):
		return p, tooLarge()
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return p, api.Fail(api.CodeHostExhausted,
			"there is no space on the disk for the package: try again later, or have the operator free some")
	case w.err != nil:
		return p, api.Fail(api.CodeInternal, "write the package: %w", w.err)
	}

	text := err.Error() // names of files are in it
	if len(text) > maxMistakes {
		text = strings.ToValidUTF8(text[:maxMistakes], "") + "..."
	}
	return p, api.Refuse(api.CodeBadProblem, "%s", text)
}

// maxMistakes bounds the text of an error of a package, in bytes.
const maxMistakes = 16 << 10

func tooLarge() error {
	return api.Refuse(api.CodeTooLarge, "the package is too large: its files may have %s, unpacked", MaxFile)
}

func read(name string, archive *os.File, w *countingWriter) (p Parts, err error) {
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return p, api.Fail(api.CodeInternal, "read the package: %w", err)
	}

	info, err := archive.Stat()
	if err != nil {
		return p, api.Fail(api.CodeInternal, "read the package: %w", err)
	}

	whole, err := problem.OpenFile(name, archive, info.Size())
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, whole.Close()) }()

	unpacked := int64(0)
	for _, file := range whole.Names() {
		if unpacked += whole.Size(file); unpacked > int64(MaxFile) { // before any is read
			return p, tooLarge()
		}
	}

	about, tree, err := format.Read(whole)
	if err != nil {
		return p, err
	}
	if n := len(about.Tests); n > api.MaxTests {
		return p, fmt.Errorf("%s: it has %d tests: the most of one run is %d", name, n, api.MaxTests)
	}

	// The run is prepared now, so that a package of which no run can be made is refused when it is put,
	// and not at its first run.
	kept, err := prepare(about, tree)
	if err != nil {
		return p, fmt.Errorf("%s: %w", name, err)
	}

	p.About = api.StoredProblem{
		Name: name, Format: about.Format, Title: strings.ToValidUTF8(about.Title[:min(len(about.Title), maxTitle)], ""),
		Scoring: about.Scoring, Interactive: about.Interactive,
		Tests: len(about.Tests), Time: about.Limits.Time,
	}

	for _, b := range kept.Blobs {
		p.Blobs += b.Size
	}

	// Parts has only lengths, so the order of writing is the format: archive, contents, run, manifest.
	if p.About.Digest, err = tree.Pack(context.Background(), w); err != nil {
		return p, err
	}

	p.Archive = w.n
	if err := kept.writeContents(w); err != nil {
		return p, err
	}

	p.Contents = w.n - p.Archive

	// writeContents has moved the contents out of kept and left their lengths in it. So its JSON comes
	// after them.
	for _, part := range []struct {
		of   any
		size *int64
	}{{kept, &p.Run}, {about, &p.Manifest}} {
		text, err := json.Marshal(part.of)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			return p, err
		}
		*part.size = int64(len(text))
	}

	return p, nil
}

// prepare makes the run of a package, and tries whether an agent would take it.
func prepare(about *problem.Problem, tree *problem.Tree) (*prepared, error) {
	kept := &prepared{
		Format: about.Format, Languages: about.Languages, Time: about.Limits.Time, Code: about.Limits.Code,
		Include:   about.Include,
		NeedsTime: about.Limits.Time == 0 && len(about.Jury) > 0,
	}

	loader := grade.Loader{Problem: about, Tree: tree, Put: func(file string, content []byte) (string, error) {
		sum := sha256.Sum256(content)
		digest := hex.EncodeToString(sum[:])
		original, err := tree.Read(file, int64(problem.MaxStored))
		kept.Blobs = append(kept.Blobs,
			Blob{Digest: digest, File: file, Text: !bytes.Equal(original, content), Size: int64(len(content))})
		return digest, err
	}}

	var err error
	if kept.Run, err = loader.Common(); err != nil {
		return nil, withSizes(err)
	}

	left := int64(maxIncluded)
	for _, in := range about.Include {
		files, err := loader.Include(in)
		if err != nil {
			return nil, withSizes(err)
		}
		for _, f := range files {
			left -= int64(len(f.Content))
		}
		if left < 0 {
			return nil, api.Refuse(api.CodeTooLarge,
				"the files that the package places next to submissions have more than %s", api.Size(maxIncluded))
		}
		kept.Included = append(kept.Included, files)
	}

	probe := kept.Run
	probe.Language, probe.Source = "any", api.Bytes{}
	return kept, probe.Validate()
}

// maxIncluded bounds the files that a package places next to submissions, in bytes: each of its runs has
// them in memory.
const maxIncluded = 8 << 20

// withSizes gives the error of a file that is too large its code.
func withSizes(err error) error {
	var large *inputfile.TooLargeError
	if errors.As(err, &large) {
		return api.Refuse(api.CodeTooLarge, "%w", err)
	}
	return err
}

// A countingWriter counts what it wrote, and keeps its error.
type countingWriter struct {
	to  io.Writer
	n   int64
	err error
}

func (w *countingWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.n += int64(n)
	if err != nil {
		w.err = err
	}
	return n, err
}
