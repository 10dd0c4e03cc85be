package problem

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// A Problem is what a package says, in brig's words. Names of files are those of its Tree.
type Problem struct {
	Format string `json:"format"` // such as "kattis 2025-09"
	Name   string `json:"name"`   // of its directory or archive
	Title  string `json:"title,omitempty"`

	Scoring     bool `json:"scoring,omitempty"`     // submissions get points, not only accepted or not
	Interactive bool `json:"interactive,omitempty"` // Checker talks with the submission
	Passes      int  `json:"passes,omitempty"`      // most passes of a multi-pass problem; zero: it is none

	InputFile  string `json:"input_file,omitempty"`  // that submissions read; empty: stdin
	OutputFile string `json:"output_file,omitempty"` // that submissions write; empty: stdout

	Limits    Limits   `json:"limits"`
	Languages []string `json:"languages,omitempty"` // brig's names of the languages that may be used; empty: all

	Tests   []Test   `json:"tests"` // in the order in which they are judged
	Groups  []Group  `json:"groups,omitempty"`
	Compare *Builtin `json:"compare,omitempty"` // nil: Checker judges
	Checker *Program `json:"checker,omitempty"` // nil: Compare does

	// Interactor talks with the submission, and Checker then judges what it wrote; nil: Checker talks, if the
	// problem is interactive.
	Interactor *Program `json:"interactor,omitempty"`

	Processes int    `json:"processes,omitempty"`  // with which Checker of the protocol cms talks; zero: 1
	ProgramIO string `json:"program_io,omitempty"` // api.ProgramIO: what they talk over

	Validators []Program `json:"input_validators,omitempty"`
	Include    []Include `json:"include,omitempty"`
	Jury       []Jury    `json:"submissions,omitempty"`

	Generate *Generation `json:"generate,omitempty"` // nil: all files of its tests are there

	InvalidInputs  []Test `json:"invalid_inputs,omitempty"`  // a validator must refuse each
	InvalidOutputs []Test `json:"invalid_outputs,omitempty"` // the checker must refuse each Output
	ValidOutputs   []Test `json:"valid_outputs,omitempty"`   // the checker must accept each Output

	Constants map[string]string `json:"constants,omitempty"` // texts for {{name}} in programs of the package and in submissions of the jury
	Warnings  []Finding         `json:"warnings,omitempty"`
}

// Limits are the limits of a problem; zero: the package says nothing.
type Limits struct {
	Time       api.Duration `json:"time,omitempty"` // processor time of a test; zero: it follows from jury submissions
	Memory     api.Size     `json:"memory,omitempty"`
	Output     api.Size     `json:"output,omitempty"`
	Code       api.Size     `json:"code,omitempty"` // all files of a submission
	Timing     Timing       `json:"timing"`
	Compile    Stage        `json:"compile,omitzero"`
	Validation Stage        `json:"validation,omitzero"`
}

// A Stage has the limits of a compiler or validator; zero: the package says nothing.
type Stage struct {
	Time   api.Duration `json:"time,omitempty"`
	Memory api.Size     `json:"memory,omitempty"`
	Output api.Size     `json:"output,omitempty"`
}

// Timing says how the time limit follows from jury submissions: at least Accepted times the slowest of
// those that must not be too slow, and TooSlow times it at most the fastest of those that must be. The zero
// Timing is of a format that has no such rule.
type Timing struct {
	Accepted   float64      `json:"accepted"`
	TooSlow    float64      `json:"too_slow"`
	Resolution api.Duration `json:"resolution"` // the limit is a multiple of it
}

// A Test is one test, or an input or output for the validators.
type Test struct {
	ID            string              `json:"id"`
	Input         string              `json:"input"`
	Answer        string              `json:"answer,omitempty"`
	Output        string              `json:"output,omitempty"` // of a checker's test
	Args          []string            `json:"args,omitempty"`   // of the submission
	CheckArgs     []string            `json:"check_args,omitempty"`
	ValidatorArgs map[string][]string `json:"validator_args,omitempty"` // by name of the validator; "": all
	Sample        bool                `json:"sample,omitempty"`
	EmptyAnswer   bool                `json:"empty_answer,omitempty"` // without Answer: the expected output is empty, and compared
	Files         map[string]string   `json:"files,omitempty"`        // next to the submission in this test alone, by their names there
	// line ends of its files are made \n, and a last line without one gets it
	Text bool `json:"text,omitempty"`
}

