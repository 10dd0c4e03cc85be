package batch

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/durable"
)

// An Output is the file of results. Lines are only appended to it, by one process: a lock keeps others out.
type Output struct {
	f       *os.File
	name    string
	regular bool
}

// A Recorded is what a file of results has already: for each job its state and the start of its digest. It
// takes nine bytes for each job.
type Recorded struct {
	jobs   []recordedJob // by index
	counts [len(statuses)]int64
	total  int64

	answers map[api.Answer]int64 // of jobs that are done
}

type recordedJob struct {
	digest [8]byte
	status uint8 // one more than the place in statuses; zero: there is no result
}

var statuses = [...]api.JobStatus{api.JobDone, api.JobRefused, api.JobError, api.JobCanceled}

// MaxJobs is the most jobs of a batch.
const MaxJobs = 100_000_000

// Len is the number of jobs that are recorded.
func (r *Recorded) Len() int64 { return r.total }

// Count is the number of jobs with a status.
func (r *Recorded) Count(s api.JobStatus) int64 {
	if i := slices.Index(statuses[:], s); i >= 0 {
		return r.counts[i]
	}
	return 0
}

// Has reports whether a job has a result.
func (r *Recorded) Has(index int64) bool {
	return index < int64(len(r.jobs)) && r.jobs[index].status > 0
}

// check is an error if the recorded result is of another job.
func (r *Recorded) check(index int64, digest string) error {
	if r.Has(index) && statuses[r.jobs[index].status-1] == api.JobRefused {
		return nil // how far a job was completed before it was refused may differ
	}
	if r.Has(index) && r.jobs[index].digest != digestStart(digest) {
		return fmt.Errorf("job %d of the input is not the one that the results are of: %w", index+1, ErrChanged)
	}
	return nil
}

// checkEnd is an error if there are results of jobs that an input with n jobs does not have.
func (r *Recorded) checkEnd(n int64) error {
	if last := int64(len(r.jobs)); last > n {
		return fmt.Errorf("the input has %d jobs, and there is a result of job %d: %w", n, last, ErrChanged)
	}
	return nil
}

// ErrChanged is the error of results that are of another input.
var ErrChanged = errors.New("the input, or its problem, has changed since: write the results to another file")

// add adds a result. It is an error if the job has one, or if its status is none of a job.
func (r *Recorded) add(index int64, digest string, s api.JobStatus) error {
	i := slices.Index(statuses[:], s)
	switch {
	case i < 0:
		return fmt.Errorf("%q is not the status of a job", s)
	case index < 0 || index >= MaxJobs:
		return fmt.Errorf("the index %d is outside of 0 to %d", index, MaxJobs-1)
	case r.Has(index):
		return fmt.Errorf("job %d has two results", index+1)
	}

	if missing := index + 1 - int64(len(r.jobs)); missing > 0 {
		r.jobs = append(r.jobs, make([]recordedJob, missing)...)
	}

	r.jobs[index] = recordedJob{digestStart(digest), uint8(i + 1)}
	r.counts[i]++
	r.total++
	return nil
}

func (r *Recorded) count(a api.Answer) {
	if r.answers == nil {
		r.answers = map[api.Answer]int64{}
	}
	r.answers[a]++
}

func digestStart(digest string) (start [8]byte) {
	raw, _ := hex.DecodeString(strings.TrimPrefix(digest, "sha256:")) // what is no digest has no start
	copy(start[:], raw)
	return start
}

// recordedLine is what Output reads of its own lines.
type recordedLine struct {
	Index  *int64        `json:"index"`
	Status api.JobStatus `json:"status"`
	Digest string        `json:"digest"`
	Answer api.Answer    `json:"answer"`
}

// ErrExists is the error of a file of results that exists, without resume.
var ErrExists = errors.New("the file exists")

