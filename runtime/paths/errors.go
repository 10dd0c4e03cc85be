package paths

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// Error explains an error of an operation on a path to the caller. Errors that it does not know are
// the agent's.
func Error(name string, err error) error {
	var e *api.Error
	if err == nil || errors.As(err, &e) {
		return err
	}

	refuse := func(code api.Code, why string) error {
		text, _ := api.PrintablePath(name)
		return api.Refuse(code, "path %q: %s", text, why)
	}
	switch {
	case errors.Is(err, unix.ENOENT):
		return refuse(api.CodeNotFound, "there is no such file in the session")
	case errors.Is(err, unix.ENOTDIR):
		return refuse(api.CodeFileConflict, "a part of it, or the directory that it is to be, is not a directory")
	case errors.Is(err, unix.EISDIR):
		return refuse(api.CodeFileConflict, "it is a directory")
	case errors.Is(err, unix.EEXIST):
		return refuse(api.CodeFileConflict, "there is something of that name already")
	case errors.Is(err, unix.ENOTEMPTY):
		return refuse(api.CodeFileConflict, "the directory is not empty")
	case errors.Is(err, unix.EBUSY):
		return refuse(api.CodeFileDenied, "it is the root of a file system of the session, which stays where it is")
	case errors.Is(err, unix.EINVAL):
		return refuse(api.CodeFileConflict, "a directory cannot become a part of itself")
	case errors.Is(err, errKernelFile):
		return refuse(api.CodeFileDenied,
			"it is a file of the kernel, whose content depends on the program that reads it: have a program read it")
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return refuse(api.CodeFileDenied, "the programs of the session have no right to do that")
	case errors.Is(err, unix.EROFS):
		return refuse(api.CodeFileDenied,
			"its file system is read-only: write below /box or /tmp, or make a session with a volume or a writable root")
	case errors.Is(err, unix.ELOOP):
		return refuse(api.CodeFileDenied, "its links lead in a circle, or to what is not a name, as those of /proc do")
	case errors.Is(err, unix.EAGAIN):
		return refuse(api.CodeFileConflict, "a program has a lease on it, or renames what is on the path all the time")
	case errors.Is(err, unix.ENAMETOOLONG):
		return api.Refuse(api.CodeBadFile, "the path is too long, or a link on it leads to one that is")
	case errors.Is(err, unix.ENXIO):
		return refuse(api.CodeFileConflict, "it is a socket")
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EFBIG):
		return refuse(api.CodeNoSpace,
			"it does not fit into what is left of its file system, and nothing was written: remove files, or make a "+
				"session with more scratch or inodes, or a larger volume")
	case errors.Is(err, unix.EMLINK):
		return refuse(api.CodeNoSpace, "its directory cannot have more directories")
	}
	return err
}

// wrongKind is the error for what is not of the kind that an operation needs.
func wrongKind(name string, mode uint32, wants string) error {
	text, _ := api.PrintablePath(name)
	return api.Refuse(api.CodeFileConflict, "path %q is a %s: only a %s can be read this way", text, kindWord(mode), wants)
}

func kindWord(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "regular file"
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFLNK:
		return "symbolic link"
	case unix.S_IFIFO:
		return "FIFO"
	case unix.S_IFSOCK:
		return "socket"
	}
	return "device"
}
