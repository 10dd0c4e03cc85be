package judge0

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// The statuses that are not of one verdict alone.
const (
	inQueue     = 1
	processing  = 2
	accepted    = 3
	wrong       = 4
	compilation = 6
	nonzero     = 11
	internal    = 13
)

// descriptions of the statuses, of which the first is 1.
var descriptions = []string{"In Queue", "Processing", "Accepted", "Wrong Answer", "Time Limit Exceeded", "Compilation Error",
	"Runtime Error (SIGSEGV)", "Runtime Error (SIGXFSZ)", "Runtime Error (SIGFPE)", "Runtime Error (SIGABRT)",
	"Runtime Error (NZEC)", "Runtime Error (Other)", "Internal Error", "Exec Format Error"}

// ofSignal are the statuses of programs that these signals ended.
var ofSignal = map[int]int{11: 7, 25: 8, 8: 9, 6: 10}

// A status is as clients get it. Its JSON has its fields in this order.
type status struct {
	ID          int    `json:"id"`
	Description string `json:"description"`
}

func statusOf(id int) status { return status{id, descriptions[id-1]} }

func planStatuses(dialect.Request, dialect.Agent) dialect.Plan {
	all := make([]status, len(descriptions))
	for i := range all {
		all[i] = statusOf(i + 1)
	}
	return dialect.Refuse(respond(200, all))
}

// An end is how one run of a submission ended.
type end struct {
	status  int
	message *string // nil: nothing is to be said
}

// endOf tells how a run ended, and whether its output is what is expected.
func endOf(res api.Result, q submission) end {
	word := dialect.Verdicts[dialect.Judge0][res.Verdict]
	say := func(status int, format string, args ...any) end {
		text := fmt.Sprintf(format, args...)
		return end{status, &text}
	}

	switch {
	case res.Verdict == api.Canceled:
		return say(word.Number, "the run was canceled before the program ended")
	case res.Verdict == api.OK && res.StdoutTruncated: // what it would be compared with is not all that it wrote
		return say(internal, "brig had no memory for all that the program wrote: send it again")
	case res.Verdict == api.OK && q.Expected != nil && !bytes.Equal(stripped(res.Stdout), stripped(q.Expected)):
		return end{status: wrong}
	case res.Verdict == api.OK, res.Verdict == api.CompileError:
		return end{status: word.Number}
	case res.Verdict == api.Nonzero:
		return say(word.Number, "Exited with error status %d", res.ExitCode)
	case word.Text != "":
		return say(word.Number, "%s", word.Text)
	case res.Verdict == api.Denied && res.Denial != nil:
		return say(word.Number, "Caught fatal signal %d: the system call %s is not allowed", res.Signal, res.Denial.Syscall)
	}

	if id, own := ofSignal[res.Signal]; own {
		return say(id, "Caught fatal signal %d", res.Signal)
	}
	return say(word.Number, "Caught fatal signal %d", res.Signal)
}

// space is what the end of a line may have.
const space = "\t\n\v\f\r \x00"

// stripped returns a text without spaces at the ends of its lines, and without empty lines at its end.
func stripped(text []byte) []byte {
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		lines[i] = bytes.TrimRight(line, space)
	}
	return bytes.TrimRight(bytes.Join(lines, []byte("\n")), space)
}

// An outcome is what a submission came to.
type outcome struct {
	end
	stdout, stderr, compiled []byte // nil: nothing was written
	time, wall               *decimal
	memory                   *int64 // KB
	code, signal             *int
}

