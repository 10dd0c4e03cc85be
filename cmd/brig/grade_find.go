package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/suite"
)

// finder finds submissions in one of all languages. tests are the files of a suite; nil: there is none.
func (o *gradeOptions) finder(all []api.Language, tests *problem.Tree) grade.Finder {
	f := grade.Finder{
		IsSource: func(name string, text func() []byte) bool {
			_, err := languageOf(all, o.run.Language, source{ext: filepath.Ext(name), interpreter: interpreter(text())})
			return err == nil
		},
		Ignore: func(base string) bool {
			return slices.ContainsFunc(o.ignore, func(p string) bool { ok, _ := path.Match(p, base); return ok })
		},
		Program: o.suite.sourceName,
	}

	if tests != nil {
		f.Replaced = func(name string) bool { return tests.Has(name) || suite.Configures(name) }
	}
	return f
}

// findSubmissions finds what to judge. One directory or archive holds the submissions of many; of
// several arguments each is one.
func findSubmissions(finder grade.Finder, args []string) ([]grade.Submission, error) {
	var found []grade.Submission
	for _, arg := range args {
		switch _, err := os.Stat(arg); {
		case len(args) > 1 && finder.Ignore(filepath.Base(filepath.Clean(arg))):
		case errors.Is(err, fs.ErrNotExist) && !isLink(arg):
			return nil, fmt.Errorf("%s: there is no such file or directory", arg)
		case len(args) > 1:
			found = append(found, submissionAt(finder, arg))
		default:
			all, err := submissionsIn(finder, arg)
			if err != nil {
				return nil, err
			}
			found = append(found, all...)
		}
	}

	if len(found) == 0 {
		return nil, fmt.Errorf("%s: there are no submissions", strings.Join(args, " "))
	}

	grade.SetNames(found)
	return found, nil
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// submissionAt is the submission of one person that an argument names. What is wrong with it is in its Err.
func submissionAt(finder grade.Finder, arg string) grade.Submission {
	if isLink(arg) { // a pattern such as submissions/* names links, too (GRD-11)
		return grade.Linked(arg, arg)
	}

	info, err := os.Stat(arg)
	if err != nil {
		return grade.NotRead(arg, inputfile.WithoutSyscall(err))
	}
	if !info.IsDir() {
		text, err := inputfile.Read(arg, problem.MaxArchive)
		if err != nil {
			return grade.NotRead(arg, err)
		}
		return finder.File(arg, text)
	}

	tree, err := problem.Open(arg)
	if err != nil {
		return grade.NotRead(arg, err)
	}
	defer tree.Close()

	return finder.Directory(tree, filepath.Base(filepath.Clean(arg)))
}

// submissionsIn finds the submissions of a class in a directory or an archive, or the one in a file.
func submissionsIn(finder grade.Finder, arg string) ([]grade.Submission, error) {
	info, err := os.Stat(arg)
	if err != nil {
		return nil, inputfile.WithoutSyscall(err)
	}
	if !info.IsDir() && !isArchiveName(arg) {
		text, err := inputfile.Read(arg, problem.MaxArchive)
		if err != nil {
			return nil, err
		}
		return []grade.Submission{finder.File(arg, text)}, nil
	}

	tree, err := problem.OpenTolerant(arg)
	if err != nil {
		return nil, err
	}

	found, err := finder.In(tree)
	return found, errors.Join(err, tree.Close())
}

// isArchiveName reports whether a file of this name is an archive that may hold the work of a class.
func isArchiveName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst"},
		func(ext string) bool { return strings.HasSuffix(name, ext) })
}
