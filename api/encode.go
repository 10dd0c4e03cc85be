package api

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"unicode/utf8"
)

// An Encoding is the JSON of a value, identical to the output of json.Marshal. json.Marshal would
// hold large contents in memory three times or more; an Encoding only points to them and encodes
// them while it is written.
type Encoding struct {
	parts    [][]byte  // the JSON around the contents: one part more than contents
	contents []content // the large ones
}

// Above these sizes, in bytes, contents are encoded in pieces: all contents of a value together,
// and then each single one.
const (
	largeContents = 64 << 10
	largeContent  = 1 << 10
)

// Encode makes the encoding of a value, which must not change any more. It finds the contents of
// results, runs, jobs and execs; any other value is encoded in one piece.
func Encode(v any) (*Encoding, error) {
	var extractor contentExtractor
	switch of := v.(type) {
	case Result:
		v = extractor.result(of)
	case *Result:
		if of != nil {
			v = extractor.result(*of)
		}
	case TestResult:
		if of.Content() > largeContents {
			of = extractor.test(of)
		}
		v = of

	case Status:
		v = extractor.status(of)
	case Executed:
		v = extractor.executed(of)
	case Run:
		v = extractor.run(of)
	case Job:
		of.Run = extractor.run(of.Run)
		v = of
	case Exec:
		if len(of.Source)+len(of.Stdin) > largeContents {
			extractor.extract(&of.Source)
			extractor.extract(&of.Stdin)
		}
		v = of
	}

	rest, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(extractor.out) == 0 {
		return &Encoding{parts: [][]byte{rest}}, nil
	}

	e := &Encoding{parts: bytes.Split(rest, []byte(`"`+extractor.token+`"`)),
		contents: extractor.out} // the fields are in the order in which they were taken
	if len(e.parts) != len(e.contents)+1 {
		return nil, errors.New("a content is not where it was taken from")
	}
	return e, nil
}

// Whole returns the JSON if it is in one piece, else nil.
func (e *Encoding) Whole() []byte {
	if len(e.contents) > 0 {
		return nil
	}
	return e.parts[0]
}

// Len returns the number of bytes that WriteTo writes.
func (e *Encoding) Len() int64 { return e.sum(func(c content) int64 { return c.encoded }) }

// RetainedSize returns the number of bytes that stay in memory as long as the encoding does.
func (e *Encoding) RetainedSize() int64 { return e.sum(func(c content) int64 { return c.size }) }

// sum adds up the sizes of the parts and, for each content, the value of of.
func (e *Encoding) sum(of func(content) int64) (n int64) {
	for _, p := range e.parts {
		n += int64(len(p))
	}
	for _, c := range e.contents {
		n += of(c)
	}
	return n
}

// WriteTo writes the JSON, in pieces. It may be called repeatedly and concurrently.
func (e *Encoding) WriteTo(w io.Writer) (n int64, err error) {
	count := func(m int, err error) error {
		n += int64(m)
		return err
	}
	for i, part := range e.parts {
		if err := count(w.Write(part)); err != nil {
			return n, err
		}
		if i == len(e.contents) {
			break
		}
		for piece := range e.contents[i].json() {
			if err := count(w.Write(piece)); err != nil {
				return n, err
			}
		}
	}

	return n, nil
}

// A contentExtractor takes contents out of a value, in the order of its fields, and leaves a mark in place
// of each, which no program can guess. The rest is encoded by encoding/json.
type contentExtractor struct {
	token string
	out   []content
}

// placeholder records a content and returns the mark that stands for it.
func (t *contentExtractor) placeholder(c content) string {
	if t.token == "" {
		t.token = rand.Text()
	}
	t.out = append(t.out, c)
	return t.token
}

func (t *contentExtractor) extract(b *Bytes) {
	if len(*b) > largeContent {
		*b = Bytes(t.placeholder(contentOf(*b)))
	}
}

func (t *contentExtractor) extractText(s *string) {
	if len(*s) > largeContent && utf8.ValidString(*s) { // encoding/json replaces invalid UTF-8
		*s = t.placeholder(contentOfText(*s))
	}
}

