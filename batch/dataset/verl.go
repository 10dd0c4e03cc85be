package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// verlTask reads a row of verl's data, or a line of its dumped generations. Solutions are answers in Markdown.
func verlTask(rec record) (t task, err error) {
	in, key := rec, rec.first("ground_truth", "gts")
	if key == "" {
		key = "ground_truth"
		if in, err = needed[record](rec, "reward_model"); err != nil {
			return t, missingField("ground_truth")
		}
	}

	c, err := nested[cases](in, key)
	if err != nil {
		return t, err
	}
	if t.run, err = c.run(either); err != nil {
		return t, fmt.Errorf("%s: %w", key, err)
	}

	t.markdown = true
	return t, nil
}

// scaleBoxTask reads a request of ScaleBox's common_evaluate_batch, its test_cases alone, or a task of
// PrimeIntellect, whose test_cases are a list. Solutions are answers in Markdown.
func scaleBoxTask(rec record) (t task, err error) {
	in, extra := rec, record{}
	for _, key := range []string{"config", "provided_data", "verification_info"} {
		if err == nil && in.has(key) {
			in, err = nested[record](in, key)
			extra = merged(extra, in)
		}
	}

	if err != nil {
		return t, err
	}

	all, err := scaleBoxCases(in)
	if err != nil {
		return t, err
	}

	t.markdown = true
	if t.run, err = all.run(); err != nil {
		return t, fmt.Errorf("test_cases: %w", err)
	}
	if t.run.Language, err = field[string](merged(rec, extra), "language"); err != nil {
		return t, err
	}
	if name, ok := languageOfTag(t.run.Language); ok {
		t.run.Language = name
	}
	if t.run.Check, err = specialJudge(merged(rec, extra)); err != nil {
		return t, err
	}
	if t.run.Check != nil {
		t.run.Compare = api.Compare{}
	}

	t.canonical = ownSolution(rec, "gold_standard_solution", answer)
	return t, nil
}

// merged returns the fields of both; those of b take precedence.
func merged(a, b record) record {
	out := record{}
	for _, r := range []record{a, b} {
		for k, v := range r {
			out[k] = v
		}
	}
	return out
}

// scaleBoxTests are the test_cases of ScaleBox.
type scaleBoxTests struct {
	Type    string            `json:"type"`
	Fn      string            `json:"fn_name"`
	Inputs  []json.RawMessage `json:"input"`
	Outputs []json.RawMessage `json:"output"`
	JSON    bool              `json:"json_input"`
	Test    string            `json:"test"`
	Tests   string            `json:"tests"`
	Entry   string            `json:"entry_point"`
}

// scaleBoxCases reads test_cases, an object with arrays or an array of objects.
func scaleBoxCases(in record) (c scaleBoxTests, err error) {
	raw, err := nested[json.RawMessage](in, "test_cases")
	if err != nil {
		return c, err
	}
	if raw[0] != '[' {
		err = decodeJSON(raw, &c)
		return c, err
	}

	var list []struct {
		Type   string          `json:"type"`
		Fn     string          `json:"fn_name"`
		Input  json.RawMessage `json:"input"`
		Output json.RawMessage `json:"output"`
	}

	if err := decodeJSON(raw, &list); err != nil {
		return c, fmt.Errorf("test_cases: %w", err)
	}

	for i, one := range list {
		if i > 0 && (one.Type != c.Type || one.Fn != c.Fn) {
			return c, fmt.Errorf("test_cases: test %d: expected the type and fn_name of the first one", i+1)
		}
		if len(one.Input) == 0 || len(one.Output) == 0 {
			return c, fmt.Errorf("test_cases: test %d: expected input and output", i+1)
		}
		c.Type, c.Fn = one.Type, one.Fn
		c.Inputs, c.Outputs = append(c.Inputs, one.Input), append(c.Outputs, one.Output)
	}

	return c, nil
}

func (c scaleBoxTests) run() (api.Run, error) {
	kind := c.Type
	if kind == "" {
		kind = "stdin_stdout"
		if c.Fn != "" {
			kind = "function_call"
		}
	}

	of := cases{Inputs: c.Inputs, Outputs: c.Outputs}
	switch kind {
	case "stdin_stdout":
		return of.run(exactly)
	case "function_call":
		if of.Fn = c.Fn; c.Fn == "" {
			return api.Run{}, errors.New("there is no fn_name: it names the function that is called")
		}
		return of.run(unwrapped)
	case "assert":
		if c.Tests != "" {
			return api.Run{}, errors.New("tests of the type assert that are the end of the program are not offered: " +
				"they would run in one process with the solution")
		}
		return checkRun(record{"test": quoted(c.Test), "entry_point": quoted(c.Entry)})
	}

	return api.Run{}, fmt.Errorf("type %.40q: expected stdin_stdout, function_call or assert", kind)
}

func quoted(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	raw, _ := json.Marshal(s) // text always encodes
	return raw
}

// specialJudge is the checker of a task: a program that reads the files stdin.txt, stdout.txt, which has the
// expected output, and answer.txt, which has the program's, and exits with 0 if that is right.
func specialJudge(in record) (*api.Check, error) {
	extra, err := field[record](in, "extra")
	if err != nil {
		return nil, err
	}

	in = merged(in, extra)
	text, err := field[string](in, "special_judge_program")
	if err != nil || text == "" {
		return nil, err
	}

	language, err := field[string](in, "special_judge_language")
	if err != nil {
		return nil, err
	}
	if name, _ := languageOfTag(language); language != "" && name != api.PythonCheckers {
		return nil, fmt.Errorf("special_judge_language %.40q: only Python is offered", language)
	}

	return &api.Check{
		Protocol: api.ProtocolExit, Args: []string{"{input}", "{answer}", "{output}"},
		Program: api.Program{
			Language: api.PythonCheckers, Source: api.Bytes(specialJudgeCaller),
			Files: []api.File{{Name: "special_judge.py", Content: api.Bytes(text)}},
		},
	}, nil
}

// specialJudgeCaller gives the judge the files that it reads. Every exit code but 0 means a wrong answer.
var specialJudgeCaller = strings.TrimLeft(`
import runpy, shutil, sys
for name, path in zip(("stdin.txt", "stdout.txt", "answer.txt"), sys.argv[1:]):
    shutil.copyfile(path, name)
try:
    runpy.run_path("special_judge.py", run_name="__main__")
except SystemExit as e:
    sys.exit(0 if e.code in (None, 0) else 1)
`, "\n")
