package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// A Test is one input for a program, with its own limits where set, and perhaps
// the output it should give.
type Test struct {
	ID           string          `json:"id,omitempty" doc:"id, unique among the run's tests; empty: the number of the test, from 1"`
	Stdin        Bytes           `json:"stdin,omitempty" doc:"what the program reads; empty: end of file at once"`
	StdinBlob    string          `json:"stdin_blob,omitempty" doc:"instead of stdin: the digest of a blob"`
	Files        []File          `json:"files,omitempty" doc:"placed in /box for this test alone, read-only, in addition to the run's files; one with the name of a run's file takes its place"`
	Args         []string        `json:"args,omitempty" doc:"arguments in addition to the run's, after them"`
	Expected     *Bytes          `json:"expected,omitempty" doc:"the expected output; without it and without expected_blob nothing is compared, and the test is accepted if the verdict is ok"`
	ExpectedBlob string          `json:"expected_blob,omitempty" doc:"instead of expected: the digest of a blob"`
	Compare      *Compare        `json:"compare,omitempty" doc:"how this test's output is compared, instead of the run's compare"`
	CallArgs     json.RawMessage `json:"call_args,omitempty" doc:"instead of stdin: a JSON array of arguments with which the function of the run's call is called"`
	Returns      json.RawMessage `json:"returns,omitempty" doc:"the JSON value that the call must return; without it any value is accepted"`
	Asserts      Bytes           `json:"asserts,omitempty" doc:"instead of stdin: Python statements with asserts, which run in a sandbox of their own and call the functions of the source"`
	CheckArgs    []string        `json:"check_args,omitempty" doc:"arguments of the checker or the interactor for this test"`
	Limits       Limits          `json:"limits,omitzero" doc:"limits of the test; they override the run's"`
}

// Compares reports whether the test says what its output should be.
func (t Test) Compares() bool { return t.Expected != nil || t.ExpectedBlob != "" }

// CompareOf returns how the output of a test of r is compared.
func (r Run) CompareOf(t Test) Compare {
	if t.Compare != nil {
		return *t.Compare
	}
	return r.Compare
}

// KeepOutput is how much of each stream a test's result carries if the Run does not set it.
const KeepOutput = 64 * KiB

// A TestResult says how one test ended. The agent compares the output: the expected output is never
// in the program's sandbox.
type TestResult struct {
	ID         string `json:"id" doc:"id of the test"`
	Answer     Answer `json:"answer,omitempty" doc:"absent: nothing was expected, or the verdict is not ok"`
	Difference string `json:"difference,omitempty" doc:"the first difference, for a wrong answer"`

	Score         *float64 `json:"score,omitempty" doc:"share of the test's points that a checker or an interactor gave, from 0 to 1"`
	Points        *float64 `json:"points,omitempty" doc:"points that a checker or an interactor gave, where it gives points and not a share"`
	AnswerVisible bool     `json:"answer_visible,omitempty" doc:"it is a case of a suite, which ran in one sandbox with the program: the program could see what is expected, and forge the result"`

	CheckerFailed bool `json:"checker_failed,omitempty" doc:"the checker failed on the output and accepts the expected output, so that the answer is wrong; difference and checker say how it failed"`

	Message     string          `json:"message,omitempty" doc:"what the checker or the interactor says, for the judge: it may tell the answer"`
	TeamMessage string          `json:"team_message,omitempty" doc:"what the checker or the interactor says for the author of the program"`
	Passes      int             `json:"passes,omitempty" doc:"number of passes of a multi-pass problem"`
	First       First           `json:"first,omitempty" doc:"which of the program and the interactor ended first"`
	Checker     *ProgramOutcome `json:"checker,omitempty" doc:"how the checker ended"`
	Interactor  *ProgramOutcome `json:"interactor,omitempty" doc:"how the interactor ended"`

	Output Bytes  `json:"output,omitempty" doc:"the beginning of the run's output_file, at most keep_output"`
	Cut    bool   `json:"cut,omitempty" doc:"a stream or output was longer than the run's keep_output; usage counts all of a stream"`
	Result Result `json:"result" doc:"the result, without host and labels, which are in the run's result"`
}

// Accepted reports whether the program ended well and gave no wrong or partial answer.
func (t TestResult) Accepted() bool {
	return t.Result.Verdict == OK && t.Answer != WrongAnswer && t.Answer != Partial
}

