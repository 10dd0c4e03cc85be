package outputs

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

// A File is the file that the program of a test must leave, which is judged instead of
// stdout.
type File struct {
	Name  string
	Limit api.Size

	Content []byte // what was read
	missing string // why there is no content, in words for the author of the program; empty: there is
}

// Read reads the file from /box. The program made what is there: only a regular file counts, no
// link is followed, and no more is read than the limit (FIO-01, FIO-02, FIO-04, FIO-05). Everything
// else is a wrong answer, as the Contest Management System has it. Checks use the opened file,
// never the name again (FIO-08).
func (o *File) Read(box *os.File) error {
	o.Content, o.missing = nil, ""
	f, err := linux.OpenBeneath(box, o.Name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		o.missing = fmt.Sprintf("the program left no file %s", o.Name)
		return nil
	case errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("output file %q: %w", o.Name, err) // of the host, and no fault of the program
	case err != nil:
		o.missing = fmt.Sprintf("%s cannot be read: %s", o.Name, cell.LookupReason(err))
		return nil
	}
	defer f.Close()

	var st unix.Stat_t
	if err := unix.Fstat(linux.FD(f), &st); err != nil {
		return fmt.Errorf("output file %q: %w", o.Name, err)
	}

	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		o.missing = fmt.Sprintf("%s is no file: %s", o.Name, cell.FileKind(st.Mode))
		return nil
	case st.Size > int64(o.Limit):
		o.missing = fmt.Sprintf("%s is too large: it has %s, and limits.output is %s", o.Name,
			api.Size(st.Size).About(), o.Limit.About())
		return nil
	}

	content := make([]byte, st.Size)
	n, err := io.ReadFull(f, content)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("output file %q: %w", o.Name, err)
	}

	o.Content = content[:n]
	return nil
}

// Judged is the output of a program that is judged; missing says why there is none. A nil
// File is that of a program whose stdout is judged.
func (o *File) Judged(res api.Result) (output []byte, missing string) {
	if o == nil {
		return res.Stdout, ""
	}
	return o.Content, o.missing
}