// A Group is tests that score together.
type Group struct {
	ID       string   `json:"id"`               // ids of its tests begin with it and "/"
	Tests    []string `json:"tests,omitempty"`  // instead: ids of its tests
	Groups   []string `json:"groups,omitempty"` // groups whose points count in it, instead of tests
	How      string   `json:"how"`              // sum, min, max, avg or pass-fail
	Points   float64  `json:"points"`           // most points; zero: there is no bound
	Each     float64  `json:"each,omitempty"`   // points of an accepted test in it; zero: an equal part
	Reject   float64  `json:"reject,omitempty"`
	Requires []string `json:"requires,omitempty"` // groups that must be accepted
	Stop     bool     `json:"stop,omitempty"`     // no further test in it after one that was not accepted
	Passes   string   `json:"passes,omitempty"`   // when it is accepted: all (also empty), any, always
}

// Members are the tests of each group, by its id: those that it lists, or those whose ids begin with its own
// and "/", unless a longer one does, too.
func (p *Problem) Members() map[string][]Test {
	listed, byName := map[string][]string{}, map[string]bool{}
	for _, g := range p.Groups {
		for _, id := range g.Tests {
			listed[id] = append(listed[id], g.ID)
		}
		byName[g.ID] = g.Tests == nil
	}

	members := map[string][]Test{}
	for _, t := range p.Tests {
		for _, g := range listed[t.ID] {
			members[g] = append(members[g], t)
		}
		for end := strings.LastIndexByte(t.ID, '/'); end > 0; end = strings.LastIndexByte(t.ID[:end], '/') {
			if named, is := byName[t.ID[:end]]; is {
				if named {
					members[t.ID[:end]] = append(members[t.ID[:end]], t)
				}
				break
			}
		}
	}

	return members
}

// A Builtin is a comparison of brig with the arguments that the package gives.
type Builtin struct {
	How  string   `json:"how"` // api.Comparison
	Args []string `json:"args,omitempty"`
}

// A Program is a program of a package: a validator, a checker or a jury's submission.
type Program struct {
	Name     string   `json:"name"`
	Files    []string `json:"files"`
	Main     string   `json:"main,omitempty"`     // file that is run or compiled
	Language string   `json:"language,omitempty"` // brig's name; empty: from Main
	Command  []string `json:"command,omitempty"`  // instead of a source: what runs it in its directory, in the image of Language
	Flags    []string `json:"flags,omitempty"`    // of the compiler, after the usual ones
	Points   string   `json:"points,omitempty"`   // api.PointsAs: what the points of a testlib checker mean; empty: fraction
	Passes   int      `json:"passes,omitempty"`   // of an interactor: how many passes it talks in, from the first; zero: all
	Protocol string   `json:"protocol,omitempty"` // api.Protocol of a checker; of a validator: testlib accepts with 0, others with 42
	Skip     string   `json:"skip,omitempty"`     // why it cannot be run: such as a grammar of another tool
}

// An Include is files that are placed next to every submission in a language.
type Include struct {
	Language string   `json:"language"` // brig's name; "": those without their own
	Dir      string   `json:"dir"`
	Files    []string `json:"files"`

	As     map[string]string `json:"as,omitempty"`     // names next to the submission of files that do not keep theirs
	Before string            `json:"before,omitempty"` // text that begins the submission's main source
}

// Source is the main source of a submission with Before.
func (in Include) Source(text []byte) []byte {
	if in.Before == "" {
		return text
	}
	return append([]byte(in.Before), text...)
}

// A Jury is a submission of the jury, with what must come of it.
type Jury struct {
	Program
	Path   string        `json:"path"` // such as accepted/a.py
	Expect []Expectation `json:"expect"`
}

// An Expectation is what must come of a jury submission. Words are AC, WA, TLE and RTE.
type Expectation struct {
	Tests     string      `json:"tests,omitempty"`     // pattern of the tests that it is about; empty: all
	Permitted []string    `json:"permitted,omitempty"` // every test must have one of them; empty: any
	Required  []string    `json:"required,omitempty"`  // at least one test must have one of them; empty: none must
	Score     *[2]float64 `json:"score,omitempty"`     // least and most points
	Partial   bool        `json:"partial,omitempty"`   // its points must be less than the most
	Message   string      `json:"message,omitempty"`   // part of what the checker says of one test
	Lower     bool        `json:"lower,omitempty"`     // it bounds the time limit from below
	Upper     bool        `json:"upper,omitempty"`     // and from above
	Rule      string      `json:"rule"`                // where the package says so
}
