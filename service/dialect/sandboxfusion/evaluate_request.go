package sandboxfusion

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/fastapi"
)

// An evaluation is the body of ScaleBox's POST /common_evaluate and /common_evaluate_batch.
type evaluation struct {
	id         json.RawMessage
	completion string // the text of a model, which has the program
	language   string

	compileTimeout, runTimeout *float64 // seconds; nil: the field is absent
	memoryKiB                  int64    // zero or less: no limit

	calls   string // name of the function that the tests call; empty: they compare stdout
	tests   []evalTest
	all     bool // tests after one that failed are told, too
	unknown int  // number of fields that were ignored
}

// An evalTest is one test.
type evalTest struct {
	info           json.RawMessage // as it is told
	stdin, stdout  string
	args, expected json.RawMessage // of a call
}

// readEvaluation reads a body. batch says that all tests are in one object.
func readEvaluation(body []byte, batch bool, offered []string) (q evaluation, bad []fastapi.Fault) {
	q.id = json.RawMessage("0")
	note := func(f fastapi.Fault) { bad = append(bad, f) }
	q.unknown = fastapi.ReadBody(body, []fastapi.Field{
		{Name: "dataset", Read: func(raw json.RawMessage) *fastapi.Fault {
			_, f := fastapi.ReadText(raw, "dataset")
			return f
		}},
		{Name: "id", Read: func(raw json.RawMessage) (f *fastapi.Fault) {
			if q.id = raw; raw[0] != '"' {
				_, f = fastapi.ReadInteger(raw, "id", "int")
			}
			return f
		}},
		{Name: "completion", Required: true, Read: func(raw json.RawMessage) (f *fastapi.Fault) {
			q.completion, f = fastapi.ReadText(raw, "completion")
			return f
		}},
		{Name: "config", Required: true, Read: func(raw json.RawMessage) *fastapi.Fault {
			q.unknown += q.readConfig(raw, batch, offered, note)
			return nil
		}},
	}, note)
	return q, bad
}

func (q *evaluation) readConfig(raw json.RawMessage, batch bool, offered []string, note func(fastapi.Fault)) (unknown int) {
	var data, extra json.RawMessage
	seconds := func(name string, into **float64) fastapi.Field {
		return fastapi.Field{Name: name, Nullable: true, Read: func(raw json.RawMessage) *fastapi.Fault {
			v, f := fastapi.ReadNumber(raw, "config", name)
			if v != 0 { // the original's default stands for 0, too
				*into = &v
			}
			return f
		}}
	}
	unknown = fastapi.ReadModel(raw, []fastapi.Field{
		{Name: "language", Nullable: true, Read: func(raw json.RawMessage) *fastapi.Fault {
			text, f := fastapi.ReadText(raw)
			if text == "javascript" || text == "js" {
				text = "nodejs"
			}
			if f != nil || !slices.Contains(offered, text) {
				l := fastapi.Literal(raw, offered, "config", "language")
				return &l
			}
			q.language = text
			return nil
		}},
		seconds("compile_timeout", &q.compileTimeout),
		seconds("run_timeout", &q.runTimeout),
		{Name: "mem_limit", Nullable: true, Read: func(raw json.RawMessage) (f *fastapi.Fault) {
			q.memoryKiB, f = fastapi.ReadInteger(raw, "config", "mem_limit")
			return f
		}},
		refusedField("custom_extract_logic", "brig executes no custom_extract_logic: it is Python for the server; leave it out", "config"),
		{Name: "provided_data", Required: true, Read: func(raw json.RawMessage) *fastapi.Fault { data = raw; return nil }},
		{Name: "extra", Read: func(raw json.RawMessage) *fastapi.Fault { extra = raw; return nil }},
	}, note, "config")

	if extra != nil {
		unknown += fastapi.ReadModel(extra, []fastapi.Field{
			{Name: "run_all_cases", Read: func(raw json.RawMessage) (f *fastapi.Fault) {
				q.all, f = fastapi.ReadBool(raw, "config", "extra", "run_all_cases")
				return f
			}},
			refusedField("special_judge_program", "brig has no special_judge_program here: grade with a checker (docs/judging.md)",
				"config", "extra"),
		}, note, "config", "extra")
	}
	if data != nil {
		q.readTests(data, batch, note)
	}
	return unknown
}

// refusedField is a field that brig does not have, and that must not be ignored.
func refusedField(name, why string, loc ...any) fastapi.Field {
	return fastapi.Field{Name: name, Nullable: true, Read: func(json.RawMessage) *fastapi.Fault {
		f := fastapi.Refused(why, nil, append(loc, name)...)
		return &f
	}}
}

