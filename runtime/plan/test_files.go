package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// This file plans the files that a test has of its own: those of api.Test.Files, and the file with
// its input. They are placed sealed, as artifacts are: a program reads them, and cannot use their
// pages as memory (MEM-20). So they count neither against its limits of memory and scratch nor in
// its usage, as stdin does not, and the same limits mean the same whether a program reads stdin or
// a file. The host reserves their pages in addition.

// nameFiles gives a test its files, except for what TestContent loads.
func (pl *Planner) nameFiles(one *Run, r api.Run, t api.Test) {
	one.Given, one.InputFile, one.OutputFile, one.Stdin, one.unloaded = t.Files, r.InputFile, r.OutputFile, t.Stdin, 0
	for _, f := range t.Files {
		one.unloaded += pl.blobPages(f.Blob)
	}

	if r.InputFile != "" {
		one.unloaded += pl.blobPages(t.StdinBlob)
	}
	if dir := path.Dir(r.OutputFile); r.OutputFile != "" && dir != "." {
		one.Dirs = []string{dir}
	}

	// A submission may bring files of these names, such as those of a sample. An output file that
	// the program finds would be judged although it wrote nothing (GRD-28).
	own := one.TestFiles()
	one.Files = slices.DeleteFunc(slices.Clone(one.Files), func(f api.File) bool {
		return f.Name == r.OutputFile || slices.ContainsFunc(own, func(o api.File) bool { return o.Name == f.Name })
	})
}

// blobPages are the pages of a blob; zero if there is none: checkBlobs has refused that, and so does loading it.
func (pl *Planner) blobPages(digest string) api.Size {
	if digest == "" || pl.Blobs == nil {
		return 0
	}
	n, err := pl.Blobs.Size(digest)
	if err != nil {
		return 0
	}
	return pages(n)
}

// TestFiles are the files that a test has of its own. What the program reads is in one of them, or
// on stdin.
func (p *Run) TestFiles() []api.File {
	if p.InputFile == "" {
		return p.Given
	}
	return append(slices.Clip(p.Given), api.File{Name: p.InputFile, Content: p.Stdin})
}

// PipedStdin is what the program reads on stdin.
func (p *Run) PipedStdin() []byte {
	if p.InputFile != "" {
		return nil
	}
	return p.Stdin
}

// TestFilePages are the pages of the files that a test has of its own.
func (p *Run) TestFilePages() api.Size {
	n := p.unloaded
	for _, f := range p.TestFiles() {
		n += PageBytes(f)
	}
	return n
}

// ScratchSize is the size of the scratch: what the limits say, and room for the files of the test.
// A program that removes them can write as much in their place, which its memory limit counts.
func (p *Run) ScratchSize() (size api.Size, inodes int64) {
	own := slices.Concat(p.TestFiles(), p.Beyond)
	size = p.Limits.Scratch + p.TestFilePages()
	for _, f := range p.Beyond {
		size += PageBytes(f)
	}
	return size, p.Limits.Inodes + int64(len(own)+api.CountDirs(own))
}

// checkTestFiles refuses files of tests in the place of the source, which would be replaced, and of
// what a compiler makes: a caller could bring a program that no compiler has seen (CMP-15), and a
// program that does nothing would leave itself as its output.
func checkTestFiles(r api.Run, lang Language, main string, compiles bool) error {
	if r.Source == nil {
		main = ""
	}

	refuse := func(what, name string) error {
		switch {
		case clashes(name, main):
			return api.Refuse(api.CodeBadFile,
				"%s %q is in the place of %s, the file of the source: rename it or set source_name", what, name, main)
		case compiles && (lang.IsArtifact(name) ||
			slices.ContainsFunc(lang.Artifacts, func(a string) bool { return clashes(name, a) })):
			return api.Refuse(api.CodeBadFile,
				"%s %q is in the place of the output of the compiler of %s: rename it", what, name, lang.Name)
		}
		return nil
	}
	if err := cmp.Or(refuse("input_file", r.InputFile), refuse("output_file", r.OutputFile)); err != nil {
		return err
	}

	for _, t := range r.Tests {
		for _, f := range t.Files {
			if err := refuse("the file", f.Name); err != nil {
				return api.About(fmt.Sprintf("test %q", t.ID), err)
			}
		}
	}

	return nil
}

// clashes reports whether two files cannot both exist.
func clashes(a, b string) bool {
	return a != "" && b != "" && (a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/"))
}

// A placedFile is a file that a run finds in /box when it starts, and whether it can only be data.
type placedFile struct {
	name string
	data bool
}

// placedFiles are the names of all files that any test of a run finds, except for the source.
func placedFiles(r api.Run) []placedFile {
	var all []placedFile
	for _, f := range r.Files {
		all = append(all, placedFile{f.Name, false})
	}

	if r.InputFile != "" {
		all = append(all, placedFile{r.InputFile, isData(r.InputFile)})
	}

	for _, t := range r.Tests {
		for _, f := range t.Files {
			all = append(all, placedFile{f.Name, isData(f.Name)})
		}
	}

	return all
}

// isData reports whether no interpreter takes a file of this name for a module, because of its
// extension.
func isData(name string) bool {
	return !strings.Contains(name, "/") &&
		slices.Contains([]string{".txt", ".in", ".inp", ".dat", ".csv", ".json"}, path.Ext(name))
}
