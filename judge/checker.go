package judge

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// The files of a checker or an interactor, below its own /box.
const (
	InputFile   = "judge/input"   // the input of the test
	OutputFile  = "judge/output"  // what the program wrote
	AnswerFile  = "judge/answer"  // the expected output; empty if the test has none
	FeedbackDir = "feedback"      // where a checker of the protocol kattis leaves files
	NextPass    = "nextpass.in"   // there: the input of the next pass
	tout        = "judge/tout"    // what an interactor of the protocol testlib writes for the checker
	scoreFile   = "judge/score"   // of the protocol lemon
	messageFile = "judge/message" // of the protocol lemon
	fullScore   = "100"           // of the protocol lemon
	MaxMessage  = 64 * api.KiB    // of a message in a result
	MaxStream   = 64 * api.KiB    // of each stream of a checker or an interactor: the rest is not kept
	maxPoints   = 1e9             // of a test, so that sums of points are finite
	maxFeedback = 8 * api.MiB     // all files that a checker leaves
)

// A Protocol says how the checkers of a protocol are called, and reads what they leave.
type Protocol struct {
	// Args are the arguments. args are those of the request, for every test and for this one.
	Args func(args []string) []string
	// Stdin says that the checker reads the program's output on stdin.
	Stdin bool
	// Files are the names of input, output and answer; none: InputFile, OutputFile, AnswerFile.
	Files [3]string
	// Collect are the files that the checker may leave.
	Collect []string
	// atLimit says that a limit of processor time or memory is a wrong answer, and not a failure.
	atLimit bool
	// read reads what a checker left that ended by itself.
	read func(l CheckerOutput, as api.PointsAs) (CheckResult, error)
}

// A CheckerOutput is how a checker ended on one test, and what it wrote.
type CheckerOutput struct {
	Verdict        api.Verdict
	ExitCode       int
	Signal         string
	Stdout, Stderr []byte
	Files          map[string][]byte // by name, of Protocol.Collect
}

// A CheckResult is the verdict of a checker on a program's output.
type CheckResult struct {
	Answer               api.Answer
	Score, Points        *float64
	Message, TeamMessage string
	Next                 []byte // input of the next pass
	More                 bool   // there is another pass
	Final                bool   // of an interactor: whatever the program does after it changes nothing
}

// Twice turns an accepted first run of a program that runs twice into "run again with this input". The protocol
// testlib has no exit code for that.
func (w CheckResult) Twice(next []byte) CheckResult {
	if w.Answer == api.Accepted {
		w.More, w.Next = true, next
	}
	return w
}

// ProtocolOf returns the protocol of that name, which exists.
func ProtocolOf(name api.Protocol) Protocol {
	p := protocols[name]
	if p.Files == [3]string{} {
		p.Files = [3]string{InputFile, OutputFile, AnswerFile}
	}
	return p
}

func before(files ...string) func([]string) []string {
	return func(args []string) []string { return slices.Concat(args, files) }
}

func after(files ...string) func([]string) []string {
	return func(args []string) []string { return slices.Concat(files, args) }
}

var protocols = map[api.Protocol]Protocol{
	api.ProtocolKattis: {
		Args: after(InputFile, AnswerFile, FeedbackDir+"/"), Stdin: true, read: readKattis,
		Collect: []string{FeedbackDir + "/*"},
	},
	ProtocolCalls: {
		Args: after(InputFile, AnswerFile, FeedbackDir+"/"), Stdin: true, read: readKattis,
		Collect: []string{FeedbackDir + "/*"}, atLimit: true,
	},
	// Options such as --testset and --group come before the files. With a fourth file the checker would
	// write its message there, and not to stderr.
	api.ProtocolTestlib: {Args: before(InputFile, OutputFile, AnswerFile), read: readTestlib},
	api.ProtocolCMS:     {Args: after(InputFile, AnswerFile, OutputFile), read: readCMS},
	api.ProtocolDMOJ:    {Args: after(InputFile, OutputFile, AnswerFile), read: readExit},
	api.ProtocolCOCI:    {Args: after(InputFile, OutputFile, AnswerFile), read: readCOCI},
	api.ProtocolEjudge:  {Args: after(InputFile, OutputFile, AnswerFile), read: readEjudge},
	api.ProtocolSYZOJ: {
		Args: func(args []string) []string { return args }, read: readSYZOJ,
		Files: [3]string{"input", "user_out", "answer"},
	},
	api.ProtocolLemon: {
		Args: after(InputFile, OutputFile, AnswerFile, fullScore, scoreFile, messageFile), read: readLemon,
		Collect: []string{scoreFile, messageFile},
	},
	api.ProtocolNone: {Args: func(args []string) []string { return args }, read: readNone},
	api.ProtocolPEG:  {Args: after(AnswerFile, OutputFile, InputFile), read: readPEG},
	api.ProtocolScaleBox: { // the names of the last two are as its data have them: stdout.txt is what is expected
		Args: func(args []string) []string { return args }, read: readScaleBox,
		Files: [3]string{"stdin.txt", "answer.txt", "stdout.txt"},
	},
	api.ProtocolExit:   {Args: placeholders, Stdin: true, read: readExit},
	api.ProtocolPython: {Args: func([]string) []string { return nil }, read: readPython},
}

