package grade

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/problem"
)

// The bounds of what is read (TestSubmissionsAreBounded).
const (
	MaxSubmissions = 10_000
	maxFile        = 16 << 20 // of a submission
	maxSubmission  = 32 << 20 // all its files
	maxTotal       = 4 << 30  // the files of all people
)

// A Submission is what one person handed in: one program, in one file or several.
type Submission struct {
	Name  string
	Main  string     // file name of the source that is run, relative to the submission
	Text  []byte     // of Main
	Files []api.File // the others
	Err   error      // why it cannot be judged; otherwise nil
}

// A Finder finds submissions. IsSource reports whether a file is a program, by its name; text returns
// the beginning of the file, for those whose name says nothing. Ignore says which files do not
// count, by the last part of their names; nil: none.
type Finder struct {
	IsSource func(name string, text func() []byte) bool
	Ignore   func(base string) bool
}

// In returns the submissions in a directory or an archive that holds those of many people: each file
// is one, and each directory and each zip archive in it is one.
func (f Finder) In(t *problem.Tree) ([]Submission, error) {
	t = t.Unwrapped()
	files, dirs := t.Children(".")
	files = slices.DeleteFunc(files, f.ignores)
	dirs = slices.DeleteFunc(dirs, f.ignores)
	if n := len(files) + len(dirs); n > MaxSubmissions { // before any is read
		return nil, fmt.Errorf("%s: there are %d submissions: the most is %d", t.Label(), n, MaxSubmissions)
	}
	total := int64(0)
	for _, name := range t.Names() {
		if !f.ignores(name) {
			total += t.Size(name)
		}
	}
	if total > maxTotal {
		return nil, fmt.Errorf("%s: the submissions have %s: the most is %s; leave out large files with --ignore", t.Label(), api.Size(total).About(), api.Size(maxTotal))
	}
	all := make([]Submission, 0, len(files)+len(dirs))
	for _, name := range slices.Concat(files, dirs) {
		all = append(all, f.of(t, name))
	}
	return all, nil
}

// of returns the submission that is one file or directory of t. One with a link is not read: a link could
// lead to the work of another person, and hand that in (GRD-11).
func (f Finder) of(t *problem.Tree, name string) Submission {
	below := t.Below(name) // nothing for a file
	for _, file := range append([]string{name}, below...) {
		if t.Linked(file) && !f.ignores(file) {
			return Linked(name, file)
		}
	}
	if len(below) > 0 {
		return f.Directory(t.Sub(name), name)
	}
	return f.file(t, name)
}

// Linked is the submission at a name that is a link, or has the link below it.
func Linked(name, link string) Submission {
	return Submission{Name: path.Base(name), Err: fmt.Errorf("%s is a link, which may lead to the files of another person: put the file itself there, or leave it out with --ignore", link)}
}

func (f Finder) ignores(name string) bool { return f.Ignore != nil && f.Ignore(path.Base(name)) }

// file returns the submission in one file of t.
func (f Finder) file(t *problem.Tree, name string) Submission {
	text, err := t.Read(name, problem.MaxArchive)
	if err != nil {
		return Submission{Name: name, Err: err}
	}
	return f.File(name, text)
}

// File returns the submission that is one file: a source, or a zip archive of several files.
func (f Finder) File(name string, text []byte) Submission {
	base := path.Base(name)
	if problem.IsZip(text) {
		t, err := problem.OpenZip(base, text)
		if err != nil {
			return Submission{Name: base, Err: err}
		}
		return f.Directory(t, base)
	}
	s := Submission{Name: base, Main: base, Text: text}
	switch {
	case len(text) > maxFile:
		s.Err = fmt.Errorf("%s has %s: the most is %s", base, api.Size(len(text)), api.Size(maxFile))
	case !f.IsSource(base, func() []byte { return text }):
		s.Err = fmt.Errorf("%s: its name does not say its language: add --language, or leave it out with --ignore", base)
	}
	if s.Err != nil {
		s.Text = nil
	}
	return s
}

