package grade

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

// The bounds of what is read (TestSubmissionsAreBounded).
const (
	MaxSubmissions = 10_000
	maxFile        = 16 << 20 // of a submission
	maxSubmission  = 32 << 20 // all its files
	maxTotal       = 4 << 30  // the files of all people, without those of submissions that are too large to be read
)

// ErrNotHandedIn is why a submission cannot be judged that has no program: an empty directory or archive, or one
// without a source.
var ErrNotHandedIn = errors.New("nothing was handed in")

// A Submission is what one person handed in: one program, in one file or several.
type Submission struct {
	Name   string     // of the person, as far as the file or directory says it
	entry  string     // name of the file or directory itself
	folder bool       // it is a directory
	Main   string     // file name of the source that is run, relative to the submission
	Text   []byte     // of Main
	Files  []api.File // the others
	Err    error      // why it cannot be judged; nil: it can. ErrNotHandedIn: there is no program
}

// A Finder finds submissions.
type Finder struct {
	// IsSource reports whether a file is a program, by its name; text returns the beginning of the file, for those
	// whose name says nothing.
	IsSource func(name string, text func() []byte) bool

	// Ignore says which files do not count, by the last part of their names; nil: none.
	Ignore func(base string) bool

	// Replaced says which files of a directory the tests replace or leave out; nil: none. None of them is the program.
	Replaced func(name string) bool

	// Program is the name of the file that is the program of a directory that has one of this name; empty: none.
	Program string
}

func (f Finder) ignores(name string) bool { return f.Ignore != nil && f.Ignore(path.Base(name)) }

// newSubmission is a submission that has a name, and nothing else yet.
func newSubmission(name string) Submission {
	base := path.Base(name)
	return Submission{Name: personOf(base), entry: base}
}

// linked is the submission at a name that is a link, or has the link below it.
func linked(name, link string) Submission {
	s := newSubmission(name)
	s.Err = fmt.Errorf("%s is a link, which may lead to the files of another person: put the file itself there, or "+
		"leave it out with --ignore", link)
	return s
}

// notRead is the submission at a name that cannot be read because of err.
func notRead(name string, err error) Submission {
	s := newSubmission(name)
	s.Err = err
	return s
}

// file returns the submission in one file of t.
func (f Finder) file(t *problem.Tree, name string) Submission {
	text, err := t.Read(name, problem.MaxArchive)
	if err != nil {
		return notRead(name, err)
	}
	return f.File(name, text)
}

// maxNested is how many archives may be around a submission: one is handed in, and another lies in it. An archive can
// contain itself, without end (TestAnArchiveOfItselfIsOneRow).
const maxNested = 2

// File returns the submission that is one file: a source, or a zip archive of several files.
func (f Finder) File(name string, text []byte) Submission { return f.fileIn(name, text, 0) }

// fileIn is File of a file that lies in so many archives.
func (f Finder) fileIn(name string, text []byte, archives int) Submission {
	s := newSubmission(name)
	if problem.IsZip(text) {
		t, err := problem.OpenZip(s.entry, text)
		if err != nil {
			return notRead(name, err)
		}
		if archives == maxNested {
			return notRead(name, fmt.Errorf("%s lies in %d other archives: hand in the files themselves", s.entry, archives))
		}
		return f.directoryIn(t, s.entry, archives+1)
	}
	if isZipName(s.entry) && len(text) == 0 {
		s.Err = fmt.Errorf("%w: %s is empty", ErrNotHandedIn, s.entry)
		return s
	}

	s.Main, s.Text = asSource(s.entry, text)
	switch {
	case len(text) > maxFile:
		s.Err = fmt.Errorf("%s has %s: the maximum is %s", s.entry, api.Size(len(text)), api.Size(maxFile))
	case !f.IsSource(s.Main, func() []byte { return s.Text }):
		s.Err = fmt.Errorf("%s: its name does not say its language: add --language, or leave it out with --ignore", s.entry)
	}

	if s.Err != nil {
		s.Text = nil
	}
	return s
}

// commonDirectory is the innermost directory that has all the files; "." if that is the root.
func commonDirectory(names []string) string {
	if len(names) == 0 {
		return "."
	}

	dir := path.Dir(names[0])
	for _, name := range names[1:] {
		for dir != "." && !strings.HasPrefix(name, dir+"/") {
			dir = path.Dir(dir)
		}
	}
	return dir
}

func isZipName(name string) bool { return strings.EqualFold(path.Ext(name), ".zip") }

// Directory returns the submission whose files are those of t.
func (f Finder) Directory(t *problem.Tree, name string) Submission { return f.directoryIn(t, name, 0) }

func (f Finder) directoryIn(t *problem.Tree, name string, archives int) Submission {
	s := newSubmission(name)
	s.folder = !isZipName(s.entry)
	if dir := commonDirectory(t.Names()); dir != "." {
		t = t.Sub(dir)
	}

	if file := f.onlyArchive(t); file != "" {
		if text, err := t.Read(file, problem.MaxArchive); err == nil && problem.IsZip(text) {
			inner := f.fileIn(file, text, archives)
			inner.Name, inner.entry, inner.folder = s.Name, s.entry, s.folder
			return inner
		}
	}
	if s.Err = f.read(t, &s); s.Err != nil {
		s.Files, s.Text = nil, nil
	}
	return s
}

// onlyArchive is the archive in the directory of a person that has no source next to it, such as one next to a report;
// "": there is none, or several. The only file may be an archive of any name.
func (f Finder) onlyArchive(t *problem.Tree) string {
	files := slices.DeleteFunc(slices.Clone(t.Names()), f.ignores)
	if len(files) == 1 {
		return files[0]
	}

	found := ""
	for _, name := range files {
		switch {
		case isReport(name):
		case isZipName(name) && found == "":
			found = name
		case f.isWorkFile(name):
			return ""
		}
	}

	return found
}

// read reads the files of a submission, and chooses the source that is run.
func (f Finder) read(t *problem.Tree, s *Submission) error {
	all := project{person: s.Name, texts: map[string][]byte{}}
	left := int64(maxSubmission)
	for _, name := range t.Names() {
		if f.ignores(name) {
			continue
		}
		if len(all.texts) == api.MaxFiles {
			return fmt.Errorf("it has more than %d files", api.MaxFiles)
		}

		text, err := t.Read(name, min(maxFile, left))
		if err != nil {
			return err
		}

		left -= int64(len(text))
		all.texts[name] = text
		if as, text := asSource(name, text); f.IsSource(path.Base(as), func() []byte { return text }) {
			all.sources = append(all.sources, name)
		}
	}

	switch {
	case len(all.texts) == 0:
		return fmt.Errorf("%w: there is no file in it", ErrNotHandedIn)
	case len(all.sources) == 0:
		return fmt.Errorf("%w: no file in it has a name that says its language (%s): add --language, or leave it out "+
			"with --ignore", ErrNotHandedIn, some(t.Names()))
	}

	main, err := all.main(f)
	if err != nil {
		return err
	}

	as, others := all.layout(main)
	all.inOrderOfUse(others)
	s.Main, s.Text = asSource(as, all.texts[main])
	for _, one := range others {
		s.Files = append(s.Files, api.File{Name: one.to, Content: all.texts[one.from], Executable: t.Executable(one.from)})
	}
	return nil
}

// some shows a few names.
func some(names []string) string {
	if len(names) > 4 {
		return strings.Join(names[:4], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}
