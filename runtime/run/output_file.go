package run

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// An outputFile is the file that the program of a test must leave, which is judged instead of
// stdout.
type outputFile struct {
	name  string
	limit api.Size

	content []byte
	missing string // why there is no content, in words for the author of the program; empty: there is
}

// read reads the file from /box. The program made what is there: only a regular file counts, no
// link is followed, and no more is read than the limit (FIO-01, FIO-02, FIO-04, FIO-05). Everything
// else is a wrong answer, as the Contest Management System has it. Checks use the opened file,
// never the name again (FIO-08).
func (o *outputFile) read(box *os.File) error {
	o.content, o.missing = nil, ""
	f, err := linux.OpenBeneath(box, o.name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		o.missing = fmt.Sprintf("the program left no file %s", o.name)
		return nil
	case errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("output file %q: %w", o.name, err) // of the host, and no fault of the program
	case err != nil:
		o.missing = fmt.Sprintf("%s cannot be read: %s", o.name, cell.LookupReason(err))
		return nil
	}
	defer f.Close()

	var st unix.Stat_t
	if err := unix.Fstat(linux.FD(f), &st); err != nil {
		return fmt.Errorf("output file %q: %w", o.name, err)
	}

	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		o.missing = fmt.Sprintf("%s is no file: %s", o.name, cell.FileKind(st.Mode))
		return nil
	case st.Size > int64(o.limit):
		o.missing = fmt.Sprintf("%s is too large: it has %s, and limits.output is %s", o.name,
			api.Size(st.Size).About(), o.limit.About())
		return nil
	}

	content := make([]byte, st.Size)
	n, err := io.ReadFull(f, content)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("output file %q: %w", o.name, err)
	}

	o.content = content[:n]
	return nil
}

// judged is the output of a program that is judged; missing says why there is none. A nil
// outputFile is that of a program whose stdout is judged.
func (o *outputFile) judged(res api.Result) (output []byte, missing string) {
	if o == nil {
		return res.Stdout, ""
	}
	return o.content, o.missing
}

// refuseMissing makes the answer of a program that left no output.
func refuseMissing(out *api.TestResult, missing string) {
	out.Answer, out.Difference = api.WrongAnswer, missing
	out.Score, out.Points, out.Message, out.TeamMessage, out.Checker = nil, nil, "", "", nil
}
