package api

import (
	"slices"
	"strings"
)

// MaxTestFiles bounds the files of all tests of a run together. MaxTestDirs bounds the directories of the files
// of one test: the agent makes them, no limit of the run counts them, and a file may be 511 directories deep.
const (
	MaxTestFiles = 4 * MaxFiles
	MaxTestDirs  = MaxFiles
)

// validateTestFiles refuses names of files of tests that contradict each other, and named files
// where the program's input and output are something else. A file of a test, and input_file, may
// have the name of a file of the run, and takes its place.
func (r Run) validateTestFiles() error {
	named := r.InputFile != "" || r.OutputFile != ""
	switch {
	case named && len(r.Tests) == 0:
		return Refuse(CodeBadRequest,
			"input_file and output_file need tests, but there are none: a run without tests has files and collect")
	case named && r.Interactor != nil:
		return Refuse(CodeBadRequest,
			"input_file or output_file is set, and an interactor talks over stdin and stdout: leave them out")
	case named && r.CallsFunctions():
		return Refuse(CodeBadRequest,
			"input_file or output_file is set, and the tests call functions, which read and write nothing: leave them out")
	case named && r.InputFile == r.OutputFile:
		return Refuse(CodeBadFile,
			"input_file and output_file are both %q: a program that does nothing would leave its input", r.InputFile)
	}

	var err error
	of := namesOf(r)
	for _, one := range []struct{ field, name string }{{"input_file", r.InputFile}, {"output_file", r.OutputFile}} {
		if one.name == "" {
			continue
		}
		if err := FileName(one.name); err != nil {
			return Refuse(CodeBadFile, "%s: %w", one.field, err)
		}
		if one.name == r.SourceName {
			return Refuse(CodeBadFile, "%s %q is the name of the source: choose another source_name", one.field, one.name)
		}
		if of, err = of.with(one.name); err != nil {
			return Refuse(CodeBadFile, "%s: %w", one.field, err)
		}
	}

	total := 0
	for _, t := range r.Tests {
		if total += len(t.Files); total > MaxTestFiles || len(r.Files)+len(t.Files) > MaxFiles {
			return Refuse(CodeBadFile,
				"test %q: too many files: the maximum is %d together with those of the run, and %d of all tests", t.ID,
				MaxFiles, MaxTestFiles)
		}
		if err := t.validateFiles(r, of); err != nil {
			return Refuse(CodeBadFile, "test %q: %w", t.ID, err)
		}
	}

	return nil
}

func (t Test) validateFiles(r Run, of sortedNames) error {
	own := make(sortedNames, 0, len(t.Files))
	for _, f := range t.Files {
		if err := f.validate(false); err != nil {
			return err
		}
		switch f.Name {
		case r.SourceName, r.InputFile, r.OutputFile:
			return Refuse(CodeBadFile, "file %q has the name of the source, of input_file or of output_file: rename it", f.Name)
		}
		own = append(own, f.Name)
	}

	slices.Sort(own)
	if n := own.dirs(); n > MaxTestDirs { // before anything that takes time for each of them
		return Refuse(CodeBadFile, "its files are in %d directories: the maximum is %d", n, MaxTestDirs)
	}

	for i, name := range own {
		if i > 0 && name == own[i-1] {
			return Refuse(CodeBadFile, "file %q is given twice", name)
		}
		if err := own.clashBelow(name); err != nil {
			return err
		}
		if err := of.clash(name); err != nil {
			return err
		}
	}

	return nil
}

// CountDirs counts the directories in which files are, and those above them.
func CountDirs(files []File) int {
	names := make(sortedNames, 0, len(files))
	for _, f := range files {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names.dirs()
}

// sortedNames are names of files. Those below one directory follow one another.
type sortedNames []string

// namesOf are the names of the files of a run, which passed validateFiles.
func namesOf(r Run) (n sortedNames) {
	if r.SourceName != "" {
		n = append(n, r.SourceName)
	}
	for _, f := range r.Files {
		n = append(n, f.Name)
	}
	slices.Sort(n)
	return n
}

// with adds a name, unless it clashes.
func (n sortedNames) with(name string) (sortedNames, error) {
	if err := n.clash(name); err != nil {
		return n, err
	}
	at, _ := slices.BinarySearch(n, name)
	return slices.Insert(n, at, name), nil
}

// dirs counts the directories: of each name those that the one before it is not below, too.
func (n sortedNames) dirs() (count int) {
	before := ""
	for _, name := range n {
		same := 0
		for same < len(name) && same < len(before) && name[same] == before[same] {
			same++
		}
		count += strings.Count(name[same:], "/")
		before = name
	}
	return count
}

// clash refuses a file in the place of a directory, and a directory in the place of a file.
func (n sortedNames) clash(name string) error {
	for at := range len(name) {
		if name[at] != '/' {
			continue
		}
		if _, is := slices.BinarySearch(n, name[:at]); is {
			return Refuse(CodeBadFile, "file %q is also the directory of %q", name[:at], name)
		}
	}
	return n.clashBelow(name)
}

// clashBelow refuses a file in the place of a directory.
func (n sortedNames) clashBelow(name string) error {
	if at, _ := slices.BinarySearch(n, name+"/"); at < len(n) && strings.HasPrefix(n[at], name+"/") {
		return Refuse(CodeBadFile, "file %q is also the directory of %q", name, n[at])
	}
	return nil
}