// outcomeOf tells what a submission came to. A failure of brig is an internal error, and never an answer to the program.
func outcomeOf(s dialect.State, q submission) outcome {
	switch {
	case s.Problem != nil:
		text := s.Problem.Detail
		return outcome{end: end{internal, &text}}
	case s.Ended.IsZero() && s.Started.IsZero():
		return outcome{end: end{status: inQueue}}
	case s.Ended.IsZero():
		return outcome{end: end{status: processing}}
	case len(s.Results) == 0:
		text := "nothing was executed"
		return outcome{end: end{internal, &text}}
	}

	res := s.Results[len(s.Results)-1]
	o := outcome{end: endOf(res, q)}
	if o.status == compilation {
		o.compiled = compilerSaid(res)
		return o
	}

	o.stdout, o.stderr = some(res.Stdout), some(res.Stderr)
	if c := res.Compile; c != nil {
		o.compiled = some(slices.Concat(c.Stdout, c.Stderr))
	}
	if res.Signal > 0 {
		o.code, o.signal = new(int), &res.Signal
	} else {
		code := max(res.ExitCode, 0)
		o.code = &code
	}
	o.time, o.memory = averages(s.Results)
	wall := inSeconds(float64(res.Timing.Wall))
	o.wall = &wall
	return o
}

// compilerSaid is what a compiler that failed wrote. The original runs it without a limit of memory that it names.
func compilerSaid(res api.Result) []byte {
	switch hit := func(name string) bool { return slices.Contains(res.LimitsHit, name) }; {
	case hit(api.HitCPU), hit(api.HitWall):
		return []byte("Compilation time limit exceeded.")
	case hit(api.HitMemory):
		return append(slices.Concat(res.Stdout, res.Stderr), "Compilation memory limit exceeded."...)
	}
	return some(slices.Concat(res.Stdout, res.Stderr))
}

// some returns content, or nil if there is none.
func some(b api.Bytes) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// averages are those of the processor time and the memory of runs; nil: of one it is not known.
func averages(all []api.Result) (seconds *decimal, memory *int64) {
	var nanoseconds, bytes float64
	cpuKnown, memoryKnown := true, true
	for _, res := range all {
		cpu, peak := res.Usage.CPU.Value, res.Usage.Memory.Value
		cpuKnown, memoryKnown = cpuKnown && cpu != nil, memoryKnown && peak != nil
		if cpu != nil {
			nanoseconds += float64(*cpu)
		}
		if peak != nil {
			bytes += float64(*peak)
		}
	}

	n := float64(len(all))
	if cpuKnown {
		v := inSeconds(nanoseconds / n)
		seconds = &v
	}
	if memoryKnown {
		v := int64(bytes / n / kilobyte)
		memory = &v
	}
	return seconds, memory
}

// inSeconds has three digits behind the point at most.
func inSeconds(nanoseconds float64) decimal {
	return decimal(math.Round(nanoseconds/float64(time.Millisecond)) / 1000)
}

// defaultFields are told if the request names none.
var defaultFields = []string{"token", "time", "memory", "stdout", "stderr", "compile_output", "message", "status"}

// readFields reads the parameter fields. unknown are those that there are not.
func readFields(text string) (wanted, unknown []string) {
	known := func(name string) bool {
		return slices.ContainsFunc(fields, func(f field) bool { return f.name == name })
	}
	everything := false
	for _, name := range splitList(text) {
		switch {
		case name == "*":
			everything = true
		case !known(name):
			unknown = append(unknown, name)
		default:
			wanted = append(wanted, name)
		}
	}

	switch {
	case everything:
		wanted = nil
		for _, f := range fields {
			wanted = append(wanted, f.name)
		}
	case len(wanted) == 0:
		wanted = defaultFields
	}
	return wanted, unknown
}

// notText is the error about texts that are none.
func notText(where string) string {
	return "some attributes for " + where + " cannot be converted to UTF-8, use base64_encoded=true query parameter"
}

// tell answers with one submission.
func tell(code int, s dialect.State, p parameters) dialect.Response {
	o, ok := told(s, p)
	switch {
	case ok:
		return respond(code, o)
	case code == 201:
		return respond(code, struct {
			Error string `json:"error"`
			token
		}{notText("this submission"), token{s.Token}})
	}
	return respond(400, said{notText("this submission")})
}

