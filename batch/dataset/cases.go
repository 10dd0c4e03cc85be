package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// An outcome says what a call must return.
type outcome int

const (
	exactly   outcome = iota // the value
	unwrapped                // the one element of an array
	either                   // the value, or the one element if it is an array of one: APPS does not say which
)

// cases are inputs with their outputs, in the form that APPS introduced and others have taken over.
type cases struct {
	Inputs  []json.RawMessage `json:"inputs"`
	Outputs []json.RawMessage `json:"outputs"`
	Fn      string            `json:"fn_name"`
	Asserts []string          `json:"assert_case"`
}

// run makes tests of them: calls of a function if one is named, or else texts on stdin.
func (c cases) run(how outcome) (r api.Run, err error) {
	switch {
	case c.Fn != "" && !identifier().MatchString(c.Fn):
		return r, fmt.Errorf("fn_name %.80q: expected the name of a Python function", c.Fn)
	case len(c.Asserts) > 0:
		r.Tests = assertTests("", c.Asserts)
		if c.Fn != "" {
			r.Call = &api.Call{Fn: c.Fn}
		}
		return r, nil
	case len(c.Inputs) != len(c.Outputs):
		return r, fmt.Errorf("it has %d inputs and %d outputs: expected as many", len(c.Inputs), len(c.Outputs))
	case len(c.Inputs) == 0:
		return r, errors.New("it has no tests: inputs is empty")
	}

	if c.Fn != "" {
		r.Call = &api.Call{Fn: c.Fn}
	} else {
		r.Compare.How = api.CompareLCB
	}

	for i, in := range c.Inputs {
		var t api.Test
		if c.Fn != "" {
			t, err = callTest(c.Fn, in, c.Outputs[i], how)
		} else {
			t, err = stdinTest(in, c.Outputs[i])
		}
		if err != nil {
			return r, fmt.Errorf("test %d: %w", i+1, err)
		}
		t.ID = strconv.Itoa(i + 1)
		r.Tests = append(r.Tests, t)
	}

	return r, nil
}

// stdinTest makes a test of two texts, or arrays of lines.
func stdinTest(in, out json.RawMessage) (t api.Test, err error) {
	var stdin, expected texts
	if err := decodeJSON(in, &stdin); err != nil {
		return t, fmt.Errorf("input: %w", err)
	}
	if err := decodeJSON(out, &expected); err != nil {
		return t, fmt.Errorf("output: %w", err)
	}
	b := append(api.Bytes{}, expected...)
	return api.Test{Stdin: []byte(stdin), Expected: &b}, nil
}

// callTest makes a test of a call. Arguments are a JSON array; or text with a JSON value in each line, and
// then the output is text with one, too.
func callTest(fn string, in, out json.RawMessage, how outcome) (t api.Test, err error) {
	if in = bytes.TrimSpace(in); in[0] == '"' {
		if t.CallArgs, err = argumentLines(in); err != nil {
			return t, fmt.Errorf("input: %w", err)
		}
		if out = bytes.TrimSpace(out); out[0] == '"' {
			if out, err = valueIn(out); err != nil {
				return t, fmt.Errorf("output: %w", err)
			}
		}
		if how == unwrapped {
			how = exactly
		}
	} else if t.CallArgs = in; in[0] != '[' {
		return t, errors.New("input: expected an array of arguments, or text with a JSON value in each line")
	}

	var elements []json.RawMessage
	one := json.Unmarshal(out, &elements) == nil && len(elements) == 1
	switch {
	case how == unwrapped && len(elements) == 0:
		return t, errors.New("output: expected an array with the value that is returned")
	case how == unwrapped:
		out = elements[0]
	case how == either && one:
		return api.Test{Asserts: eitherAssert(fn, t.CallArgs, out)}, nil
	}

	t.Returns = out
	return t, nil
}

// argumentLines makes an array of the values in the lines of a text.
func argumentLines(raw json.RawMessage) (json.RawMessage, error) {
	var text string
	if err := decodeJSON(raw, &text); err != nil {
		return nil, err
	}
	var all []json.RawMessage
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if !json.Valid([]byte(l)) {
			return nil, fmt.Errorf("expected a JSON value in each line, found %.40q", l)
		}
		all = append(all, json.RawMessage(strings.TrimSpace(l)))
	}
	return json.Marshal(all)
}

// valueIn returns the JSON value in a text.
func valueIn(raw json.RawMessage) (json.RawMessage, error) {
	var text string
	if err := decodeJSON(raw, &text); err != nil {
		return nil, err
	}
	if text = strings.TrimSpace(text); !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("expected a JSON value, found %.40q", text)
	}
	return json.RawMessage(text), nil
}

// eitherAssert accepts a value, or the one element of it. It runs where the solution cannot reach it.
func eitherAssert(fn string, args, want json.RawMessage) []byte {
	return fmt.Appendf(nil, `import json
def _plain(v):
    return [_plain(x) for x in v] if isinstance(v, (list, tuple)) else v
_want = json.loads(%s)
_got = _plain(%s(*json.loads(%s)))
assert _got == _want or _got == _want[0]
`, pythonText(want), fn, pythonText(args))
}

// pythonText writes text as a literal of Python.
func pythonText(text []byte) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range string(text) {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}

	b.WriteByte('"')
	return b.String()
}
