package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// lcbTask reads a task of LiveCodeBench: its public and private tests, or the form in which its evaluation has both.
func lcbTask(rec record) (t task, err error) {
	if rec.has("input_output") {
		c, err := nested[cases](rec, "input_output")
		if err != nil {
			return t, err
		}
		if t.run, err = c.run(exactly); err != nil {
			return t, fmt.Errorf("input_output: %w", err)
		}
		return t, nil
	}

	c, err := lcbCases(rec)
	if err != nil {
		return t, err
	}

	t.run, err = c.run(exactly)
	return t, err
}

// lcbTest is a test of LiveCodeBench.
type lcbTest struct {
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output"`
	Type   string          `json:"testtype"`
}

func lcbCases(rec record) (c cases, err error) {
	var all []lcbTest
	for _, key := range []string{"public_test_cases", "private_test_cases"} {
		if !rec.has(key) {
			continue
		}
		some, err := lcbTests(rec, key)
		if err != nil {
			return c, fmt.Errorf("%s: %w", key, err)
		}
		all = append(all, some...)
	}

	if len(all) == 0 {
		return c, errors.New("there are neither public_test_cases nor private_test_cases")
	}

	for i, t := range all {
		if t.Type != all[0].Type || t.Type != "stdin" && t.Type != "functional" {
			return c, fmt.Errorf("test %d: testtype %.40q: expected stdin or functional, the same for all tests", i+1, t.Type)
		}
		if len(t.Input) == 0 || len(t.Output) == 0 {
			return c, fmt.Errorf("test %d: expected input and output", i+1)
		}
		c.Inputs, c.Outputs = append(c.Inputs, t.Input), append(c.Outputs, t.Output)
	}

	if all[0].Type == "functional" {
		meta, err := nested[record](rec, "metadata")
		if err != nil {
			return c, err
		}
		if c.Fn, err = field[string](meta, "func_name"); err != nil || c.Fn == "" {
			return c, errors.New("metadata: expected func_name, the name of the function that the tests call")
		}
	}

	return c, nil
}

// lcbTests reads tests: JSON, text with JSON, or text with JSON that is pickled and compressed.
func lcbTests(rec record, key string) ([]lcbTest, error) {
	if text, err := field[string](rec, key); err == nil && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		if text, err = unpack(text, maxUnpacked); err != nil {
			return nil, err
		}
		var all []lcbTest
		return all, decodeJSON([]byte(text), &all)
	}
	return nested[[]lcbTest](rec, key)
}
