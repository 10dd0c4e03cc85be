package piston

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// A request is the body of POST /execute.
type request struct {
	runtime runtime
	files   []file
	stdin   string
	args    []string

	limits map[string]float64 // by the names of their fields: milliseconds and bytes; absent: the default

	unknown int // fields that the original does not know
}

// fieldsKnown are the fields of a request, and of a file.
var (
	fieldsKnown = map[string]bool{"language": true, "version": true, "files": true, "stdin": true, "args": true,
		"run_timeout": true, "compile_timeout": true, "run_cpu_time": true, "compile_cpu_time": true,
		"run_memory_limit": true, "compile_memory_limit": true}
	fieldsOfFile = map[string]bool{"name": true, "content": true, "encoding": true}
)

func (o object) unknown(known map[string]bool) (n int) {
	for name := range o {
		if !known[name] {
			n++
		}
	}
	return n
}

// maxFiles bounds the files of one request; brig takes fewer in a run.
const maxFiles = 10_000

// decode reads the body of a request as an object. An array has no fields, and neither has an empty body.
func decode(body []byte) (o object, refusal *dialect.Plan) {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 {
		return nil, nil
	}

	var top json.RawMessage
	err := json.Unmarshal(body, &top)
	if err == nil && top[0] != '{' && top[0] != '[' {
		err = fmt.Errorf("unexpected token %c in JSON at position 0: want an object", top[0])
	}
	if err != nil {
		p := dialect.Refuse(respond(400, said{Message: "the body is no JSON: " + err.Error(), Stack: "SyntaxError: " + err.Error()}))
		return nil, &p
	}
	return readObject(top), nil
}

// read reads a request, with the checks of the original in its order, and after them those of brig. refused is what is
// wrong with it; empty: nothing.
func read(o object, on dialect.Agent) (q request, refused string) {
	q.unknown = o.unknown(fieldsKnown)
	name, isName := text(o["language"])
	if name == "" || !isName {
		return q, "language is required as a string"
	}
	version, isVersion := text(o["version"])
	if version == "" || !isVersion {
		return q, "version is required as a string"
	}

	all, isList := list(o["files"])
	if !isList {
		return q, "files is required as an array"
	}
	if len(all) > maxFiles {
		return q, fmt.Sprintf("there are %d files, and brig takes at most %d", len(all), maxFiles)
	}

	files := make([]object, 0, len(all))
	hasSource := false
	for i, raw := range all {
		f := readObject(raw)
		if _, is := text(f["content"]); !is {
			return q, fmt.Sprintf("files[%d].content is required as a string", i)
		}
		encoding, _ := text(f["encoding"])
		hasSource = hasSource || isFalse(f["encoding"]) || encoding == "utf8"
		q.unknown += f.unknown(fieldsOfFile)
		files = append(files, f)
	}

	rt, found := find(runtimesNamed(on, name), name, version)
	if !found {
		return q, shown(name) + "-" + shown(version) + " runtime is unknown"
	}
	if !hasSource {
		return q, "files must include at least one utf8 encoded file"
	}
	if q.limits, refused = readLimits(o, on.Ceiling); refused != "" {
		return q, refused
	}

	q.runtime = rt
	if q.files, refused = readFiles(files); refused != "" {
		return q, refused
	}
	return q, q.readInput(o)
}

// readInput reads what the program gets. Elements of args that are no strings become texts, as in the original.
func (q *request) readInput(o object) (refused string) {
	if raw := o["args"]; !isNull(raw) {
		all, is := list(raw)
		if !is {
			return "args must be an array of strings"
		}
		for i, raw := range all {
			if kind(raw) == '{' || kind(raw) == '[' {
				return fmt.Sprintf("args[%d] must be a string", i)
			}
			q.args = append(q.args, asText(raw))
		}
	}

	if raw := o["stdin"]; !isNull(raw) {
		stdin, is := text(raw)
		if !is {
			return "stdin must be a string"
		}
		q.stdin = stdin
	}
	if !strings.HasSuffix(q.stdin, "\n") {
		q.stdin += "\n"
	}
	return ""
}

// readLimits reads the limits of a request. The configured limits are the agent's ceilings; zero: there is none.
func readLimits(o object, ceiling api.Limits) (given map[string]float64, refused string) {
	given = map[string]float64{}
	for _, limit := range []struct {
		name       string
		configured float64
	}{
		{"memory_limit", float64(ceiling.Memory)},
		{"timeout", milliseconds(ceiling.Wall)},
		{"cpu_time", milliseconds(ceiling.CPU)},
	} {
		for _, stage := range []string{"compile", "run"} {
			name := stage + "_" + limit.name
			raw := o[name]
			if isFalse(raw) {
				continue
			}
			if !isNumber(raw) {
				return nil, "If specified, " + name + " must be a number"
			}

			switch v := number(raw); {
			case v < 0 && limit.name == "memory_limit": // no limit, which is the original's configuration
			case limit.configured > 0 && v > limit.configured:
				return nil, name + " cannot exceed the configured limit of " + strconv.FormatFloat(limit.configured, 'f', -1, 64)
			case v < 0:
				return nil, name + " must be non-negative"
			default:
				given[name] = v
			}
		}
	}
	return given, ""
}
