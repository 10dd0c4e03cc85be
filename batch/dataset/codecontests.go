package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// codeContestsTask reads a problem of CodeContests. Two JSON forms of its protocol buffer are known: the
// columns of the data set's table (public_tests: {"input": [...], "output": [...]}), and protobuf's own
// JSON (publicTests: [{"input": ..., "output": ...}]).
func codeContestsTask(rec record) (t task, err error) {
	if t.run.InputFile, err = namedFile(rec, "stdin", "input_file", "inputFile"); err != nil {
		return t, err
	}
	if t.run.OutputFile, err = namedFile(rec, "stdout", "output_file", "outputFile"); err != nil {
		return t, err
	}

	t.run.Compare = api.Compare{How: api.CompareFloat, Tolerance: 1e-5}

	for _, set := range []struct{ name, key string }{
		{"public", rec.first("public_tests", "publicTests")},
		{"private", rec.first("private_tests", "privateTests")},
		{"generated", rec.first("generated_tests", "generatedTests")},
	} {
		pairs, err := columns(rec, set.key, "input", "output")
		if err != nil {
			return t, err
		}
		for i, p := range pairs {
			one, err := stdinTest(p[0], p[1])
			if err != nil {
				return t, fmt.Errorf("%s: test %d: %w", set.key, i+1, err)
			}
			one.ID = set.name + "/" + strconv.Itoa(i+1)
			t.run.Tests = append(t.run.Tests, one)
		}
	}

	if len(t.run.Tests) == 0 {
		return t, errors.New("there are no tests")
	}
	if t.run.Limits, err = codeContestsLimits(rec); err != nil {
		return t, err
	}

	t.canonical = func() ([]solution, error) { return codeContestsSolutions(rec) }
	return t, nil
}

// namedFile is the file that programs read or write instead of a stream; empty: the stream.
func namedFile(rec record, stream string, keys ...string) (string, error) {
	key := rec.first(keys...)
	if key == "" {
		return "", nil
	}
	name, err := field[string](rec, key)
	if err != nil || name == "" || name == stream {
		return "", err
	}
	if err := api.FileName(name); err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return name, nil
}

// codeContestsSolutions reads the solutions that are right, and those that are not.
func codeContestsSolutions(rec record) (all []solution, err error) {
	for _, set := range []struct {
		key   string
		right bool
	}{
		{rec.first("solutions"), true},
		{rec.first("incorrect_solutions", "incorrectSolutions"), false},
	} {
		pairs, err := columns(rec, set.key, "language", "solution")
		if err != nil {
			return nil, err
		}

		for i, p := range pairs {
			s := solution{kind: program, correct: &set.right}
			if s.language, err = codeContestsLanguage(p[0]); err == nil {
				err = decodeJSON(p[1], &s.text)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: solution %d: %w", set.key, i+1, err)
			}
			all = append(all, s)
		}
	}

	return all, nil
}

// columns reads pairs of values: two arrays in an object, or an array of objects. There are none if key is empty.
func columns(rec record, key, left, right string) ([][2]json.RawMessage, error) {
	if key == "" {
		return nil, nil
	}

	var pairs [][2]json.RawMessage
	if bytes.HasPrefix(bytes.TrimSpace(rec[key]), []byte("[")) {
		all, err := field[[]record](rec, key)
		for i, one := range all {
			if len(one[left]) == 0 || len(one[right]) == 0 {
				return nil, fmt.Errorf("%s: element %d: expected %s and %s", key, i+1, left, right)
			}
			pairs = append(pairs, [2]json.RawMessage{one[left], one[right]})
		}
		return pairs, err
	}

	in, err := field[record](rec, key)
	if err != nil {
		return nil, err
	}

	a, err := field[[]json.RawMessage](in, left)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}

	b, err := field[[]json.RawMessage](in, right)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if len(a) != len(b) {
		return nil, fmt.Errorf("%s: %s has %d elements and %s %d: expected as many", key, left, len(a), right, len(b))
	}

	for i := range a {
		pairs = append(pairs, [2]json.RawMessage{a[i], b[i]})
	}
	return pairs, nil
}

// codeContestsLanguages are the values of the proto's enumeration. PYTHON is Python 2, which brig does not have.
var codeContestsLanguages = map[string]string{
	`2`: "cpp", `"CPP"`: "cpp", `3`: "python", `"PYTHON3"`: "python", `4`: "java", `"JAVA"`: "java",
	`1`: "python2", `"PYTHON"`: "python2",
}

func codeContestsLanguage(raw json.RawMessage) (string, error) {
	if l := codeContestsLanguages[string(bytes.TrimSpace(raw))]; l != "" {
		return l, nil
	}
	return "", fmt.Errorf("language %.40s: expected 1 to 4, or PYTHON, CPP, PYTHON3 or JAVA", raw)
}

// codeContestsLimits reads time_limit, {"seconds": 2, "nanos": 0} or "2s", and memory_limit_bytes, a number
// or text with one; zero is no limit.
func codeContestsLimits(rec record) (l api.Limits, err error) {
	var cpu time.Duration
	if key := rec.first("time_limit", "timeLimit"); key != "" {
		if bytes.HasPrefix(bytes.TrimSpace(rec[key]), []byte(`"`)) {
			text, err := field[string](rec, key)
			if err == nil {
				cpu, err = time.ParseDuration(text)
			}
			if err != nil {
				return l, fmt.Errorf("%s: expected a number of seconds, such as \"2s\"", key)
			}
		} else {
			parts, err := field[struct {
				Seconds int64 `json:"seconds"`
				Nanos   int64 `json:"nanos"`
			}](rec, key)
			if err != nil {
				return l, err
			}
			cpu = time.Duration(min(max(parts.Seconds, -1), 1e6))*time.Second + time.Duration(parts.Nanos)
		}

		if cpu < 0 || cpu > 1e6*time.Second {
			return l, fmt.Errorf("%s: expected a time from 0 to a million seconds", key)
		}
	}

	memory := int64(0)
	if key := rec.first("memory_limit_bytes", "memoryLimitBytes"); key != "" {
		text, err := rec.name(key)
		if err == nil {
			memory, err = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		}
		if err != nil || memory < 0 {
			return l, fmt.Errorf("%s: expected a number of bytes", key)
		}
	}

	return limitsOf(api.Duration(cpu), api.Size(memory)), nil
}
