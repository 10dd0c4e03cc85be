package grade

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

// The largest file of a test that goes into the request itself, and the most for all of them. Any
// other file goes to the agent as a blob, which the agent keeps for the next run.
const (
	inlineTest  = 64 << 10
	inlineTests = 8 << 20
	maxTestFile = int64(api.MaxBlob) // the largest blob that agents accept unless their operator says otherwise
)

// A Loader reads what a problem names into what an agent executes.
type Loader struct {
	Problem *problem.Problem
	Tree    *problem.Tree
	Put     func(file string, content []byte) (digest string, err error) // makes the agent keep a file of the tree as a blob
}

// Common returns what all submissions to the problem have in common: its tests, limits, checker and
// groups.
func (l Loader) Common() (api.Run, error) {
	p := l.Problem
	if err := p.Whole(); err != nil {
		return api.Run{}, err
	}

	r := api.Run{Passes: p.Passes, Groups: groups(p), InputFile: p.InputFile, OutputFile: p.OutputFile}
	r.Limits = api.Limits{Memory: p.Limits.Memory, Output: p.Limits.Output}
	r.CompileLimits = api.Limits{
		CPU:    p.Limits.Compile.Time,
		Wall:   api.BusyWall(p.Limits.Compile.Time),
		Memory: p.Limits.Compile.Memory,
	}

	var err error
	if r.Tests, err = l.Tests(p.Tests); err != nil {
		return r, err
	}

	// Interactor comes before Interactive: with it the checker judges after the interactor, and without it
	// the checker itself is the interactor.
	switch {
	case p.Checker == nil && p.Compare != nil:
		// Each test may have its own arguments for the comparison kattis, so Tests sets that one.
		if p.Compare.How != string(api.CompareKattis) {
			r.Compare.How = api.Comparison(p.Compare.How)
		}
		return r, nil

	case p.Interactor != nil:
		if r.Interactor, err = l.Interactor(*p.Interactor); err != nil {
			return r, err
		}
		r.Check = &api.Check{Protocol: api.Protocol(p.Checker.Protocol), Points: api.PointsAs(p.Checker.Points)}
		r.Check.Program, err = l.program(*p.Checker)

	case p.Interactive:
		r.Interactor = &api.Interactor{Protocol: api.Protocol(p.Checker.Protocol), Points: api.PointsAs(p.Checker.Points)}
		r.Interactor.Program, err = l.program(*p.Checker)
		r.Interactor.Limits = validation(p.Limits.Validation)
		r.Interactor.Processes, r.Interactor.ProgramIO = p.Processes, api.ProgramIO(p.ProgramIO)

	default:
		r.Check = &api.Check{Protocol: api.Protocol(p.Checker.Protocol), Points: api.PointsAs(p.Checker.Points)}
		r.Check.Program, err = l.program(*p.Checker)
		r.Check.Limits = validation(p.Limits.Validation)
	}

	return r, err
}

// Interactor reads an interactor of the package.
func (l Loader) Interactor(p problem.Program) (i *api.Interactor, err error) {
	i = &api.Interactor{Protocol: api.Protocol(p.Protocol), Points: api.PointsAs(p.Points), Passes: p.Passes}
	i.Program, err = l.program(p)
	return i, err
}

func validation(s problem.Stage) api.Limits {
	return api.Limits{CPU: s.Time, Memory: s.Memory, Output: s.Output}
}

// Tests reads tests.
func (l Loader) Tests(tests []problem.Test) ([]api.Test, error) {
	inline := 0
	read := func(file string, text bool) (api.Bytes, string, error) {
		content, err := l.Tree.Read(file, maxTestFile)
		if err != nil {
			return nil, "", err
		}
		if text {
			content = problem.UnixLines(content)
		}
		if inline += len(content); len(content) <= inlineTest && inline <= inlineTests {
			return content, "", nil
		}

		// A blob takes no part of the request: smaller files that follow may still fit.
		inline -= len(content)
		digest, err := l.Put(file, content)
		return nil, digest, err
	}

	all := make([]api.Test, 0, len(tests))
	for _, t := range tests {
		one := api.Test{ID: t.ID, Args: t.Args}
		var err error
		if t.Input != "" {
			if one.Stdin, one.StdinBlob, err = read(t.Input, t.Text); err != nil {
				return nil, err
			}
		}

		// Which files fit into the request depends on their order. The order of a map is random, and the same
		// package must make the same request.
		for _, name := range slices.Sorted(maps.Keys(t.Files)) {
			f := api.File{Name: name, Executable: l.Tree.Executable(t.Files[name])}
			if f.Content, f.Blob, err = read(t.Files[name], false); err != nil {
				return nil, err
			}
			one.Files = append(one.Files, f)
		}

		if t.Answer != "" || t.EmptyAnswer {
			answer := api.Bytes{}
			if t.Answer != "" {
				if answer, one.ExpectedBlob, err = read(t.Answer, t.Text); err != nil {
					return nil, err
				}
			}
			if one.ExpectedBlob == "" {
				one.Expected = &answer
			}
		}

		switch {
		case l.Problem.Checker != nil:
			one.CheckArgs = t.CheckArgs
		case l.Problem.Compare != nil && l.Problem.Compare.How == string(api.CompareKattis):
			how, err := api.KattisCompare(t.CheckArgs)
			if err != nil {
				return nil, err
			}
			one.Compare = &how
		}

		all = append(all, one)
	}

	return all, nil
}

