package cell

import (
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// LookupReason describes why a lookup was refused.
func LookupReason(err error) string {
	switch {
	case errors.Is(err, unix.ELOOP):
		return "symbolic link"
	case errors.Is(err, unix.EXDEV):
		return "leads out of /box"
	case errors.Is(err, unix.ENAMETOOLONG):
		return "path too long"
	case errors.Is(err, unix.ENXIO):
		return "socket"
	}

	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// FileKind names the kind of a file that is not a regular one.
func FileKind(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return "symbolic link"
	case unix.S_IFIFO:
		return "FIFO"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "device"
	case unix.S_IFDIR:
		return "directory"
	}

	return "not a regular file"
}

// PrintableName turns a name made by a program into a form that JSON can hold.
func PrintableName(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return fmt.Sprintf("%q", name)
}
