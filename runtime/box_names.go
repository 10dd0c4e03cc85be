package runtime

import (
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// reason describes why a lookup was refused.
func reason(err error) string {
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

func kindOf(mode uint32) string {
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

// printable turns a name made by a program into a form that JSON can hold.
func printable(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return fmt.Sprintf("%q", name)
}
