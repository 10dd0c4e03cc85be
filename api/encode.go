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

// An Encoding is the JSON of a value as json.Marshal gives it, which would have large
// contents in memory three times and more. It has none of them: it points to them, and
// encodes them while it is written.
type Encoding struct {
	parts    [][]byte  // what is around the contents: one more than there are
	contents []content // large ones
}

// Contents together that are worth encoding in pieces, and of them each that is.
const (
	largeContents = 64 << 10
	largeContent  = 1 << 10
)

// Encode makes the encoding of a value, which must not change any more. Contents of
// results, runs and execs are found, of whatever else is sent everything is in one piece.
func Encode(v any) (*Encoding, error) {
	var t thinner
	switch of := v.(type) {
	case Result:
		v = t.result(of)
	case *Result:
		if of != nil {
			v = t.result(*of)
		}
	case Parted:
		v = t.parted(of)
	case TestResult:
		of.Result = t.result(of.Result)
		v = of
	case Status:
		v = t.status(of)
	case Executed:
		v = t.executed(of)
	case Run:
		v = t.run(of)
	case Exec:
		if len(of.Source)+len(of.Stdin) > largeContents {
			t.take(&of.Source)
			t.take(&of.Stdin)
		}
		v = of
	}
	rest, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(t.out) == 0 {
		return &Encoding{parts: [][]byte{rest}}, nil
	}
	e := &Encoding{parts: bytes.Split(rest, []byte(`"`+t.secret+`"`)), contents: t.out} // fields are in the order they were taken in
	if len(e.parts) != len(e.contents)+1 {
		return nil, errors.New("a content is not where it was taken from")
	}
	return e, nil
}

// Whole is the JSON where it is in one piece, else nil.
func (e *Encoding) Whole() []byte {
	if len(e.contents) > 0 {
		return nil
	}
	return e.parts[0]
}

// Len is how many bytes WriteTo writes.
func (e *Encoding) Len() int64 { return e.sum(func(c content) int64 { return c.encoded }) }

// Held is how many bytes are in memory as long as the encoding is.
func (e *Encoding) Held() int64 { return e.sum(func(c content) int64 { return c.size }) }

// sum adds up the parts and, of each content, what of says.
func (e *Encoding) sum(of func(content) int64) (n int64) {
	for _, p := range e.parts {
		n += int64(len(p))
	}
	for _, c := range e.contents {
		n += of(c)
	}
	return n
}

// WriteTo writes the JSON, in pieces. It may be called again, and by many at a time.
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

// A Parted result has its streams in Out and Err: output that came in parts and is
// nowhere in one piece. Of Stdout and Stderr nothing is encoded.
type Parted struct {
	Result
	Out, Err []Bytes
}

// MarshalJSON joins the parts, for who has no need of Encode.
func (p Parted) MarshalJSON() ([]byte, error) {
	p.Stdout, p.Stderr = slices.Concat(p.Out...), slices.Concat(p.Err...)
	return json.Marshal(p.Result)
}

// A thinner takes contents out of a value, in the order of its fields, and leaves a mark
// for each, which no program can guess: the rest is encoded as ever.
type thinner struct {
	secret string
	out    []content
}

// mark has a content encoded in its place.
func (t *thinner) mark(c content) string {
	if t.secret == "" {
		t.secret = rand.Text()
	}
	t.out = append(t.out, c)
	return t.secret
}

func (t *thinner) take(b *Bytes) {
	if len(*b) > largeContent {
		*b = Bytes(t.mark(contentOf(*b)))
	}
}

func (t *thinner) takeParts(b *Bytes, parts []Bytes) {
	*b = nil
	if len(parts) > 0 {
		*b = Bytes(t.mark(contentOf(parts...)))
	}
}

func (t *thinner) takeText(s *string) {
	if len(*s) > largeContent && utf8.ValidString(*s) { // encoding/json replaces what is none
		*s = t.mark(contentOfText(*s))
	}
}

// result is a result whose contents were taken, if they are large together.
func (t *thinner) result(r Result) Result {
	if r.Content() <= largeContents {
		return r
	}
	t.take(&r.Stdout)
	t.take(&r.Stderr)
	return t.rest(r)
}

func (t *thinner) parted(p Parted) Result {
	t.takeParts(&p.Stdout, p.Out)
	t.takeParts(&p.Stderr, p.Err)
	return t.rest(p.Result)
}

// rest takes what comes after the streams.
func (t *thinner) rest(r Result) Result {
	r.Files = slices.Clone(r.Files)
	for i := range r.Files {
		t.take(&r.Files[i].Content)
	}
	if r.Compile != nil {
		c := *r.Compile
		t.take(&c.Stdout)
		t.take(&c.Stderr)
		r.Compile = &c
	}
	r.Tests = slices.Clone(r.Tests)
	for i := range r.Tests {
		one := &r.Tests[i].Result
		t.take(&one.Stdout)
		t.take(&one.Stderr)
		*one = t.rest(*one)
	}
	return r
}

// run is a run whose contents were taken, if they are large together.
func (t *thinner) run(r Run) Run {
	if r.content() <= largeContents {
		return r
	}
	t.take(&r.Source)
	t.take(&r.Stdin)
	r.Files = slices.Clone(r.Files)
	for i := range r.Files {
		t.take(&r.Files[i].Content)
	}
	r.Tests = slices.Clone(r.Tests)
	for i := range r.Tests {
		one := &r.Tests[i]
		t.take(&one.Stdin)
		if one.Expected != nil {
			b := *one.Expected
			t.take(&b)
			one.Expected = &b
		}
	}
	return r
}

// content is how many bytes of source, inputs and expected outputs the run has.
func (r *Run) content() int {
	n := len(r.Source) + len(r.Stdin)
	for _, f := range r.Files {
		n += len(f.Content)
	}
	for _, t := range r.Tests {
		n += len(t.Stdin)
		if t.Expected != nil {
			n += len(*t.Expected)
		}
	}
	return n
}

func (t *thinner) status(s Status) Status {
	if s.Result != nil {
		r := t.result(*s.Result)
		s.Result = &r
	}
	return s
}

func (t *thinner) executed(x Executed) Executed {
	for _, p := range []**string{&x.Result, &x.Value, &x.Error} {
		if *p != nil {
			s := **p
			t.takeText(&s)
			*p = &s
		}
	}
	t.takeText(&x.Stdout)
	t.takeText(&x.Stderr)
	x.Files = maps.Clone(x.Files)
	for _, name := range slices.Sorted(maps.Keys(x.Files)) { // as encoding/json has them
		if f := x.Files[name]; len(f) > largeContent {
			x.Files[name] = FileValue(t.mark(f.content()))
		}
	}
	return x
}

// Content is how many bytes of output and files the result has, with those of tests.
func (r *Result) Content() int {
	n := len(r.Stdout) + len(r.Stderr)
	for _, f := range r.Files {
		n += len(f.Content)
	}
	if r.Compile != nil {
		n += len(r.Compile.Stdout) + len(r.Compile.Stderr)
	}
	for i := range r.Tests {
		n += r.Tests[i].Result.Content()
	}
	return n
}
