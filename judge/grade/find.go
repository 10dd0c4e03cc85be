package grade

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/judge/problem"
)

// Find finds what to judge. One directory or archive holds the submissions of many; of
// several arguments each is one.
func (f Finder) Find(args []string) ([]Submission, error) {
	var found []Submission
	for _, arg := range args {
		switch info, err := os.Stat(arg); {
		case len(args) > 1 && (f.ignores(filepath.Base(filepath.Clean(arg))) ||
			err == nil && !info.IsDir() && describes(arg)):
		case errors.Is(err, fs.ErrNotExist) && !isLink(arg):
			return nil, fmt.Errorf("%s: there is no such file or directory", arg)
		case len(args) > 1:
			found = append(found, f.submissionAt(arg))
		default:
			all, err := f.submissionsIn(arg)
			if err != nil {
				return nil, err
			}
			found = append(found, all...)
		}
	}

	if len(found) == 0 {
		return nil, fmt.Errorf("%s: there are no submissions", strings.Join(args, " "))
	}

	SetNames(found)
	return found, nil
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// submissionAt is the submission of one person that an argument names. What is wrong with it is in its Err.
func (f Finder) submissionAt(arg string) Submission {
	if isLink(arg) { // a pattern such as submissions/* names links, too (GRD-11)
		return linked(arg, arg)
	}

	info, err := os.Stat(arg)
	if err != nil {
		return notRead(arg, inputfile.WithoutSyscall(err))
	}
	if !info.IsDir() {
		text, err := inputfile.Read(arg, problem.MaxArchive)
		if err != nil {
			return notRead(arg, err)
		}
		return f.File(arg, text)
	}

	tree, err := problem.Open(arg)
	if err != nil {
		return notRead(arg, err)
	}
	defer tree.Close()

	return f.Directory(tree, filepath.Base(filepath.Clean(arg)))
}

// submissionsIn finds the submissions of a class in a directory or an archive, or the one in a file.
func (f Finder) submissionsIn(arg string) ([]Submission, error) {
	info, err := os.Stat(arg)
	if err != nil {
		return nil, inputfile.WithoutSyscall(err)
	}
	if !info.IsDir() && !isArchiveName(arg) {
		text, err := inputfile.Read(arg, problem.MaxArchive)
		if err != nil {
			return nil, err
		}
		return []Submission{f.File(arg, text)}, nil
	}

	tree, err := problem.OpenTolerant(arg)
	if err != nil {
		return nil, err
	}

	found, err := f.In(tree)
	return found, errors.Join(err, tree.Close())
}

// isArchiveName reports whether a file of this name is an archive that may hold the work of a class.
func isArchiveName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst"},
		func(ext string) bool { return strings.HasSuffix(name, ext) })
}