// A Summary sums up all tests of a run.
type Summary struct {
	Tests    int `json:"tests" doc:"number of requested tests"`
	Ran      int `json:"ran" doc:"number of tests that ran; fewer than tests after stop_at_failure or a compile error"`
	Accepted int `json:"accepted" doc:"tests whose program ended well and gave no wrong answer"`

	Verdict       Verdict            `json:"verdict" doc:"the worst of all tests"`
	Answer        Answer             `json:"answer,omitempty" doc:"wrong-answer if any test has it, otherwise partial if any has it; accepted if every requested test ran, was compared and is right; otherwise absent"`
	FirstFailed   string             `json:"first_failed,omitempty" doc:"id of the first test, in the order of the request, that was not accepted"`
	CheckerFailed int                `json:"checker_failed,omitempty" doc:"tests whose answer is wrong because the checker failed on the output: see checker_failed of the test"`
	Skipped       int                `json:"skipped,omitempty" doc:"tests that do not count, because of stop_at_failure or of their group"`
	Score         *float64           `json:"score,omitempty" doc:"points divided by max_points; without groups: the mean of the tests' scores, if a checker or an interactor gave one"`
	Points        *float64           `json:"points,omitempty" doc:"points of all groups that are in no other group"`
	MaxPoints     *float64           `json:"max_points,omitempty" doc:"most points of these groups"`
	Groups        []ScoreGroupResult `json:"groups,omitempty" doc:"what each group scored, in the order of the request"`
	Outcomes      string             `json:"outcomes,omitempty" doc:"in the history alone: a letter for each test, in their order, at most 1024. A accepted, P partial, W wrong answer, T time, M memory, O output, R ended with an error, D denied call, C not compiled, ? not judged, - did not run"`

	MaxCPU    int64 `json:"max_cpu_ns" doc:"maximum processor time of a test, in nanoseconds"`
	MaxWall   int64 `json:"max_wall_ns" doc:"maximum wall time of a test, in nanoseconds"`
	MaxMemory int64 `json:"max_memory_bytes" doc:"maximum memory of a test, in bytes"`
}

// severity orders verdicts for "worst": from a program that ended well to one that was not judged.
var severity = map[Verdict]int{
	OK: 0, Nonzero: 1, Signaled: 2, OutputLimit: 3, WallLimit: 4, CPULimit: 5, MemoryLimit: 6, Denied: 7,
	CompileError: 8, Canceled: 9,
}

// Verdicts returns all verdicts, the least severe first.
func Verdicts() []Verdict {
	return slices.SortedFunc(maps.Keys(severity), func(v, w Verdict) int { return severity[v] - severity[w] })
}

// Worse reports whether v is more severe than w in a summary.
func (v Verdict) Worse(w Verdict) bool { return severity[v] > severity[w] }

// Summarize makes the summary of the requested tests. asked is their number; results are in the
// order of the request.
func Summarize(asked int, results []TestResult) Summary {
	s := Summary{Tests: asked, Ran: len(results), Verdict: OK}
	compared := 0
	for _, t := range results {
		if t.Accepted() {
			s.Accepted++
		} else if s.FirstFailed == "" {
			s.FirstFailed = t.ID
		}
		if t.Result.Verdict.Worse(s.Verdict) {
			s.Verdict = t.Result.Verdict
		}

		switch t.Answer {
		case WrongAnswer:
			s.Answer = WrongAnswer
		case Partial:
			s.Answer = cmp.Or(s.Answer, Partial)
		case Accepted:
			compared++
		}

		if t.CheckerFailed {
			s.CheckerFailed++
		}

		s.MaxCPU = max(s.MaxCPU, t.Result.Usage.CPU.or(0))
		s.MaxMemory = max(s.MaxMemory, t.Result.Usage.Memory.or(0))
		s.MaxWall = max(s.MaxWall, t.Result.Timing.Wall)
	}

	if s.Answer == "" && compared > 0 && compared == asked {
		s.Answer = Accepted
	}
	return s
}

// Decisive returns the result that the verdict rests on: that of the first test with the verdict of
// r, or r itself if there is none.
func (r Result) Decisive() Result {
	for _, t := range r.Tests {
		if t.Result.Verdict == r.Verdict {
			return t.Result
		}
	}
	return r
}

// SumUsage adds up the usage of tests: processor time as a sum, memory as the largest of one test.
// The other measurements are in each test's result.
func SumUsage(results []TestResult) Usage {
	each := Unknown("see each test")
	u := Usage{CPU: each, User: each, System: each, Memory: each, MaxRSS: each, Pids: each,
		OOMKills: each, ForksRefused: each}
	var cpu, memory int64
	for _, t := range results {
		cpu += t.Result.Usage.CPU.or(0)
		memory = max(memory, t.Result.Usage.Memory.or(0))
		u.StdoutBytes += t.Result.Usage.StdoutBytes
		u.StderrBytes += t.Result.Usage.StderrBytes
	}

	if len(results) > 0 {
		u.CPU, u.Memory = Known(cpu, "sum of the tests"), Known(memory, "maximum of one test")
	}
	return u
}
