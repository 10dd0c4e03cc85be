package gojudge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// An answer is the result of one command. Its JSON has its fields in this order.
type answer struct {
	Status     string            `json:"status"`
	ExitStatus int               `json:"exitStatus"` // or the signal
	Error      string            `json:"error,omitempty"`
	Time       int64             `json:"time"`    // nanoseconds of processor time
	Memory     int64             `json:"memory"`  // bytes, at most at once
	RunTime    int64             `json:"runTime"` // nanoseconds
	ProcPeak   int64             `json:"procPeak,omitempty"`
	Files      map[string]string `json:"files,omitempty"`
	FileIDs    map[string]string `json:"fileIds,omitempty"`
	FileError  []fileError       `json:"fileError,omitempty"`

	keep []kept // whose ids are not known yet
}

// A fileError is a file that was not copied out, or not whole.
type fileError struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Message string `json:"message,omitempty"`
}

// kept is a file that is kept for the client.
type kept struct {
	name string
	file api.File
}

// The statuses that are of no verdict alone.
const (
	accepted      = "Accepted"
	timeLimit     = "Time Limit Exceeded"
	memoryLimit   = "Memory Limit Exceeded"
	outputLimit   = "Output Limit Exceeded"
	badFile       = "File Error"
	dangerous     = "Dangerous Syscall"
	internalError = "Internal Error"
)

// The types of a fileError.
const (
	notOpened    = "CopyOutOpen"
	tooLarge     = "CopyOutSizeExceeded"
	streamTooBig = "CollectSizeExceeded"
)

// Signals of which the original says more than that they ended the program.
const (
	sigKill  = 9
	sigXFSZ  = 25
	sigSys   = 31
	noSignal = 0
)

// tell tells the results of all commands. Files that are cached are kept under new ids.
func tell(jobs []job, results []api.Result, nonce string) dialect.Response {
	var keep []dialect.Keep
	answers := make([]answer, len(jobs))
	for i, j := range jobs {
		a := j.tell(j.resultOf(results))
		for _, f := range a.keep {
			if a.FileIDs == nil {
				a.FileIDs = map[string]string{}
			}
			id := fileID(nonce, len(keep))
			a.FileIDs[f.name] = id
			keep = append(keep, dialect.KeepFile(id, f.name, f.file))
		}
		answers[i] = a
	}

	r := respond(200, answers)
	r.Body, r.Keep = append(r.Body, '\n'), keep
	return r
}

// tell tells the result of one command.
func (j job) tell(res api.Result) answer {
	a := answer{
		Status: dialect.Verdicts[dialect.GoJudge][res.Verdict].Text, ExitStatus: max(res.ExitCode, 0),
		Time: valueOf(res.Usage.CPU), Memory: valueOf(res.Usage.Memory), RunTime: res.Timing.Wall,
		ProcPeak: valueOf(res.Usage.Pids), Files: map[string]string{},
	}
	if a.Memory == 0 {
		a.Memory = valueOf(res.Usage.MaxRSS)
	}

	switch {
	case res.Signal != noSignal:
		a.ExitStatus = res.Signal
	case a.Status == timeLimit, a.Status == memoryLimit, a.Status == outputLimit:
		a.ExitStatus = sigKill
	}
	switch {
	case res.Verdict == api.Signaled && res.Signal == sigXFSZ:
		a.Status = outputLimit
	case res.Verdict == api.Signaled && res.Signal == sigSys:
		a.Status = dangerous
	case res.Verdict == api.Denied && res.Denial != nil:
		a.Error = "the system call " + res.Denial.Syscall + " is not permitted"
	case res.Verdict == api.Canceled:
		a.Error = "the run was canceled before the program ended"
	}

	told := j.stream(&a, j.stdout, res.Stdout, res.StdoutTruncated)
	told = j.stream(&a, j.stderr, res.Stderr, res.StderrTruncated) && told
	over := len(a.FileError) > 0
	ours := cmp.Or(j.copyOut(&a, res), j.asked.lowered(res.Verdict, j.run.Limits))
	if ours == "" && (!told || res.Verdict == api.OutputLimit && !over) {
		ours = fmt.Sprintf("the program wrote more than %v to one stream, the most that it may have here: ask for less",
			j.run.Limits.Output)
	}

	switch {
	case ours != "": // never a verdict on the program
		a.Status, a.Error = internalError, ours
	case a.Status == internalError:
	case j.asked.memory > 0 && a.Memory > int64(j.asked.memory): // it asked for less than the least that a run has
		a.Status = memoryLimit
	case j.asked.cpu > 0 && a.Time > int64(j.asked.cpu):
		a.Status = timeLimit
	case a.Status == accepted && over:
		a.Status, a.Error = outputLimit, outputLimit
	case a.Status == accepted && len(a.FileError) > 0:
		a.Status, a.Error = badFile, a.FileError[0].Message
	}
	return a
}

