package mcp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
)

// project is the label of runs that come from here, so that the history can tell them apart.
const project = "mcp"

// The most files that a program may leave in an answer, and their bytes together.
const (
	collectFiles = 16
	collectBytes = 1 * api.MiB
)

// RunCode are the arguments of run_code.
type RunCode struct {
	Language string             `json:"language" jsonschema:"name of the language, such as python: see list_languages"`
	Code     string             `json:"code" jsonschema:"the program's text"`
	Stdin    string             `json:"stdin,omitempty" jsonschema:"what the program reads from stdin; none: end of file at once"`
	Args     []string           `json:"args,omitempty" jsonschema:"the program's arguments"`
	Files    map[string]Content `json:"files,omitempty" jsonschema:"files to place in /box, by name: text, or an object with base64"`
	Timeout  float64            `json:"timeout_seconds,omitempty" jsonschema:"longest time the program may take; none: brig's default"`
	Memory   string             `json:"memory,omitempty" jsonschema:"most memory, such as 256M; none: brig's default"`
}

// planRun makes the run of run_code.
func planRun(in RunCode) (r api.Run, err error) {
	r = api.Run{
		Language: in.Language, Source: api.Bytes(in.Code), Argv: in.Args, Stdin: api.Bytes(in.Stdin),
		Collect: api.Collect{Files: collectFiles, Bytes: collectBytes}, Labels: api.Labels{Project: project},
	}
	if r.Source == nil {
		r.Source = api.Bytes{}
	}

	for _, name := range slices.Sorted(maps.Keys(in.Files)) {
		r.Files = append(r.Files, api.File{Name: name, Content: api.Bytes(in.Files[name])})
	}

	if r.Limits, err = limitsOf(in.Timeout, in.Memory); err != nil {
		return r, err
	}
	return r, r.Validate()
}

// RunTests are the arguments of run_tests.
type RunTests struct {
	Language string  `json:"language" jsonschema:"name of the language, such as python: see list_languages"`
	Code     string  `json:"code" jsonschema:"the program's text"`
	Tests    []Test  `json:"tests" jsonschema:"the tests; each runs the program once, in a fresh sandbox"`
	Compare  string  `json:"compare,omitempty" jsonschema:"how stdout is compared with expected: lines (the default; ignores white space at the end of lines), exact, tokens, float or json"`
	Timeout  float64 `json:"timeout_seconds,omitempty" jsonschema:"longest time of each test; none: brig's default"`
	Memory   string  `json:"memory,omitempty" jsonschema:"most memory of each test, such as 256M; none: brig's default"`
}

// A Test is one test in the arguments of run_tests.
type Test struct {
	ID       string  `json:"id,omitempty" jsonschema:"name of the test; none: its number, from 1"`
	Stdin    string  `json:"stdin" jsonschema:"what the program reads from stdin"`
	Expected *string `json:"expected,omitempty" jsonschema:"what it should write to stdout; none: it only has to end with exit code 0"`
}

// keptOutput is how much of each stream of a test is asked for: a model gets the tests' differences, not their output.
const keptOutput = 1 * api.KiB

// planTests makes the run of run_tests.
func planTests(in RunTests) (r api.Run, err error) {
	if len(in.Tests) == 0 {
		return r, api.Refuse(api.CodeBadRequest, "tests is empty: add a test such as {\"stdin\": \"1 2\", \"expected\": \"3\"}, "+
			"or call run_code")
	}
	if r, err = planRun(RunCode{Language: in.Language, Code: in.Code, Timeout: in.Timeout, Memory: in.Memory}); err != nil {
		return r, err
	}

	r.Collect, r.KeepOutput = api.Collect{None: true}, keptOutput
	r.Compare = api.Compare{How: api.Comparison(in.Compare)}
	for i, t := range in.Tests {
		one := api.Test{ID: cmp.Or(t.ID, strconv.Itoa(i+1)), Stdin: api.Bytes(t.Stdin)}
		if t.Expected != nil {
			one.Expected = new(api.Bytes(*t.Expected))
		}
		r.Tests = append(r.Tests, one)
	}

	return r, r.Validate()
}

// A Judgement is the answer of run_tests.
type Judgement struct {
	Accepted int      `json:"accepted" jsonschema:"number of tests that the program passed"`
	Total    int      `json:"total" jsonschema:"number of tests"`
	Verdict  string   `json:"verdict" jsonschema:"the worst verdict of all tests, or compile-error"`
	Tests    []Judged `json:"tests" jsonschema:"how each test ended"`
	Compiler string   `json:"compiler_output,omitempty" jsonschema:"what the compiler said, if it failed"`
	Hint     string   `json:"hint,omitempty" jsonschema:"what probably went wrong, and what helps"`
}

// A Judged is one test in the answer of run_tests.
type Judged struct {
	ID         string `json:"id" jsonschema:"id of the test"`
	Accepted   bool   `json:"accepted" jsonschema:"whether the program passed it"`
	Verdict    string `json:"verdict" jsonschema:"how the program ended"`
	Answer     string `json:"answer,omitempty" jsonschema:"accepted or wrong-answer; absent if nothing was compared"`
	Difference string `json:"difference,omitempty" jsonschema:"the first difference of a wrong answer, for the first 20 tests that failed"`
	Stderr     string `json:"stderr,omitempty" jsonschema:"the beginning of stderr of a test that failed"`
	WallMS     int64  `json:"wall_ms" jsonschema:"milliseconds that the test took"`
}

