package judge0

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// A submission is what a request asks for, and what is kept to answer later questions.
type submission struct {
	Language int64  `json:"language"`
	Name     string `json:"name"` // of the language
	Source   []byte `json:"source"`
	Stdin    []byte `json:"stdin"`    // nil: none was sent
	Expected []byte `json:"expected"` // nil: output is not compared

	Runs      int64   `json:"runs"`
	CPU       float64 `json:"cpu"` // seconds, as the next two
	Extra     float64 `json:"extra"`
	Wall      float64 `json:"wall"`
	Memory    int64   `json:"memory"` // KB, as stack and file
	Stack     int64   `json:"stack"`
	Processes int64   `json:"processes"`
	File      int64   `json:"file"`

	Options   *string `json:"options"`
	Arguments *string `json:"arguments"`
	Merge     bool    `json:"merge"`
}

// A request is a submission, and what its run needs in addition.
type request struct {
	submission
	language language
	on       api.Language
	options  []string // of the compiler
	words    []string // arguments of the program
	unknown  int      // fields that the original does not know
}

var knownFields = func() map[string]bool {
	known := map[string]bool{}
	for _, name := range []string{"source_code", "language_id", "compiler_options", "command_line_arguments", "number_of_runs", "stdin",
		"expected_output", "cpu_time_limit", "cpu_extra_time", "wall_time_limit", "memory_limit", "stack_limit",
		"max_processes_and_or_threads", "enable_per_process_and_thread_time_limit", "enable_per_process_and_thread_memory_limit",
		"max_file_size", "redirect_stderr_to_stdout", "callback_url", "additional_files", "enable_network",
		"base64_encoded", "wait", "fields"} {
		known[name] = true
	}
	return known
}()

// faults are what is wrong with a submission: messages for each field, as Rails has them.
type faults struct {
	fields ordered
}

func (f *faults) add(field, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	for i, p := range f.fields {
		if p.name == field {
			f.fields[i].value = append(p.value.([]string), message)
			return
		}
	}
	f.fields = append(f.fields, pair{field, []string{message}})
}

// multiFile is the language of programs whose files are all additional ones. brig does not have it.
const multiFile = 89

// maxWords is the most characters of options and of arguments.
const maxWords = 512

// read reads a submission, with the checks of the original in its order, and after them those of brig.
func read(o object, encoded bool, on dialect.Agent) (q request, bad faults) {
	for name := range o {
		if !knownFields[name] {
			q.unknown++
		}
	}

	q.Source = o.content("source_code", encoded)
	q.Stdin = o.content("stdin", encoded)
	q.Expected = o.content("expected_output", encoded)
	id, _, given := o.number("language_id")
	q.Language = int64(max(min(id, 1<<31), -1<<31))
	if len(bytes.TrimSpace(q.Source)) == 0 && q.Language != multiFile {
		bad.add("source_code", "can't be blank")
	}
	if !given {
		bad.add("language_id", "can't be blank")
	}
	q.readNumbers(o, settingsOf(on.Ceiling), &bad)
	q.readChoices(o, given, on, &bad)
	return q, bad
}

// readNumbers reads the limits. brig counts for all processes together, so that the original's limits for each of them
// cannot be asked for; nor can they where its operator permits them to nobody.
func (q *request) readNumbers(o object, s settings, bad *faults) {
	whole := func(v float64) int64 { return int64(v) }
	q.Runs = max(whole(readNumber(o, "number_of_runs", s.runs, bad)), 1)
	q.CPU = readNumber(o, "cpu_time_limit", s.cpu, bad)
	q.Extra = readNumber(o, "cpu_extra_time", s.extra, bad)
	s.wall.standard = min(max(s.wall.standard, float64(api.BusyWall(api.Duration(q.CPU*1e9)))/1e9), s.wall.most)
	q.Wall = readNumber(o, "wall_time_limit", s.wall, bad)
	q.Memory = whole(readNumber(o, "memory_limit", s.memory, bad))
	q.Stack = whole(readNumber(o, "stack_limit", s.stack, bad))
	q.Processes = max(whole(readNumber(o, "max_processes_and_or_threads", s.processes, bad)), 1)
	for _, name := range []string{"enable_per_process_and_thread_time_limit", "enable_per_process_and_thread_memory_limit"} {
		if o.flag(name) {
			bad.add(name, "this option cannot be enabled")
		}
	}
	q.File = whole(readNumber(o, "max_file_size", s.file, bad))
}

// readNumber reads a number within its bounds.
func readNumber(o object, name string, b bound, bad *faults) float64 {
	v, is, given := o.number(name)
	shown := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch {
	case !given:
		return b.standard
	case !is:
		bad.add(name, "is not a number")
	case b.above && v <= b.least:
		bad.add(name, "must be greater than %s", shown(b.least))
	case v < b.least:
		bad.add(name, "must be greater than or equal to %s", shown(b.least))
	case v > b.most:
		bad.add(name, "must be less than or equal to %s", shown(b.most))
	default:
		return v
	}
	return b.standard
}

// readChoices reads the language, and what only some submissions may have.
func (q *request) readChoices(o object, given bool, on dialect.Agent, bad *faults) {
	q.Options, q.Arguments = o.text("compiler_options"), o.text("command_line_arguments")
	q.Merge = o.flag("redirect_stderr_to_stdout")
	for _, one := range []struct {
		name  string
		given *string
	}{{"compiler_options", q.Options}, {"command_line_arguments", q.Arguments}} {
		if one.given != nil && utf8.RuneCountInString(*one.given) > maxWords {
			bad.add(one.name, "is too long (maximum is %d characters)", maxWords)
		}
	}

	var found bool
	if q.language, q.on, found = find(q.Language, on); !found {
		shown := ""
		if given {
			shown = strconv.FormatInt(q.Language, 10)
		}
		bad.add("language_id", "language with id %s doesn't exist", shown)
	}
	q.Name = q.language.name(q.on)

	if !isBlank(q.Options) && found && !q.language.options {
		bad.add("compiler_options", "setting compiler options is only allowed for compiled languages")
	}
	if !isBlank(o.text("callback_url")) {
		bad.add("callback_url", "setting callback is not allowed")
	}
	if !isBlank(o.text("additional_files")) {
		bad.add("additional_files", "setting additional files is not allowed")
	}
	if o.flag("enable_network") {
		bad.add("enable_network", "enabling network is not allowed")
	}
	q.options = wordsOf("compiler_options", q.Options, bad)
	q.words = wordsOf("command_line_arguments", q.Arguments, bad)
}

func isBlank(s *string) bool { return s == nil || strings.TrimSpace(*s) == "" }

// removed are characters of options and arguments that the original removes before a shell reads them.
var removed = strings.NewReplacer("$", "", "&", "", ";", "", "<", "", ">", "", "|", "", "`", "")

// wordsOf splits options or arguments into words, as the shell of the original does.
func wordsOf(field string, text *string, bad *faults) []string {
	if isBlank(text) {
		return nil
	}
	words, err := dialect.ShellWords([]string{removed.Replace(strings.TrimSpace(*text))})
	if err != nil {
		bad.add(field, "cannot be used: %s", err)
	}
	return words
}