func valueOf(m api.Measurement) int64 {
	if m.Value == nil {
		return 0
	}
	return *m.Value
}

// stream tells a stream. It returns false if brig has less of it than is asked for, because of a bound of its own.
func (j job) stream(a *answer, s *collector, content api.Bytes, truncated bool) bool {
	if s == nil {
		return true
	}

	over := int64(len(content)) > s.max || truncated && int64(len(content)) == s.max
	if over {
		content = content[:s.max]
		a.FileError = append(a.FileError, fileError{Name: s.name, Type: streamTooBig, Message: outputLimit})
	}
	a.put(s.name, api.File{Content: content}, s.cached)
	return over || !truncated
}

func (a *answer) put(name string, f api.File, cached bool) {
	if cached {
		a.keep = append(a.keep, kept{name, f})
		return
	}
	a.Files[name] = string(f.Content)
}

// kinds are the reasons for which brig collects no file that is there, because it is not a regular one.
var kinds = []string{"symbolic link", "FIFO", "socket", "device", "directory", "not a regular file"}

// gone are the reasons for which there is no such file.
var gone = []string{api.NoSuchFile, "leads out of /box"}

// copyOut tells the files that are copied out. ours says what brig could not tell, because of a bound of its own.
func (j job) copyOut(a *answer, res api.Result) (ours string) {
	if res.Verdict == api.Canceled {
		return ""
	}
	for _, o := range j.out {
		if i := slices.IndexFunc(res.Files, func(f api.File) bool { return f.Name == o.path }); i >= 0 {
			j.copyFile(a, o, res.Files[i])
			continue
		}

		reason := api.NoSuchFile
		for _, s := range res.Skipped {
			if s.Name == o.path || s.Name == globOf(o.path) || s.Name == "..." {
				reason = s.Reason
			}
		}
		switch {
		case slices.Contains(kinds, reason) && !o.optional:
			a.FileError = append(a.FileError, fileError{o.name, notOpened, o.name + " is not a regular file: " + reason})
		case slices.Contains(kinds, reason):
		case !slices.Contains(gone, reason):
			ours = fmt.Sprintf("copyout: %q: %s", o.name, reason)
		case !o.optional:
			a.FileError = append(a.FileError, fileError{o.name, notOpened,
				fmt.Sprintf("copyout: open %q: %s", o.name, reason)})
		}
	}
	return ours
}

// copyFile tells a file.
func (j job) copyFile(a *answer, o output, f api.File) {
	if size := max(uint64(len(f.Content)), uint64(f.Size)); j.max > 0 && size > j.max {
		a.FileError = append(a.FileError, fileError{o.name, tooLarge,
			fmt.Sprintf("copyout: %q size (%d) exceeds limit (%d)", o.name, size, j.max)})
		if !j.truncate {
			return
		}
		f.Content = f.Content[:j.max]
	}
	a.put(o.name, f, o.cached)
}
