package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
)

// A LineError says that a line could not be read. The lines after it can.
type LineError struct {
	Line        int64 // from 1
	Completions bool  // whether it is a line of Options.Completions
	Err         error
}

func (e *LineError) Error() string {
	if e.Completions {
		return fmt.Sprintf("line %d of the completions: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("line %d: %v", e.Line, e.Err)
}

// Unwrap returns what is wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }

// tooLong is the error of a line that is longer than the limit for reading it.
type tooLong int

func (m tooLong) Error() string {
	return fmt.Sprintf("it has more than %d MiB, the maximum of a line", int(m)>>20)
}

// A line is one line of a file that is not blank. Its text is valid until the next one.
type line struct {
	number int64
	text   []byte
	err    error // a tooLong, instead of the text
}

// lines yields the lines of r, which may be compressed with gzip. An error of reading ends them.
func lines(r io.Reader, maximum int) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		in, err := uncompressed(r)
		if err != nil {
			yield(line{}, err)
			return
		}

		var text []byte
		for number := int64(1); ; number++ {
			var long bool
			text, long, err = nextLine(in, text[:0], maximum)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(line{}, fmt.Errorf("line %d: %w", number, err))
				return
			}

			at := line{number: number, text: bytes.TrimSpace(text)}
			if number == 1 {
				at.text = bytes.TrimSpace(bytes.TrimPrefix(at.text, []byte("\xef\xbb\xbf"))) // some editors begin a file with it
			}
			if long {
				at.text, at.err = nil, tooLong(maximum)
			}
			if (long || len(at.text) > 0) && !yield(at, nil) || err != nil {
				return
			}
		}
	}
}

// uncompressed returns the bytes of r, or what they are compressed of.
func uncompressed(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	if magic, err := in.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return in, nil // the next read has the same error
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(z, 64<<10), nil
}

// nextLine appends a line to text, up to maximum bytes, and reads the rest of a longer one. The error is
// io.EOF after the last line.
func nextLine(in *bufio.Reader, text []byte, maximum int) (_ []byte, long bool, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if len(text)+len(piece) > maximum+1 { // 1: its end
			text, long = text[:0], true
		}
		if !long {
			text = append(text, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, long, err
		}
	}
}