// A givenTest is a test of a request. That of a batch has all tests in its lists.
type givenTest struct {
	Type      string          `json:"type,omitempty"`
	Function  *string         `json:"fn_name"`
	Input     json.RawMessage `json:"input"`
	Output    json.RawMessage `json:"output"`
	JSONInput bool            `json:"json_input,omitempty"`
}

const (
	stdinStdout  = "stdin_stdout"
	functionCall = "function_call"
)

var functionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// readTests reads the tests.
func (q *evaluation) readTests(raw json.RawMessage, batch bool, note func(fastapi.Fault)) {
	refuse := func(format string, args ...any) {
		note(fastapi.Refused(fmt.Sprintf(format, args...), nil, "config", "provided_data", "test_cases"))
	}

	given, err := testsOf(raw, batch)
	switch {
	case err != nil:
		refuse("%v", err)
		return
	case len(given) == 0:
		refuse("there are no test cases")
		return
	case len(given) > api.MaxTests:
		refuse("there are %d test cases, and brig takes at most %d", len(given), api.MaxTests)
		return
	}

	kind := given[0].Type
	if kind == "" && given[0].Function != nil {
		kind = functionCall
	}
	switch {
	case kind == "" || kind == stdinStdout:
	case kind != functionCall:
		refuse("brig has tests of the types %s and %s, and not %.50q", stdinStdout, functionCall, kind)
		return
	case q.language != "python":
		refuse("brig has tests of the type %s for python, and not for %.50q: compare stdout", functionCall, q.language)
		return
	case given[0].Function == nil || !functionName().MatchString(*given[0].Function):
		refuse("fn_name must be the name of a function")
		return
	default:
		q.calls = *given[0].Function
	}

	for i, g := range given {
		t, err := q.test(g)
		if err != nil {
			refuse("test %d: %v", i, err)
			return
		}
		q.tests = append(q.tests, t)
	}
}

// testsOf returns the tests of provided_data, one by one.
func testsOf(raw json.RawMessage, batch bool) (given []givenTest, err error) {
	var data struct {
		Tests json.RawMessage `json:"test_cases"`
	}
	if err := json.Unmarshal(raw, &data); err != nil || data.Tests == nil {
		return nil, fmt.Errorf("provided_data must be an object with test_cases")
	}
	if !batch {
		if err := json.Unmarshal(data.Tests, &given); err != nil {
			return nil, fmt.Errorf("test_cases must be a list of objects with type, fn_name, input and output")
		}
		return given, nil
	}

	var all givenTest
	var in, out []json.RawMessage
	if json.Unmarshal(data.Tests, &all) != nil || json.Unmarshal(orEmpty(all.Input), &in) != nil ||
		json.Unmarshal(orEmpty(all.Output), &out) != nil || len(in) != len(out) {
		return nil, fmt.Errorf("test_cases must be an object with type, fn_name, and lists input and output of one length")
	}
	if len(in) == 0 && all.Type != "" && all.Type != stdinStdout && all.Type != functionCall {
		return []givenTest{all}, nil // of a type that has no lists
	}
	for i := range in {
		one := all
		one.Input, one.Output = in[i], out[i]
		given = append(given, one)
	}
	return given, nil
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("[]")
	}
	return raw
}

// test reads one test.
func (q *evaluation) test(g givenTest) (t evalTest, err error) {
	if q.calls == "" {
		if json.Unmarshal(orEmpty(g.Input), &t.stdin) != nil || json.Unmarshal(orEmpty(g.Output), &t.stdout) != nil {
			return t, fmt.Errorf("input and output must be texts")
		}
		t.info, err = json.Marshal(map[string]map[string]string{"input": {"stdin": t.stdin}, "output": {"stdout": t.stdout}})
		return t, err
	}

	var lines string
	if g.JSONInput && json.Unmarshal(orEmpty(g.Input), &lines) == nil {
		var output string
		if json.Unmarshal(orEmpty(g.Output), &output) != nil {
			return t, fmt.Errorf("with json_input, output must be a text that is JSON")
		}
		g.Input = json.RawMessage("[" + strings.Join(strings.Split(lines, "\n"), ",") + "]")
		g.Output = json.RawMessage("[" + output + "]")
	}

	var args, returned []json.RawMessage
	if json.Unmarshal(orEmpty(g.Input), &args) != nil || json.Unmarshal(orEmpty(g.Output), &returned) != nil || len(returned) == 0 {
		return t, fmt.Errorf("input must be a list of arguments, and output a list whose first element is what the function returns")
	}

	t.info = dialect.Encode(struct {
		Type     string          `json:"type"`
		Function string          `json:"fn_name"`
		Input    json.RawMessage `json:"input"`
		Output   json.RawMessage `json:"output"`
	}{functionCall, q.calls, orEmpty(g.Input), g.Output})
	t.args, t.expected = orEmpty(g.Input), returned[0]
	return t, nil
}