// result returns r with its contents taken out, if they are large together.
func (t *contentExtractor) result(r Result) Result {
	if r.Content() <= largeContents {
		return r
	}
	return t.contents(r)
}

// contents takes all contents out of r.
func (t *contentExtractor) contents(r Result) Result {
	t.extract(&r.Stdout)
	t.extract(&r.Stderr)
	r.Files = t.files(r.Files)

	if r.Compile != nil {
		c := *r.Compile
		t.extract(&c.Stdout)
		t.extract(&c.Stderr)
		r.Compile = &c
	}

	r.Tests = slices.Clone(r.Tests)
	for i := range r.Tests {
		r.Tests[i] = t.test(r.Tests[i])
	}
	return r
}

// files returns files with their contents taken out.
func (t *contentExtractor) files(all []File) []File {
	all = slices.Clone(all)
	for i := range all {
		t.extract(&all[i].Content)
	}
	return all
}

// test takes all contents out of the result of a test.
func (t *contentExtractor) test(r TestResult) TestResult {
	for _, o := range []**ProgramOutcome{&r.Checker, &r.Interactor} {
		if *o != nil {
			one := **o
			t.extract(&one.Stderr)
			one.Files = t.files(one.Files)
			*o = &one
		}
	}
	t.extract(&r.Output)
	r.Result = t.contents(r.Result)
	return r
}

// run returns r with its contents taken out, if they are large together.
func (t *contentExtractor) run(r Run) Run {
	if r.content() <= largeContents {
		return r
	}

	t.extract(&r.Source)
	t.extract(&r.Stdin)
	r.Files = t.files(r.Files)

	r.Tests = slices.Clone(r.Tests)

	for i := range r.Tests {
		one := &r.Tests[i]
		t.extract(&one.Stdin)
		one.Files = t.files(one.Files)
		if one.Expected != nil {
			b := *one.Expected
			t.extract(&b)
			one.Expected = &b
		}
	}

	return r
}

// content returns the number of bytes of source, inputs and expected outputs of the run.
func (r *Run) content() int {
	n := len(r.Source) + len(r.Stdin)
	for _, f := range r.Files {
		n += len(f.Content)
	}

	for _, t := range r.Tests {
		n += len(t.Stdin)
		for _, f := range t.Files {
			n += len(f.Content)
		}
		if t.Expected != nil {
			n += len(*t.Expected)
		}
	}

	return n
}

func (t *contentExtractor) status(s Status) Status {
	if s.Result != nil {
		r := t.result(*s.Result)
		s.Result = &r
	}
	return s
}

func (t *contentExtractor) executed(x Executed) Executed {
	for _, p := range []**string{&x.Result, &x.Value, &x.Error} {
		if *p != nil {
			s := **p
			t.extractText(&s)
			*p = &s
		}
	}

	t.extractText(&x.Stdout)
	t.extractText(&x.Stderr)
	x.Files = maps.Clone(x.Files)
	for _, name := range slices.Sorted(maps.Keys(x.Files)) { // the order of encoding/json
		if f := x.Files[name]; len(f) > largeContent {
			x.Files[name] = FileValue(t.placeholder(f.content()))
		}
	}

	return x
}

// Content returns the number of bytes of output, files and timeline of the result, including its
// tests.
func (r *Result) Content() int {
	n := len(r.Stdout) + len(r.Stderr) + r.Timeline.bytes()
	for _, f := range r.Files {
		n += len(f.Content)
	}
	if r.Compile != nil {
		n += len(r.Compile.Stdout) + len(r.Compile.Stderr)
	}
	for i := range r.Tests {
		n += r.Tests[i].Content()
	}
	return n
}

// Content returns the number of bytes of output, files and messages of the result of a test.
func (t *TestResult) Content() int {
	n := t.Result.Content() + len(t.Output) + len(t.Message) + len(t.TeamMessage)
	for _, o := range []*ProgramOutcome{t.Checker, t.Interactor} {
		if o == nil {
			continue
		}
		n += len(o.Stderr)
		for _, f := range o.Files {
			n += len(f.Content)
		}
	}
	return n
}
