package verify

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

// accepts is the exit code with which an input validator accepts: 42 in the Kattis format, 0 with testlib.
func accepts(p problem.Program) int {
	if p.Protocol == string(api.ProtocolTestlib) {
		return 0
	}
	return 42
}

// inputs runs the input validators on every input of the package.
func (v *verifier) inputs(ctx context.Context) error {
	p := v.loader.Problem
	valid := slices.Concat(p.Tests, p.InvalidOutputs, p.ValidOutputs)
	refused := map[string]bool{}
	complete := true
	for _, program := range p.Validators {
		if program.Skip != "" {
			v.notRun("%s: %s", program.Name, program.Skip)
			complete = false
			continue
		}

		code, err := v.validate(ctx, program, slices.Concat(valid, p.InvalidInputs))
		if err != nil {
			return err
		}
		if code == nil {
			complete = false
			continue
		}

		for _, t := range valid {
			if code[t.ID] != accepts(program) {
				v.mistake("%s: the input validator %s refuses it (%s)", t.Input, program.Name, codeText(code[t.ID]))
			}
		}

		for _, t := range p.InvalidInputs {
			refused[t.ID] = refused[t.ID] || code[t.ID] != accepts(program)
		}
	}

	for _, t := range p.InvalidInputs {
		switch {
		case refused[t.ID]:
		case complete:
			v.mistake("%s: no input validator refuses it", t.Input)
		default:
			v.warn("%s: no input validator that was run refuses it", t.Input)
		}
	}

	return nil
}

func codeText(code int) string {
	if code < 0 {
		return "a limit or a signal ended it"
	}
	return fmt.Sprintf("exit code %d", code)
}

// validate runs an input validator on each test, and returns its exit codes by test; nil: it could not be
// run.
func (v *verifier) validate(ctx context.Context, program problem.Program,
	tests []problem.Test) (map[string]int, error) {
	language, err := v.x.Language(ctx, program.Language)
	if err != nil {
		v.notRun("%s: %v", program.Name, err)
		return nil, nil
	}

	codes := map[string]int{}
	for part := range slices.Chunk(tests, api.MaxTests) {
		r, err := v.loader.Run(program)
		if err != nil {
			return nil, err
		}

		r.Language = language.Name
		inputs := slices.Clone(part)
		for i := range inputs { // a validator sees neither answers nor the arguments of the checker
			args, own := part[i].ValidatorArgs[program.Name]
			if !own {
				args = part[i].ValidatorArgs[""]
			}
			inputs[i].Args = slices.Concat(args, part[i].Args)
			inputs[i].Answer, inputs[i].EmptyAnswer = "", false
		}

		if r.Tests, err = v.loader.Tests(inputs); err != nil {
			return nil, err
		}

		// The exit code is a validator's answer. What it prints is not for the comparison or checker of the
		// problem.
		for i := range r.Tests {
			r.Tests[i].Compare, r.Tests[i].CheckArgs = nil, nil
		}

		r.Collect.None, r.KeepOutput = true, keptOutput
		res, failed := v.x.Execute(ctx, r, nil)
		if failed != nil {
			return nil, fmt.Errorf("input validator %s: %w", program.Name, failed)
		}
		if res.Verdict == api.CompileError {
			v.mistake("the input validator %s does not compile", program.Name)
			return nil, nil
		}

		// A validator that a limit or a signal ended has given no answer, whatever its exit code is.
		for _, t := range res.Tests {
			code := t.Result.ExitCode
			if t.Result.Verdict != api.OK && t.Result.Verdict != api.Nonzero {
				code = -1
			}
			codes[t.ID] = code
		}
	}

	return codes, nil
}

// An outputCase is an output that the checker or comparison must judge. It is read when its turn comes:
// together they may have more than the memory of a service.
type outputCase struct {
	test problem.Test
	read func() ([]byte, error)
}

func fixed(output []byte) func() ([]byte, error) {
	return func() ([]byte, error) { return output, nil }
}

// maxOutput is the most bytes of an output in a package.
const maxOutput = 64 << 20

// fuzzed bounds the tests whose outputs are changed.
const fuzzed = 5