// placeholders replaces the names of files in the arguments of the protocol exit.
func placeholders(args []string) (out []string) {
	r := strings.NewReplacer("{input}", InputFile, "{output}", OutputFile, "{answer}", AnswerFile)
	for _, a := range args {
		out = append(out, r.Replace(a))
	}
	return out
}

// readNone reads what a program left that judges nothing.
func readNone(CheckerOutput, api.PointsAs) (CheckResult, error) {
	return CheckResult{}, errors.New("a program of the protocol none judges nothing")
}

// Read reads what a checker left. An error says how the checker violated its protocol (GRD-03).
func (p Protocol) Read(l CheckerOutput, as api.PointsAs) (CheckResult, error) {
	switch l.Verdict {
	case api.OK, api.Nonzero:
	case api.Signaled:
		return CheckResult{}, fmt.Errorf("signal %s ended it", l.Signal)
	case api.CPULimit, api.MemoryLimit:
		if p.atLimit {
			return CheckResult{Answer: api.WrongAnswer,
					Message: fmt.Sprintf("the values that the program returned take more than there is to judge them (%s)",
						l.Verdict)},
				nil
		}
		fallthrough

	default:
		return CheckResult{}, fmt.Errorf("it ended with the verdict %s", l.Verdict)
	}

	w, err := p.read(l, as)
	w.Message, w.TeamMessage = message(w.Message), message(w.TeamMessage)
	return w, err
}

// exited is the error for an exit code that the protocol does not have.
func (l CheckerOutput) exited(codes string) error {
	return fmt.Errorf("it exited with %d, and the protocol has only %s", l.ExitCode, codes)
}

