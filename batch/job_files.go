package batch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// maxSource is the most bytes of a source_file.
const maxSource = 16 << 20

// ReadSourceFile reads the source_file of a job, if it has one, into its source. The file is below the directory of the
// input, dir: a job of a stranger must not have the user's other files judged (BAT-01). nil: jobs come from stdin, and
// name no file.
func ReadSourceFile(dir *os.Root, j *api.Job) error {
	switch {
	case j.SourceFile == "":
		return nil
	case j.Source != nil:
		return api.Refuse(api.CodeBadRequest, "the job has source and source_file: leave out one of them")
	case dir == nil:
		return api.Refuse(api.CodeBadRequest,
			"source_file is relative to the file of jobs, and these come from stdin: send source")
	}

	f, err := dir.OpenFile(j.SourceFile, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0) // a FIFO would wait for a writer
	if err != nil {
		var why *fs.PathError
		if errors.As(err, &why) {
			err = why.Err
		}
		return api.Refuse(api.CodeBadRequest, "source_file %.200q: %w", j.SourceFile, err)
	}
	defer f.Close() //nolint:errcheck // it was only read

	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return api.Refuse(api.CodeBadRequest, "source_file %.200q is not a regular file", j.SourceFile)
	case info.Size() > maxSource:
		return api.Refuse(api.CodeTooLarge, "source_file %.200q has %d bytes: the maximum is %d", j.SourceFile,
			info.Size(), maxSource)
	}

	text, err := io.ReadAll(io.LimitReader(f, maxSource))
	if err != nil {
		return fmt.Errorf("source_file %s: %w", j.SourceFile, err)
	}

	j.Source = append(api.Bytes{}, text...)
	return nil
}

// A WrongProblem is an error of a problem that a job names, and not of brig.
type WrongProblem struct{ Err error }

func (e WrongProblem) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e WrongProblem) Unwrap() error { return e.Err }

// ProblemPath is the path of a problem that a job in the file jobs names: below the directory of that file. A job of a
// stranger must not have its program judged by other tests, and tell them (BAT-01). A name that is refused is a
// WrongProblem.
func ProblemPath(jobs, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", WrongProblem{errors.New("name one below the directory of the file of jobs; --problem takes any path")}
	}

	dir, err := filepath.EvalSymlinks(filepath.Dir(jobs))
	if err != nil {
		return "", err
	}

	path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", WrongProblem{errors.New("there is no such directory or file next to the jobs")}
	}
	if err != nil {
		return "", WrongProblem{err}
	}
	if rest, err := filepath.Rel(dir, path); err != nil || !filepath.IsLocal(rest) {
		return "", WrongProblem{errors.New("it is a link to outside of the directory of the file of jobs")}
	}
	return path, nil
}