// Answer is the expected output of a test; empty if it has none.
func (l Loader) Answer(t problem.Test) ([]byte, error) {
	if t.Answer == "" {
		return nil, nil
	}
	content, err := l.Tree.Read(t.Answer, maxTestFile)
	if t.Text {
		content = problem.UnixLines(content)
	}
	return content, err
}

// groups are the groups of a problem as an agent takes them. All tests of a problem without points are
// one group.
func groups(p *problem.Problem) []api.ScoreGroup {
	if p.Format == "tests" {
		return nil
	}
	if len(p.Groups) == 0 {
		all := api.ScoreGroup{ID: "all", How: api.AggregatePassFail, Points: maxPoints}
		for _, t := range p.Tests {
			all.Tests = append(all.Tests, t.ID)
		}
		return []api.ScoreGroup{all}
	}

	members := p.Members()
	out := make([]api.ScoreGroup, 0, len(p.Groups))
	for _, g := range p.Groups {
		one := api.ScoreGroup{ID: g.ID, Groups: g.Groups, Points: g.Points, Each: g.Each, Reject: g.Reject,
			How: api.Aggregation(g.How), Passes: api.GroupPass(g.Passes), Requires: g.Requires, Stop: g.Stop}
		for _, t := range members[g.ID] {
			one.Tests = append(one.Tests, t.ID)
		}
		out = append(out, one)
	}

	return out
}

// program reads a program of the package, with the constants in it replaced.
func (l Loader) program(p problem.Program) (api.Program, error) {
	text, name, files, err := l.files(p)
	if len(p.Command) > 0 {
		return api.Program{Language: p.Language, Argv: inItsDir(p.Command, judges), Files: files}, err
	}
	return api.Program{Language: p.Language, Source: text, SourceName: name, Files: files, Flags: l.flagsOf(p)}, err
}

// ProgramDir is the directory of a program with a command. It is the working directory, as the formats say that
// have such programs, and apart from what brig adds for a checker.
const ProgramDir = "program"

// judges makes the names of input, answer and feedback directory those of files outside of ProgramDir.
const judges = `i=$PWD/$1 a=$PWD/$2 f=$PWD/$3; shift 3; set -- "$i" "$a" "$f" "$@"; `

// inItsDir runs a command in ProgramDir, with the arguments that follow. Its words are those of a reader of a
// format, not of a package: a shell reads them.
func inItsDir(command []string, before string) []string {
	return []string{"sh", "-c",
		before + "cd " + ProgramDir + " && exec " + strings.Join(command, " ") + ` "$@"`, ProgramDir}
}

// flagsOf are the compiler flags of a program of the package.
func (l Loader) flagsOf(p problem.Program) []string {
	return slices.Concat(l.Flags(p.Language), p.Flags)
}

// Run returns the Run that executes a program of the package.
func (l Loader) Run(p problem.Program) (api.Run, error) {
	text, name, files, err := l.files(p)
	if len(p.Command) > 0 {
		return api.Run{Language: p.Language, Argv: inItsDir(p.Command, ""), Files: files}, err
	}
	return api.Run{Language: p.Language, Source: text, SourceName: name, Files: files, Flags: l.flagsOf(p)}, err
}

// Flags are the compiler flags for programs in a language; nil: the language's own. Packages count on what
// judges' compilers accept: C that calls a function without its header, which is an error since gcc 14,
// and C++20.
func (l Loader) Flags(language string) []string {
	switch {
	case l.Problem.Format == "tests":
		return nil
	case language == "c":
		return []string{"-O2", "-std=gnu17", "-Wno-error=implicit-function-declaration"}
	case language == "cpp":
		return []string{"-O2", "-std=c++20"}
	}
	return nil
}