// message makes a text of at most MaxMessage bytes that is valid UTF-8.
func message(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd"))
	if len(text) <= int(MaxMessage) {
		return text
	}
	cut := int(MaxMessage)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// scored is the answer for a share of the points.
func scored(share float64, text string) CheckResult {
	w := CheckResult{Answer: api.Partial, Score: &share, Message: text}
	switch {
	case share >= 1:
		w.Answer = api.Accepted
	case share <= 0:
		w.Answer = api.WrongAnswer
	}
	return w
}

// number reads a finite number in decimal, from minimum to maximum.
func number(text []byte, minimum, maximum float64) (float64, error) {
	text = bytes.TrimSpace(text)
	f, ok := decimalFloat(text)
	if ok && f > maximum {
		return 0, &PackageFault{fmt.Sprintf("%s is above %v, the maximum", excerpt(text, 0), maximum)}
	}
	if !ok || f < minimum {
		return 0, fmt.Errorf("%s is not a number between %v and %v", excerpt(text, 0), minimum, maximum)
	}
	return f, nil
}

// line returns the first line of text, and the rest.
func line(text []byte) (first, rest []byte) {
	first, rest, _ = bytes.Cut(text, []byte("\n"))
	return first, rest
}

// readExit reads exit code 0 for accepted and 1 for wrong, with the message on stdout.
func readExit(l CheckerOutput, _ api.PointsAs) (CheckResult, error) {
	switch l.ExitCode {
	case 0:
		return CheckResult{Answer: api.Accepted, Message: string(l.Stdout)}, nil
	case 1:
		return CheckResult{Answer: api.WrongAnswer, Message: string(l.Stdout)}, nil
	}
	return CheckResult{}, l.exited("0 (accepted) and 1 (wrong)")
}

// readCMS reads a number from 0 to 1 on the first line of stdout, and a message on that of stderr.
func readCMS(l CheckerOutput, _ api.PointsAs) (CheckResult, error) {
	if l.ExitCode != 0 {
		return CheckResult{}, l.exited("0")
	}

	first, _ := line(l.Stdout)
	share, err := number(first, 0, 1)
	if err != nil {
		return CheckResult{}, fmt.Errorf("the outcome on stdout: %w", err)
	}

	text, _ := line(l.Stderr)
	said := string(bytes.TrimSpace(text))
	if name, ok := strings.CutPrefix(said, "translate:"); ok {
		said = map[string]string{"success": "Output is correct", "partial": "Output is partially correct",
			"wrong": "Output isn't correct"}[name]
	}
	return scored(share, said), nil
}

// readCOCI reads exit code 0 for accepted, 1 and 2 for wrong, and 7 for "partial X/Y" on stderr.
func readCOCI(l CheckerOutput, _ api.PointsAs) (CheckResult, error) {
	said := string(l.Stderr)
	switch l.ExitCode {
	case 0:
		return CheckResult{Answer: api.Accepted, Message: said}, nil
	case 1, 2:
		return CheckResult{Answer: api.WrongAnswer, Message: said}, nil
	case 7:
		first, _ := line(l.Stderr)
		x, y, ok := bytes.Cut(bytes.TrimPrefix(bytes.TrimSpace(first), []byte("partial ")), []byte("/"))
		if !ok || !bytes.HasPrefix(first, []byte("partial ")) {
			return CheckResult{}, fmt.Errorf("it exited with 7, and stderr does not begin with \"partial X/Y\"")
		}

		of, err := number(y, math.SmallestNonzeroFloat64, maxPoints)
		if err != nil {
			return CheckResult{}, fmt.Errorf("the points on stderr: %w", err)
		}

		points, err := number(x, 0, of)
		if err != nil {
			return CheckResult{}, fmt.Errorf("the points on stderr: %w", err)
		}
		return scored(points/of, said), nil
	}

	return CheckResult{}, l.exited("0, 1, 2 and 7")
}

// readEjudge reads exit code 0 for accepted, 4 (presentation error) and 5 (wrong answer) for wrong, and 6 for a checker
// that accuses itself or the answer. As ejudge does, it takes 1 for 5 and 2 for 4.
func readEjudge(l CheckerOutput, _ api.PointsAs) (CheckResult, error) {
	switch l.ExitCode {
	case 0:
		return CheckResult{Answer: api.Accepted, Message: string(l.Stderr)}, nil
	case 1, 2, 4, 5:
		return CheckResult{Answer: api.WrongAnswer, Message: string(l.Stderr)}, nil
	case 6:
		return CheckResult{}, &PackageFault{"it exited with 6, which means that the checker or the answer is at fault"}
	}
	return CheckResult{}, l.exited("0 (accepted), 4 and 5 (wrong), and 6 (check failed)")
}

// readSYZOJ reads a number from 0 to 100 on stdout, and a message on stderr.
func readSYZOJ(l CheckerOutput, _ api.PointsAs) (CheckResult, error) {
	if l.ExitCode != 0 {
		return CheckResult{}, l.exited("0")
	}
	points, err := number(l.Stdout, 0, 100)
	if err != nil {
		return CheckResult{}, fmt.Errorf("the score on stdout: %w", err)
	}
	return scored(points/100, string(l.Stderr)), nil
}

// readLemon reads the files that the last two arguments name.
func readLemon(l CheckerOutput, _ api.PointsAs) (CheckResult, error) {
	if l.ExitCode != 0 {
		return CheckResult{}, l.exited("0")
	}
	text, ok := l.Files[scoreFile]
	if !ok {
		return CheckResult{}, fmt.Errorf("it did not write the file of the score, its fifth argument")
	}
	points, err := number(text, 0, 100)
	if err != nil {
		return CheckResult{}, fmt.Errorf("the score: %w", err)
	}
	return scored(points/100, string(l.Files[messageFile])), nil
}

// readPEG reads exit code 0 for accepted and 1 for wrong, unless two lines of stdout, one after the other,
// are numbers whose quotient is positive: it is the share of the points, whatever the exit code.
func readPEG(l CheckerOutput, as api.PointsAs) (CheckResult, error) {
	w, err := readExit(l, as)
	if err != nil {
		return w, err
	}

	for first, rest := line(l.Stdout); len(rest) > 0; first, rest = line(rest) {
		second, _ := line(rest)
		got, ok := decimalFloat(bytes.TrimSpace(first))
		of, ok2 := decimalFloat(bytes.TrimSpace(second))
		if share := got / of; ok && ok2 && of != 0 && share > 0 {
			if share > 1 {
				return CheckResult{}, &PackageFault{fmt.Sprintf("it gave %s of %s points", excerpt(first, 0), excerpt(second, 0))}
			}
			return scored(share, string(l.Stdout)), nil
		}
	}

	if len(l.Stdout) >= int(MaxStream) {
		return CheckResult{}, fmt.Errorf("it wrote %s or more to stdout, and its points may have been cut off: let it write less",
			MaxStream)
	}
	return w, nil
}

// readScaleBox reads exit code 0 for accepted, and any other one for wrong.
func readScaleBox(l CheckerOutput, _ api.PointsAs) (CheckResult, error) {
	w := CheckResult{Answer: api.WrongAnswer, Message: string(l.Stdout)}
	if l.ExitCode == 0 {
		w.Answer = api.Accepted
	}
	return w, nil
}

// readPython reads what PythonWrapper writes: the score on the first line, then the message.
func readPython(l CheckerOutput, _ api.PointsAs) (CheckResult, error) {
	if l.ExitCode != 0 {
		return CheckResult{}, fmt.Errorf("it failed with exit code %d", l.ExitCode)
	}

	first, rest := line(l.Stdout)
	share, err := strconv.ParseFloat(string(first), 64)
	if err != nil || !(share >= 0 && share <= 1) {
		why := fmt.Sprintf("check returned %s: it must return True, False or a number between 0 and 1, or a pair of "+
			"one of these and a message", excerpt(first, 0))
		if share > 1 && !math.IsInf(share, 0) {
			return CheckResult{}, &PackageFault{why}
		}
		return CheckResult{}, errors.New(why)
	}

	return scored(share, string(rest)), nil
}
