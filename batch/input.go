package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// MaxLine is the most bytes of a line of the input: as much as an agent takes of a run.
const MaxLine = 64 << 20

// A Line is one line of the input that is not blank.
type Line struct {
	Index    int64 // of the job, from 0: neither blank lines nor defaults count
	Number   int64 // of the line, from 1
	Text     []byte
	TooLong  bool   // Text is then empty
	Defaults []byte // of a first line {"defaults": {...}}, which is no job: the object; otherwise nil
}

// urgent reports whether the line has an urgent job. What is no job is not urgent.
func (l Line) urgent() bool {
	var job struct {
		Urgent bool `json:"urgent"`
	}
	return bytes.Contains(l.Text, []byte(`"urgent"`)) && json.Unmarshal(l.Text, &job) == nil && job.Urgent
}

// An Input reads the lines of jobs.
type Input struct {
	in     *bufio.Reader
	max    int
	index  int64
	number int64
	begun  bool // a line that is not blank was read
}

// NewInput reads lines of at most max bytes. A byte order mark at the start is skipped.
func NewInput(r io.Reader, max int) *Input {
	return &Input{in: bufio.NewReaderSize(r, 64<<10), max: max}
}

// Next returns the next line that is not blank. At the end the error is io.EOF.
func (in *Input) Next() (Line, error) {
	if in.number == 0 {
		if mark, _ := in.in.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
			_, _ = in.in.Discard(3) // it has been read
		}
	}

	for {
		text, tooLong, err := in.line()
		if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0 && !tooLong) {
			return Line{}, err
		}

		in.number++
		if text = bytes.TrimSpace(text); len(text) == 0 && !tooLong {
			continue
		}

		l := Line{Index: in.index, Number: in.number, Text: text, TooLong: tooLong}
		if in.index == 0 && !in.begun {
			in.begun = true
			if l.Defaults = defaultsOf(text); l.Defaults != nil {
				return l, nil
			}
		}

		in.index++
		return l, nil
	}
}

// defaultsOf returns the defaults in a line; nil: it has none.
func defaultsOf(text []byte) []byte {
	var first struct {
		Defaults json.RawMessage `json:"defaults"`
	}
	if json.Unmarshal(text, &first) != nil { // that a line is no JSON is the error of the job
		return nil
	}
	return first.Defaults
}

// line reads one line without holding more than the maximum of it.
func (in *Input) line() (text []byte, tooLong bool, err error) {
	for {
		part, err := in.in.ReadSlice('\n')
		if tooLong = tooLong || len(text)+len(part) > in.max; tooLong {
			text = nil
		} else {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, tooLong, err
		}
	}
}