// files reads the files of a program: its main file, and the others with names relative to that one's
// directory. That of a program with a command is among the others.
func (l Loader) files(p problem.Program) (text api.Bytes, name string, others []api.File, err error) {
	dir := path.Dir(p.Main)
	for _, file := range p.Files {
		content, err := l.Tree.Read(file, maxFile)
		if err != nil {
			return nil, "", nil, err
		}
		if len(l.Problem.Constants) > 0 {
			content = []byte(problem.Substitute(string(content), l.Problem.Constants))
		}
		if file == p.Main && len(p.Command) == 0 {
			text, name = append(api.Bytes{}, content...), path.Base(file)
			continue
		}
		if path.Base(file) == "testlib.h" {
			content = withIntegers(content)
		}

		short, below := strings.CutPrefix(file, dir+"/")
		if !below {
			short = path.Base(file)
		}

		others = append(others,
			api.File{Name: short, Content: content, Executable: l.Tree.Executable(file) || file == p.Main})
	}

	if len(p.Command) > 0 {
		for i := range others {
			others[i].Name = path.Join(ProgramDir, others[i].Name)
		}
	}
	if text == nil && len(p.Command) == 0 {
		return nil, "", nil, fmt.Errorf("%s: there is no such file", p.Main)
	}
	return text, name, others, nil
}

// withIntegers adds an include to an old testlib.h, which counted on others to bring the names of <cstdint>:
// those of GCC 13 and newer do not, and packages have the testlib.h of their time.
func withIntegers(header []byte) []byte {
	if bytes.Contains(header, []byte("<cstdint>")) || bytes.Contains(header, []byte("<stdint.h>")) {
		return header
	}
	return append([]byte("#include <cstdint>\n#line 1\n"), header...)
}

// Source is the main source of a submission, with the text that the problem puts before it.
func (l Loader) Source(language string, text []byte) []byte {
	if i := IncludeFor(l.Problem.Include, language); i >= 0 {
		return l.Problem.Include[i].Source(text)
	}
	return text
}

// Included adds the files that the problem places next to submissions in a language; they replace files
// of the same name.
func (l Loader) Included(language string, files []api.File) ([]api.File, error) {
	i := IncludeFor(l.Problem.Include, language)
	if i < 0 {
		return files, nil
	}
	own, err := l.Include(l.Problem.Include[i])
	return WithFiles(files, own), err
}

// IncludeFor is the index of the files for a language: its own, or those of languages without their own;
// below zero: there are none.
func IncludeFor(all []problem.Include, language string) int {
	if i := slices.IndexFunc(all, func(one problem.Include) bool { return one.Language == language }); i >= 0 {
		return i
	}
	return slices.IndexFunc(all, func(one problem.Include) bool { return one.Language == "" })
}

// Include reads the files of one Include, with the constants in them replaced.
func (l Loader) Include(in problem.Include) ([]api.File, error) {
	var all []api.File
	for _, name := range in.Files {
		content, err := l.Tree.Read(name, maxFile)
		if err != nil {
			return nil, err
		}
		content = []byte(problem.Substitute(string(content), l.Problem.Constants))
		short := in.As[name]
		if short == "" {
			short = strings.TrimPrefix(name, in.Dir+"/")
		}
		all = append(all, api.File{Name: short, Content: content, Executable: l.Tree.Executable(name)})
	}

	return all, nil
}

// WithFiles adds files of a problem to those of a submission; they replace files of the same name.
func WithFiles(files, own []api.File) []api.File {
	all := slices.Clone(files)
	for _, f := range own {
		all = slices.DeleteFunc(all, func(other api.File) bool { return other.Name == f.Name })
		all = append(all, f)
	}
	return all
}

// SourceName is the name that a source has in the sandbox. A program of one file in an interpreted language
// has the language's own name for it, because templates of started interpreters expect that
// (docs/templates.md), and nothing depends on it; others keep their names. So does one with tests that have sources
// in its language among their files, which could be in the place of it.
func SourceName(l api.Language, name string, files int, tests []api.Test) string {
	if files > 0 || l.CompileTier != "" {
		return name
	}
	for _, t := range tests {
		if slices.ContainsFunc(t.Files, func(f api.File) bool {
			return slices.Contains(l.Extensions, api.Extension(f.Name))
		}) {
			return name
		}
	}
	return ""
}

// SourceNameIn is SourceName for a language of all that is known by name.
func SourceNameIn(all []api.Language, language, name string, files int, tests []api.Test) string {
	i := slices.IndexFunc(all, func(l api.Language) bool { return l.Name == language })
	if i < 0 {
		return name
	}
	return SourceName(all[i], name, files, tests)
}

// Allowed is an error if the problem does not take a submission: for its language, or its size.
func (l Loader) Allowed(s Submission, language string) error {
	size := len(s.Text)
	for _, f := range s.Files {
		size += len(f.Content)
	}
	switch p := l.Problem; {
	case len(p.Languages) > 0 && !slices.Contains(p.Languages, language):
		return fmt.Errorf("the problem does not take %s, only %s", language, strings.Join(p.Languages, ", "))
	case p.Limits.Code > 0 && api.Size(size) > p.Limits.Code:
		return fmt.Errorf("it has %s of source: the problem takes %s", api.Size(size).About(), p.Limits.Code)
	}
	return nil
}
