package judging

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/class"
)

// A gradeFile is a file that a report of brig grade goes to.
type gradeFile struct{ format, name string }

// files are the files that were asked for, without stdout and other descriptors.
func (o *GradeOptions) files() []gradeFile {
	var all []gradeFile
	for _, format := range GradeFormats {
		if name := *o.outputs[format]; name != "" && name != "-" && !cli.OwnDescriptor(filepath.Clean(name)) {
			all = append(all, gradeFile{format, name})
		}
	}
	return all
}

// reportFile is the file of --json; empty: it was not asked for, or is stdout.
func (o *GradeOptions) reportFile() string {
	if name := *o.outputs["json"]; name != "-" {
		return name
	}
	return ""
}

// checkOutFile refuses, before anything is judged, a file that could not be written.
func checkOutFile(name string) error {
	if cli.OwnDescriptor(filepath.Clean(name)) {
		return nil
	}

	dir := filepath.Dir(name)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: there is no directory %s", name, dir)
	}
	if err := unix.Access(dir, unix.W_OK); err != nil {
		return fmt.Errorf("%s is written into a new file in its directory first: %w", name, err)
	}

	for _, one := range []string{name, class.PartialName(name)} {
		info, err := os.Lstat(one)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return inputfile.WithoutSyscall(err)
		}
		if err := cli.CheckWritable(one, info); err != nil {
			return err
		}
	}

	return nil
}

// writeGrades writes the report in each format that is wanted, and the table unless one of them goes to
// stdout. Files are replaced by a report that is complete, and any other one is written next to them.
func writeGrades(c *cli.CLI, o *GradeOptions, r grade.Report) error {
	words := grade.Words(o.words)
	write := map[string]func(io.Writer) error{
		"csv":   func(w io.Writer) error { return r.WriteCSV(w, words) },
		"html":  func(w io.Writer) error { return r.WriteHTML(w, words) },
		"junit": r.WriteJUnit,
		"json": func(w io.Writer) error {
			_, err := w.Write(cli.Marshal(r))
			return err
		},
	}

	inFile := maps.Clone(write)
	inFile["csv"] = func(w io.Writer) error {
		_, err := io.WriteString(w, grade.ByteOrderMark)
		return errors.Join(err, write["csv"](w))
	}
	table := true
	var failed error
	for _, format := range GradeFormats {
		var err error
		switch file := *o.outputs[format]; {
		case file == "":
		case file == "-":
			table = false
			var text bytes.Buffer
			err = write[format](&text)
			c.Stdout.Write(text.Bytes())
		case r.Complete() || cli.OwnDescriptor(filepath.Clean(file)):
			err = replaceOutput(file, inFile[format])
		default:
			err = replaceOutput(class.PartialName(file), inFile[format])
		}

		if err != nil { // the other formats are written all the same: judging took time
			failed = errors.Join(failed, fmt.Errorf("--%s: %w", format, err))
		}
	}

	if table {
		failed = errors.Join(failed, r.WriteTable(c.Stdout, gradeTable(c, words)))
	}
	if failed != nil {
		return failed
	}
	if r.Complete() {
		return o.removePartial()
	}

	noteIncomplete(c, o, r)
	return nil
}

// removePartial removes the files that this grading has completed.
func (o *GradeOptions) removePartial() error {
	var failed error
	for _, file := range o.files() {
		if o.rerun.Earlier == nil {
			continue
		}
		if err := os.Remove(class.PartialName(file.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// noteIncomplete says where the results are of a grading that did not end, and how to judge the others.
func noteIncomplete(c *cli.CLI, o *GradeOptions, r grade.Report) {
	judged := 0
	for _, row := range r.Submissions {
		if row.Status == grade.Done {
			judged++
		}
	}

	files := o.files()
	if len(files) == 0 {
		c.Note("%d of %d submissions were judged; with --json=FILE the others can be judged later",
			judged, len(r.Submissions))
		return
	}

	var names []string
	resumes := false
	for _, file := range files {
		names = append(names, class.PartialName(file.name))
		resumes = resumes || file.format == "json"
	}

	c.Note("%d of %d submissions were judged; these results are in %s, and no other file was changed", judged,
		len(r.Submissions), strings.Join(names, " "))
	if resumes {
		c.Note("to judge the others: %s", resumeCommand(os.Args))
	} else {
		c.Note("with --json=FILE the others can be judged later")
	}
}

// resumeCommand is the command line that judges what this one has not.
func resumeCommand(args []string) string {
	words := []string{"brig"}
	for i := 1; i < len(args); i++ {
		switch {
		case args[i] == "--rerun":
			i++ // its value
		case !strings.HasPrefix(args[i], "--rerun="):
			words = append(words, cli.ShellWord(args[i]))
		}
	}
	return strings.Join(append(words, "--rerun", class.NotJudged), " ")
}