// Directory returns the submission whose files are those of t.
func (f Finder) Directory(t *problem.Tree, name string) Submission {
	s := Submission{Name: path.Base(name)}
	for t.Unwrapped() != t {
		t = t.Unwrapped()
	}
	if files, dirs := t.Children("."); len(files) == 1 && len(dirs) == 0 { // an archive in the directory of a person
		if text, err := t.Read(files[0], problem.MaxArchive); err == nil && problem.IsZip(text) {
			inner := f.File(files[0], text)
			inner.Name = s.Name
			return inner
		}
	}
	if s.Err = f.read(t, &s); s.Err != nil {
		s.Files, s.Text = nil, nil
	}
	return s
}

// read reads the files of a submission, and chooses the source that is run.
func (f Finder) read(t *problem.Tree, s *Submission) error {
	var sources []string
	texts := map[string][]byte{}
	left := int64(maxSubmission)
	for _, name := range t.Names() {
		if f.ignores(name) {
			continue
		}
		if len(texts) == api.MaxFiles {
			return fmt.Errorf("it has more than %d files", api.MaxFiles)
		}
		text, err := t.Read(name, min(maxFile, left))
		if err != nil {
			return err
		}
		left -= int64(len(text))
		texts[name] = text
		if f.IsSource(path.Base(name), func() []byte { return text }) {
			sources = append(sources, name)
		}
	}
	if len(sources) == 0 {
		return errors.New("it has no file whose name says its language: add --language, or leave it out with --ignore")
	}
	main, err := mainOf(s.Name, sources, texts)
	if err != nil {
		return err
	}
	// The program starts in the directory of its main file, where it finds its other files.
	s.Main, s.Text = path.Base(main), texts[main]
	dir := path.Dir(main)
	for _, name := range t.Names() {
		text, ok := texts[name]
		if !ok || name == main {
			continue
		}
		if dir != "." {
			short, below := strings.CutPrefix(name, dir+"/")
			if !below {
				short = name
			}
			name = short
		}
		s.Files = append(s.Files, api.File{Name: name, Content: text, Executable: t.Executable(name)})
	}
	return nil
}

var mainNames = []string{"main", "__main__", "solution", "sol", "submission", "program", "app", "index"}

// mainOf chooses the source that is run: the only one; else the only one with a usual name; else the
// only one that has a main function.
func mainOf(person string, sources []string, texts map[string][]byte) (string, error) {
	if len(sources) == 1 {
		return sources[0], nil
	}
	named := func(name string) bool {
		stem := strings.ToLower(strings.TrimSuffix(path.Base(name), path.Ext(name)))
		return slices.Contains(mainNames, stem) || stem == strings.ToLower(person)
	}
	for _, fits := range []func(string) bool{named, func(name string) bool { return problem.HasMain(texts[name]) }} {
		var found []string
		for _, name := range sources {
			if fits(name) {
				found = append(found, name)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	shown := sources[:min(len(sources), 4)]
	return "", fmt.Errorf("it has %d sources (%s), and nothing says which is the program: call it main", len(sources), strings.Join(shown, ", "))
}

// SetNames gives each submission the shortest name that is its own: the name of its file without the
// extension, or with it if two would have the same.
func SetNames(all []Submission) {
	short := func(s Submission) string {
		if s.Main != "" && s.Main != s.Name && path.Ext(s.Name) != ".zip" {
			return s.Name // a directory
		}
		return strings.TrimSuffix(s.Name, path.Ext(s.Name))
	}
	count := map[string]int{}
	for _, s := range all {
		count[short(s)]++
	}
	used := map[string]bool{}
	for i := range all {
		name := short(all[i])
		if count[name] > 1 || name == "" {
			name = all[i].Name
		}
		for n := 2; used[name]; n++ {
			name = fmt.Sprintf("%s (%d)", all[i].Name, n)
		}
		used[name], all[i].Name = true, name
	}
	slices.SortStableFunc(all, func(a, b Submission) int { return problem.CompareNumerically(a.Name, b.Name) })
}
