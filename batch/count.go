package batch

import (
	"bytes"
	"errors"
	"io"
)

// CountJobs counts the lines of a file that are not blank.
func CountJobs(in io.ReaderAt) int64 {
	total, blank := int64(0), true
	buf := make([]byte, 256<<10)
	for offset := int64(0); ; {
		n, err := in.ReadAt(buf, offset)
		offset += int64(n)
		for rest := buf[:n]; len(rest) > 0; {
			text, after, end := bytes.Cut(rest, []byte("\n"))
			if blank = blank && len(bytes.TrimSpace(text)) == 0; end {
				if !blank {
					total++
				}
				blank = true
			}
			rest = after
		}

		if err != nil {
			if errors.Is(err, io.EOF) && !blank {
				total++
			}
			return total
		}
	}
}