// OpenOutput opens a file of results. If it exists, resume must be set: the results in it stay, except those
// with a status in again, and a line that a crash cut off. The caller closes the Output.
func OpenOutput(name string, resume bool, again []api.JobStatus) (*Output, *Recorded, error) {
	done := new(Recorded)

	// A symbolic link may be that of a stranger, and lead to a file that the user did not name (FIO-20).
	flags := os.O_RDWR | os.O_CREATE | os.O_APPEND | unix.O_NOFOLLOW
	if !resume {
		flags |= os.O_EXCL
	}
	if err := checkRegular(name); err != nil {
		return nil, nil, err
	}

	f, err := os.OpenFile(name, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil, fmt.Errorf("%s: %w", name, ErrExists)
	}
	if err != nil {
		return nil, nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() { // it was replaced meanwhile
		return nil, nil, errors.Join(fmt.Errorf("%s is not a regular file", name), err, f.Close())
	}

	o := &Output{f: f, name: name, regular: true}
	if err := o.lock(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	if err := o.stillNamed(name); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	if err := o.load(name, done, again); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", name, err), o.f.Close())
	}
	return o, done, nil
}

// checkRegular says what to name instead of something that exists and can be no file of results.
func checkRegular(name string) error {
	info, err := os.Lstat(name)
	switch {
	case err != nil || info.Mode().IsRegular(): // opening it says more
		return nil
	case info.IsDir():
		return fmt.Errorf("%s is a directory: name a file in it", name)
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, which is not followed: name the file itself", name)
	}
	return fmt.Errorf("%s is not a regular file: to write to a pipe or a device, use -o - and redirect stdout", name)
}

// NewOutput writes results to a stream, such as stdout, which nothing can be resumed from.
func NewOutput(f *os.File) *Output { return &Output{f: f} }

// load reads the lines that are there. Without lines to drop, it cuts off a last line that is not complete;
// otherwise it replaces the file by one without them.
func (o *Output) load(name string, done *Recorded, again []api.JobStatus) error {
	in := bufio.NewReaderSize(o.f, 256<<10)
	var dropped bool
	var offset int64
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			if dropped {
				return o.rewrite(name, again)
			}
			return nil

		case errors.Is(err, io.EOF): // a crash cut it off
			if !startsAsResult(line) {
				return noResult(name, number, errors.New("it is incomplete"))
			}
			if err := o.f.Truncate(offset); err != nil || !dropped {
				return err
			}
			return o.rewrite(name, again)

		case err != nil:
			return err
		}

		l, err := decodeRecorded(line)
		if err != nil {
			return noResult(name, number, err)
		}

		offset += int64(len(line))
		if slices.Contains(again, l.Status) {
			dropped = true
			continue
		}
		if err := done.add(*l.Index, l.Digest, l.Status); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if l.Answer != "" {
			done.count(l.Answer)
		}
	}
}

// noResult is the error for a line that brig batch has not written.
func noResult(name string, number int, err error) error {
	return fmt.Errorf("line %d is not a result of brig batch: %w: if %s is the right file, remove the line with sed "+
		"-i %dd, and its job runs again; "+
		"otherwise name another file", number, err, name, number)
}

// startsAsResult reports whether a line that is not complete may be the start of a result: the file may be another
// one, that a user named by mistake. After a power failure a file can end in zeros.
func startsAsResult(line []byte) bool {
	const start = `{"id":`
	return bytes.HasPrefix(line, []byte(start)[:min(len(line), len(start))]) || len(bytes.Trim(line, "\x00")) == 0
}

func decodeRecorded(line []byte) (recordedLine, error) {
	var l recordedLine
	if err := json.Unmarshal(line, &l); err != nil {
		return l, err
	}
	if l.Index == nil || l.Status == "" {
		return l, errors.New("it has no index or no status")
	}
	return l, nil
}

// rewrite replaces the file by one without the results that are to be made again. The new file is complete
// and on disk before it has the name.
func (o *Output) rewrite(name string, again []api.JobStatus) (err error) {
	if _, err := o.f.Seek(0, io.SeekStart); err != nil {
		return err
	}

	info, err := o.f.Stat()
	if err != nil {
		return err
	}

	// One that a crash left is removed, and a symbolic link of a stranger is not followed (FIO-20).
	if err := os.Remove(name + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	t, err := os.OpenFile(name+".new", os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close(), os.Remove(t.Name()))
		}
	}()

	if err := sameAccess(t, info); err != nil {
		return err
	}

	in, out := bufio.NewReaderSize(o.f, 256<<10), bufio.NewWriterSize(t, 256<<10)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // a line that is not complete is left out
		}
		if err != nil {
			return err
		}
		if l, err := decodeRecorded(line); err != nil {
			return err
		} else if slices.Contains(again, l.Status) {
			continue
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}

	replaced := Output{f: t, regular: true}
	if err := errors.Join(out.Flush(), t.Sync(), replaced.lock()); err != nil {
		return err
	}
	if err := os.Rename(t.Name(), name); err != nil {
		return err
	}

	old := o.f
	o.f = t
	return errors.Join(durable.SyncDir(filepath.Dir(name)), old.Close())
}

// sameAccess gives a file the owner and the mode of another one.
func sameAccess(f *os.File, as fs.FileInfo) error {
	if stat, ok := as.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		if err := f.Chown(int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	return f.Chmod(as.Mode().Perm())
}

// append writes complete lines, and waits until they are on disk. After an error none of them is in the file.
func (o *Output) append(lines []byte) error {
	if !o.regular {
		_, err := o.f.Write(lines)
		return err
	}
	if err := o.inPlace(); err != nil {
		return err
	}

	before, err := o.f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err = o.f.Write(lines); err == nil {
		err = o.f.Sync()
	}
	if err != nil { // such as a full disk
		return errors.Join(err, o.f.Truncate(before))
	}
	return nil
}

// inPlace is an error if the file is not under its name any more: its lines would be lost at the end, without a word.
func (o *Output) inPlace() error {
	own, err := o.f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(o.name)
	if err == nil && os.SameFile(own, there) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("the file of results %s was removed or replaced while the batch runs: the results that it had "+
		"are lost, unless it was only renamed: then move it back", o.name)
}

// Close closes the file. It is an error if the file is not under its name.
func (o *Output) Close() error {
	if !o.regular {
		return o.f.Close()
	}
	return errors.Join(o.inPlace(), o.f.Close())
}