// told tells the fields of a submission that a request wants, in the order of the original. It fails if one is no
// UTF-8, and not encoded.
func told(s dialect.State, p parameters) (all ordered, ok bool) {
	var q submission
	if err := json.Unmarshal(s.About, &q); err != nil {
		panic(err) // impossible: it is of this dialect
	}

	v := view{state: s, submission: q, outcome: outcomeOf(s, q), encoded: p.encoded}
	for _, f := range fields {
		if slices.Contains(p.fields, f.name) {
			all = append(all, pair{f.name, f.value(&v)})
		}
	}
	return all, !v.broken
}

// A view is what fields are told of.
type view struct {
	state dialect.State
	submission
	outcome
	encoded bool
	broken  bool // some content is no text, and not encoded
}

// content tells content; nil: null.
func (v *view) content(b []byte) *string {
	if b == nil {
		return nil
	}
	text := string(b)
	if v.encoded {
		text = encode(b)
	} else if !utf8.Valid(b) {
		v.broken = true
	}
	return &text
}

// date tells a time as Rails does; null: it is not known.
func date(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format("2006-01-02T15:04:05.000Z")
	return &text
}

// quoted tells a decimal, which is a string in the original.
func quoted(d *decimal) *string {
	if d == nil {
		return nil
	}
	text := d.String()
	return &text
}

func seconds(v float64) string { return decimal(v).String() }

// A field is one of those of a submission.
type field struct {
	name  string
	value func(*view) any
}

// fields are all fields, in the order of the original.
var fields = []field{
	{"source_code", func(v *view) any { return v.content(v.Source) }},
	{"language_id", func(v *view) any { return v.Language }},
	{"stdin", func(v *view) any { return v.content(v.Stdin) }},
	{"expected_output", func(v *view) any { return v.content(v.Expected) }},
	{"stdout", func(v *view) any { return v.content(v.stdout) }},
	{"status_id", func(v *view) any { return v.status }},
	{"created_at", func(v *view) any { return date(v.state.Created) }},
	{"finished_at", func(v *view) any { return date(v.state.Ended) }},
	{"time", func(v *view) any { return quoted(v.time) }},
	{"memory", func(v *view) any { return v.memory }},
	{"stderr", func(v *view) any { return v.content(v.stderr) }},
	{"token", func(v *view) any { return v.state.Token }},
	{"number_of_runs", func(v *view) any { return v.Runs }},
	{"cpu_time_limit", func(v *view) any { return seconds(v.CPU) }},
	{"cpu_extra_time", func(v *view) any { return seconds(v.Extra) }},
	{"wall_time_limit", func(v *view) any { return seconds(v.Wall) }},
	{"memory_limit", func(v *view) any { return v.Memory }},
	{"stack_limit", func(v *view) any { return v.Stack }},
	{"max_processes_and_or_threads", func(v *view) any { return v.Processes }},
	{"enable_per_process_and_thread_time_limit", func(*view) any { return false }},
	{"enable_per_process_and_thread_memory_limit", func(*view) any { return false }},
	{"max_file_size", func(v *view) any { return v.File }},
	{"compile_output", func(v *view) any { return v.content(v.compiled) }},
	{"exit_code", func(v *view) any { return v.code }},
	{"exit_signal", func(v *view) any { return v.signal }},
	{"message", func(v *view) any {
		if v.message == nil {
			return nil
		}
		return v.content([]byte(strings.ToValidUTF8(*v.message, "\uFFFD")))
	}},
	{"wall_time", func(v *view) any { return quoted(v.wall) }},
	{"compiler_options", func(v *view) any { return v.Options }},
	{"command_line_arguments", func(v *view) any { return v.Arguments }},
	{"redirect_stderr_to_stdout", func(v *view) any { return v.Merge }},
	{"callback_url", func(*view) any { return nil }},
	{"additional_files", func(*view) any { return nil }},
	{"enable_network", func(*view) any { return false }},
	{"status", func(v *view) any { return statusOf(v.status) }},
	{"language", func(v *view) any { return listed{ID: int(v.Language), Name: v.Name} }},
}