// toldTests is the most failed tests whose difference and stderr an answer has, and whose lines its text has.
const toldTests = 20

// tellTests makes the answer of run_tests.
func tellTests(asked int, r api.Result) Judgement {
	j := Judgement{Total: asked, Verdict: string(r.Verdict), Tests: []Judged{}}
	failed := 0
	for _, t := range r.Tests {
		one := Judged{ID: t.ID, Accepted: t.Accepted(), Verdict: string(t.Result.Verdict), Answer: string(t.Answer),
			WallMS: t.Result.Timing.Wall / 1e6}
		if one.Accepted {
			j.Accepted++
		} else if failed++; failed <= toldTests {
			one.Difference = validText([]byte(t.Difference))
			one.Stderr, _ = clip(t.Result.Stderr[:min(len(t.Result.Stderr), int(keptOutput))], 0)
		}
		j.Tests = append(j.Tests, one)
	}

	if r.Verdict == api.CompileError {
		j.Compiler, _ = clip(append(append(api.Bytes{}, r.Stdout...), r.Stderr...), 0)
	}
	if d := r.Diagnosis; d != nil {
		j.Hint = strings.TrimSpace(d.Message + "\n" + d.Hint)
	}
	return j
}

// text says which tests failed, and how.
func (j Judgement) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d tests accepted, worst verdict: %s\n", j.Accepted, j.Total, j.Verdict)
	if j.Hint != "" {
		fmt.Fprintf(&b, "hint:\n%s\n", j.Hint)
	}
	if j.Compiler != "" {
		fmt.Fprintf(&b, "compiler:\n%s\n", j.Compiler)
	}

	told := 0
	for _, t := range j.Tests {
		if t.Accepted {
			continue
		}
		if told++; told > toldTests {
			continue
		}
		fmt.Fprintf(&b, "test %s: %s", t.ID, cmp.Or(t.Answer, t.Verdict))
		if t.Difference != "" {
			fmt.Fprintf(&b, ", %s", t.Difference)
		}
		b.WriteString("\n")
		if t.Stderr != "" {
			fmt.Fprintf(&b, "%s\n", strings.TrimSuffix(t.Stderr, "\n"))
		}
	}

	if told > toldTests {
		fmt.Fprintf(&b, "%d more tests failed\n", told-toldTests)
	}
	return b.String()
}

// LanguageList is the answer of list_languages.
type LanguageList struct {
	Languages []Language `json:"languages" jsonschema:"the languages"`
}

// A Language is one language in the answer of list_languages.
type Language struct {
	Name      string   `json:"name" jsonschema:"name to use in calls"`
	Aliases   []string `json:"aliases,omitempty" jsonschema:"other names"`
	Version   string   `json:"version,omitempty" jsonschema:"version of the compiler or interpreter"`
	Available bool     `json:"available" jsonschema:"false: the operator has not stored its image yet, so calls are refused"`
}

// tellLanguages makes the answer of list_languages: those that can be used first.
func tellLanguages(all []api.Language) LanguageList {
	out := LanguageList{Languages: []Language{}}
	for _, usable := range []bool{true, false} {
		for _, l := range all {
			if one := l.Stored && len(l.Lacks) == 0; one == usable {
				out.Languages = append(out.Languages,
					Language{Name: l.Name, Aliases: l.Aliases, Version: l.Version, Available: one})
			}
		}
	}
	return out
}

func (l LanguageList) text() string {
	var b strings.Builder
	for _, one := range l.Languages {
		b.WriteString(strings.TrimSpace(one.Name + " " + one.Version))
		if !one.Available {
			b.WriteString(" (its image is not stored: not available)")
		}
		b.WriteString("\n")
	}
	return cmp.Or(b.String(), "there is no language\n")
}

// None are the arguments of a tool that takes none.
type None struct{}

// addPrograms adds the tools that need no session.
func addPrograms(s *sdk.Server, of runnerOf) {
	addWatched(s, tool{name: "run_code", title: "Run a program", effect: fresh,
		about: "Run a program in a fresh sandbox and return how it ended, and what it printed. Nothing remains of it."},
		func(ctx context.Context, in RunCode, p progress) (Outcome, error) {
			run, err := planRun(in)
			if err != nil {
				return Outcome{}, err
			}
			res, err := of(ctx).Run(ctx, run, p.watchProgram())
			return outcomeOf(res), err
		})

	addWatched(s, tool{name: "run_tests", title: "Test a program", effect: fresh,
		about: "Run a program once for each test, each in a fresh sandbox, and compare what it prints with what is expected."},
		func(ctx context.Context, in RunTests, p progress) (Judgement, error) {
			run, err := planTests(in)
			if err != nil {
				return Judgement{}, err
			}
			res, err := of(ctx).Run(ctx, run, p.watchTests(len(run.Tests)))
			return tellTests(len(in.Tests), res), err
		})

	add(s, tool{name: "list_languages", title: "List languages", effect: reads,
		about: "List the languages that programs can be written in, with versions."},
		func(ctx context.Context, _ None) (LanguageList, error) {
			all, err := of(ctx).Languages(ctx)
			return tellLanguages(all), err
		})
}
