// Package convert writes problems in another format: the Kattis problem package format 2025-09, or a
// directory of tests. What that format does not have is an error if submissions would be judged in another
// way without it, and else a warning.
package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/judge/problem"
)

// A Format is a format that can be written.
type Format string

// The formats.
const (
	Kattis    Format = "kattis" // Kattis problem package format, 2025-09
	Directory Format = "dir"    // NAME.in with NAME.ans
)

// Formats are all of them.
func Formats() []Format { return []Format{Kattis, Directory} }

const maxFile = int64(problem.MaxStored)

// A writer collects the files of a problem in another format. The content of one is made when it is
// written.
type writer struct {
	problem.Findings
	p     *problem.Problem
	tree  *problem.Tree
	files map[string]content
}

// A content is what a file will have.
type content struct {
	text []byte
	from string // file of the tree, instead of text
	unix bool   // its line ends become those of Unix

	executable bool
}

// Convert returns the names of the files that were written below dir, and warnings about what was left out.
// Nothing is written if there is an error, or if ctx ends. dir must be empty or not exist.
func Convert(ctx context.Context, p *problem.Problem, t *problem.Tree, to Format,
	dir string) ([]string, []problem.Finding, error) {
	w := &writer{p: p, tree: t, files: map[string]content{}}
	whole := p.HasTests() // a program that must be built is written as it is
	switch {
	case whole != nil:
		w.lost("%v", whole)
	case to == Kattis:
		w.kattis()
	case to == Directory:
		w.directory()
	default:
		return nil, nil, fmt.Errorf("the format %q cannot be written: use kattis or dir", to)
	}

	if err := w.Err(); err != nil {
		return nil, nil, err
	}

	names, err := w.write(ctx, dir)
	return names, w.Warnings(), err
}

// lost says that the format does not have something, without which submissions would be judged in another
// way.
func (w *writer) lost(format string, args ...any) {
	w.Error(w.p.Name, 0, "conversion", format, args...)
}

// leftOut says that the format does not have something that does not decide.
func (w *writer) leftOut(format string, args ...any) {
	w.Warn(w.p.Name, 0, "conversion", format, args...)
}

// add adds a file, whose name is new.
func (w *writer) add(name string, c content) {
	if _, ok := w.files[name]; ok {
		w.lost("two files would have the name %s", name)
	}
	w.files[name] = c
}

// write writes the files into a new directory next to dir, which then takes its place.
func (w *writer) write(ctx context.Context, dir string) (names []string, err error) {
	dir = filepath.Clean(dir)
	switch there, err := os.ReadDir(dir); {
	case len(there) > 0:
		return nil, fmt.Errorf("%s is not empty: name a directory that is empty, or does not exist", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}

	staged, err := os.MkdirTemp(filepath.Dir(dir), ".brig-convert-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staged)) }()

	for name := range w.files {
		names = append(names, name)
	}

	slices.Sort(names)
	for _, name := range names {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if err := w.writeFile(filepath.Join(staged, filepath.FromSlash(name)), w.files[name]); err != nil {
			return nil, err
		}
	}

	if err := os.Chmod(staged, 0o755); err != nil { //nolint:gosec // a package is read by other users, too
		return nil, err
	}
	return names, os.Rename(staged, dir) // fails if dir has got a file meanwhile
}

func (w *writer) writeFile(name string, c content) error {
	text := c.text
	if c.from != "" {
		var err error
		if text, err = w.tree.Read(c.from, maxFile); err != nil {
			return err
		}
	}
	if c.unix {
		text = problem.UnixLines(text)
	}

	mode := os.FileMode(0o644)
	if c.executable {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	return os.WriteFile(name, text, mode)
}

// plain is a text as a part of a file's name that every format takes.
func plain(text string) string {
	var out strings.Builder
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			out.WriteRune(c)
		default:
			out.WriteByte('-')
		}
	}
	return strings.Trim(out.String(), "-_")
}

// input and answer are the contents of a test's files.
func input(t problem.Test) content  { return content{from: t.Input, unix: t.Text} }
func answer(t problem.Test) content { return content{from: t.Answer, unix: t.Text} }

// directory writes tests alone.
func (w *writer) directory() {
	p := w.p

	// Without one of these the tests would judge in another way. lost is an error, so nothing is written.
	switch {
	case p.Interactive:
		w.lost("a directory of tests has no interactor")
	case p.Checker != nil:
		w.lost("a directory of tests has no checker: other right outputs than the answers would be wrong")
	case p.Passes > 0:
		w.lost("a directory of tests has no passes")
	case len(p.Include) > 0:
		w.lost("a directory of tests has no files for submissions")
	}

	if w.named() {
		w.lost("a directory of tests does not say that submissions %s: brig grade --input-file and --output-file do",
			w.reads())
	}
	if c := p.Compare; c != nil && c.How != "" && c.How != "lines" {
		w.leftOut("outputs were compared by %s, which the directory does not say",
			strings.TrimSpace(c.How+" "+strings.Join(c.Args, " ")))
	}
	if p.Scoring && len(p.Groups) > 0 {
		w.leftOut("%s and the points are left out: each test is worth the same", problem.Count(len(p.Groups), "group"))
	}
	if p.Limits.Time > 0 || p.Limits.Memory > 0 {
		w.leftOut("the limits are left out: time %s, memory %s", p.Limits.Time, p.Limits.Memory)
	}
	if n := len(p.Jury) + len(p.Validators) + len(p.InvalidInputs) + len(p.InvalidOutputs) + len(p.ValidOutputs); n > 0 {
		w.leftOut("the submissions of the jury, the validators and their tests are left out")
	}

	// Numbers of one width keep the order of the tests when names are sorted.
	width := len(fmt.Sprint(len(p.Tests)))
	for i, t := range p.Tests {
		if len(t.Args) > 0 {
			w.lost("test %s has arguments, which a directory of tests cannot give", t.ID)
		}
		if len(t.Files) > 0 {
			w.lost("test %s has files of its own, which a directory of tests cannot give", t.ID)
		}
		name := fmt.Sprintf("%0*d", width, i+1)
		if id := plain(t.ID); id != "" && id != name && strings.TrimLeft(name, "0") != id {
			name += "-" + id
		}
		w.add(name+".in", input(t))
		w.add(name+".ans", answer(t))
	}
}

// named reports whether submissions read or write named files.
func (w *writer) named() bool { return w.p.InputFile != "" || w.p.OutputFile != "" }

// reads says what they read and write.
func (w *writer) reads() string {
	var all []string
	if w.p.InputFile != "" {
		all = append(all, "read "+w.p.InputFile)
	}
	if w.p.OutputFile != "" {
		all = append(all, "write "+w.p.OutputFile)
	}
	return strings.Join(all, " and ")
}

// sources adds the files of a program: below dir/NAME, or as dir/NAME if it is one file.
func (w *writer) sources(dir string, p problem.Program) (name string) {
	name = path.Base(p.Main)
	if len(p.Files) == 1 {
		w.add(path.Join(dir, name), content{from: p.Main, executable: w.tree.Executable(p.Main)})
		return name
	}
	if name = strings.TrimSuffix(name, path.Ext(name)); len(p.Command) > 0 {
		name = p.Name // every one has a file called run
	}

	for _, file := range p.Files {
		short, below := strings.CutPrefix(file, path.Dir(p.Main)+"/")
		if !below {
			short = path.Base(file)
		}
		w.add(path.Join(dir, name, short), content{from: file, executable: w.tree.Executable(file)})
	}

	return name
}