// outputs has the checker or comparison judge outputs that are known.
func (v *verifier) outputs(ctx context.Context) error {
	p := v.loader.Problem
	if p.Interactive || p.Passes > 0 {
		return nil
	}

	var answers, valid, invalid, empty, random, cut, other []outputCase
	for i, t := range p.Tests {
		answer := func() ([]byte, error) { return v.loader.Answer(t) }
		if t.Answer != "" || p.Checker == nil {
			answers = append(answers, outputCase{t, answer})
		}
		if i >= fuzzed || p.Checker == nil {
			continue
		}

		text, err := answer()
		if err != nil {
			return err
		}
		if n := len(bytes.TrimSpace(text)); n > 0 {
			empty = append(empty, outputCase{t, fixed(nil)})
			cut = append(cut, outputCase{t, func() ([]byte, error) {
				text, err := answer()
				return text[:min(n/2, len(text))], err
			}})
		}

		random = append(random, outputCase{t, fixed(randomBytes(1024, uint64(i)))})
		next := p.Tests[(i+1)%len(p.Tests)]
		if theirs, err := v.loader.Answer(next); err == nil && next.Answer != "" && !bytes.Equal(theirs, text) {
			other = append(other, outputCase{t, func() ([]byte, error) { return v.loader.Answer(next) }})
		}
	}

	for into, tests := range map[*[]outputCase][]problem.Test{&valid: p.ValidOutputs, &invalid: p.InvalidOutputs} {
		for _, t := range tests {
			*into = append(*into, outputCase{t, func() ([]byte, error) { return v.loader.Tree.Read(t.Output, maxOutput) }})
		}
	}

	strict := p.Format == "kattis 2025-09" || p.Format == "polygon"
	for _, set := range []struct {
		what     string
		cases    []outputCase
		accepted bool // it must be
		fatal    bool // otherwise it is a warning
	}{
		{"the jury's answer", answers, true, strict || p.Checker == nil}, {"a valid output", valid, true, true},
		{"an invalid output", invalid, false, true},
		{"an empty output", empty, false, false}, {"random bytes", random, false, false}, {"the first half of the answer", cut, false, false},
		{"the answer of another test", other, false, false},
	} {
		if err := v.judgeOutputs(ctx, set.what, set.cases, set.accepted, set.fatal); err != nil {
			return err
		}
	}

	return nil
}

func randomBytes(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1)) // the same in every verification
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// judgeOutputs has outputs judged: a program that prints them takes the place of a submission.
func (v *verifier) judgeOutputs(ctx context.Context, what string, cases []outputCase, accepted, fatal bool) error {
	if len(cases) == 0 {
		return nil
	}

	language, err := v.x.Language(ctx, "bash")
	if err != nil {
		v.notRun("the output validator: %v", err)
		return nil
	}

	for len(cases) > 0 {
		// A group may stop at its first failure, and all outputs must be judged. The limits are for
		// submissions, and not for cat.
		r := v.common
		r.Language, r.Source, r.SourceName = language.Name, api.Bytes("exec cat \"$1\"\n"), "print.sh"
		r.Groups, r.Limits, r.CompileLimits = nil, api.Limits{}, api.Limits{}
		r.InputFile, r.OutputFile = "", "" // it prints what a submission would write to a file
		r.Collect.None, r.KeepOutput = true, keptOutput
		n, err := v.takeOutputs(&r, cases)
		if err != nil {
			return err
		}

		cases = cases[n:]
		res, failed := v.x.Execute(ctx, r, nil)
		switch {
		case failed != nil && api.HasCode(failed, api.CodeCheckFailed):
			v.mistake("output validator, for %s: %s", what, failed.Message)
			continue
		case failed != nil:
			return fmt.Errorf("output validator, for %s: %w", what, failed)
		}

		for _, t := range res.Tests {
			if t.Accepted() == accepted || t.Answer == api.Partial && accepted {
				continue
			}
			say := v.warn
			if fatal {
				say = v.mistake
			}
			if accepted {
				say("test %s: %s is not accepted: %s", t.ID, what, cmp.Or(t.Difference, t.Message, string(t.Result.Verdict)))
			} else {
				say("test %s: %s is accepted", t.ID, what)
			}
		}
	}

	return nil
}

const (
	inlineOutputs = 4 << 20  // bytes of outputs that one run has itself; a larger output goes as a blob
	runOutputs    = 32 << 20 // bytes of outputs that one run has, with those in blobs; a larger one has its own run
)

// takeOutputs adds as many outputs to a run as it may have, at least one, and returns how many. They are files of
// the run, and the program prints one: the limits of the run have room for that.
func (v *verifier) takeOutputs(r *api.Run, cases []outputCase) (n int, err error) {
	var tests []problem.Test
	inline, all, longest := 0, 0, 0
	for ; n < min(len(cases), api.MaxFiles/2) && inline < inlineOutputs; n++ {
		output, err := cases[n].read()
		if err != nil {
			return 0, err
		}
		if n > 0 && all+len(output) > runOutputs {
			break
		}

		file := api.File{Name: fmt.Sprintf("output%d", n), Content: output}
		if len(output) > inlineOutputs {
			if file.Blob, err = v.loader.Put(file.Name, output); err != nil {
				return 0, err
			}
			file.Content = nil
		}

		inline += len(file.Content)
		all += len(output)
		longest = max(longest, len(output))

		t := cases[n].test
		t.Args, t.Files = []string{file.Name}, nil // an output validator has no files of the test
		tests, r.Files = append(tests, t), append(r.Files, file)
	}

	usual := api.Defaults()
	if api.Size(longest) > usual.Output {
		r.Limits.Output = api.Size(longest)
	}
	if all > runOutputs {
		r.Limits.Scratch = usual.Scratch + api.Size(all)
	}

	r.Tests, err = v.loader.Tests(tests)
	return n, err
}
