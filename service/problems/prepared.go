package problems

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
)

// A prepared is what the runs of a package have in common. The contents of its tests are kept apart from
// its JSON: reading them takes no decoding, and no more memory than they have.
type prepared struct {
	Run     api.Run  `json:"run"`
	Lengths [][2]int `json:"lengths"`         // of stdin and of the expected output of each test; -1: it is a blob, or absent
	Files   [][]int  `json:"files,omitempty"` // lengths of the files of each test, up to the last one that has any; -1: it is a blob
	Blobs   []Blob   `json:"blobs,omitempty"`

	// What decides on a submission, as in problem.Problem.
	Format    string            `json:"format"`
	Languages []string          `json:"languages,omitempty"`
	Time      api.Duration      `json:"time,omitempty"`
	NeedsTime bool              `json:"needs_time,omitempty"` // the time limit would follow from submissions of the jury
	Code      api.Size          `json:"code,omitempty"`
	Include   []problem.Include `json:"include,omitempty"`
	Included  [][]api.File      `json:"included,omitempty"` // the files of each Include
}

// A Blob is a large file of a package's tests, which the agent gets as a blob.
type Blob struct {
	Digest string `json:"digest"`         // its sha256 in hex
	File   string `json:"file"`           // its name in the package
	Text   bool   `json:"text,omitempty"` // its line ends become those of Unix
	Size   int64  `json:"size"`
}

// writeContents writes the contents of the tests one after the other, and leaves their lengths.
func (p *prepared) writeContents(w io.Writer) error {
	write := func(b api.Bytes) (int, error) {
		_, err := w.Write(b)
		return len(b), err
	}
	for i := range p.Run.Tests {
		t, length := &p.Run.Tests[i], [2]int{-1, -1}
		var err error
		if t.StdinBlob == "" {
			if length[0], err = write(t.Stdin); err != nil {
				return err
			}
		}
		if t.Expected != nil {
			if length[1], err = write(*t.Expected); err != nil {
				return err
			}
		}

		t.Stdin, t.Expected = nil, nil
		p.Lengths = append(p.Lengths, length)
	}

	for i, t := range p.Run.Tests {
		var lengths []int
		for k, f := range t.Files {
			n := -1
			if f.Blob == "" {
				var err error
				if n, err = write(f.Content); err != nil {
					return err
				}
			}
			t.Files[k].Content, lengths = nil, append(lengths, n)
		}

		if lengths != nil {
			p.Files = append(p.Files, make([][]int, i-len(p.Files))...)
			p.Files = append(p.Files, lengths)
		}
	}

	return nil
}

var errDamaged = errors.New("the stored package is damaged")

// readPrepared reads what writeContents and json.Marshal wrote.
func readPrepared(text, contents []byte) (*prepared, error) {
	p := new(prepared)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}

	// The text comes from the disk. A damaged file must be an error, and not an index out of range below.
	if len(p.Lengths) != len(p.Run.Tests) || len(p.Files) > len(p.Run.Tests) || len(p.Included) != len(p.Include) {
		return nil, errDamaged
	}

	take := func(n int) (api.Bytes, error) {
		if n > len(contents) {
			return nil, errDamaged
		}

		// The slices share the memory of contents. Each has a capacity of its own length, so that an append to
		// one cannot overwrite the next.
		content := api.Bytes(contents[:n:n])
		contents = contents[n:]
		return content, nil
	}

	for i, length := range p.Lengths {
		t := &p.Run.Tests[i]
		for k, n := range length {
			if n < 0 {
				continue
			}
			content, err := take(n)
			if err != nil {
				return nil, err
			}
			if k == 0 {
				t.Stdin = content
			} else {
				t.Expected = &content
			}
		}
	}

	// The files come after all inputs and outputs, as writeContents writes them.
	for i, lengths := range p.Files {
		files := p.Run.Tests[i].Files
		if len(lengths) != len(files) {
			return nil, errDamaged
		}

		for k, n := range lengths {
			if n < 0 {
				continue
			}
			var err error
			if files[k].Content, err = take(n); err != nil {
				return nil, err
			}
		}
	}

	return p, nil
}

// A Problem is a package that was read for one run.
type Problem struct{ kept *prepared }

// Blobs are the blobs that the run needs.
func (p Problem) Blobs() []Blob { return p.kept.Blobs }

// Run returns the run that judges a source by the problem. What ask says of limits and flags takes
// precedence; ask must have passed api.RunRequest.ValidateProblem. language is ask.Language without
// aliases, and ceiling what the agent allows.
func (p Problem) Run(ask api.Run, language string, ceiling api.Limits) (api.Run, error) {
	kept := p.kept
	if kept.Code > 0 && slices.ContainsFunc(ask.Files, func(f api.File) bool { return f.Blob != "" }) {
		return ask, api.Refuse(api.CodeBadRequest,
			"the problem limits the size of a submission, and files has a blob: send its content")
	}

	loader := grade.Loader{Problem: &problem.Problem{Format: kept.Format, Languages: kept.Languages,
		Limits: problem.Limits{Code: kept.Code}}}
	if err := loader.Allowed(grade.Submission{Text: ask.Source, Files: ask.Files}, language); err != nil {
		return ask, api.Refuse(api.CodeBadRequest, "%w", err)
	}
	if kept.NeedsTime && ask.Limits.CPU == 0 {
		return ask, api.Refuse(api.CodeBadLimits,
			"the package sets no time limit: set limits.cpu; brig problem verify says which limit follows from the submissions of the jury")
	}

	r := ask
	if len(r.Flags) == 0 {
		r.Flags = loader.Flags(language)
	}
	if r.Collect.IsZero() {
		r.Collect.None = true
	}
	if i := grade.IncludeFor(kept.Include, language); i >= 0 {
		r.Source = kept.Include[i].Source(r.Source)
		r.Files = grade.WithFiles(r.Files, kept.Included[i])
	}

	grade.Apply(&r, kept.Run, kept.Time, ceiling)
	return r, nil
}
