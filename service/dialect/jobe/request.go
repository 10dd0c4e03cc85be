package jobe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/service/dialect"
)

// A request is the run_spec of POST /runs.
type request struct {
	language   language
	source     string
	name       string // of the source; empty: the language's
	input      string
	files      []dialect.Need
	parameters parameters
	unknown    int // number of fields that were ignored
}

// parameters are what a request asks for beyond the program.
type parameters struct {
	cpu                        float64 // seconds
	memoryMB, diskMB, streamMB float64
	processes                  float64
	compileArgs, linkArgs      *[]string // words; nil: those of the language
	interpreterArgs            *[]string
	runArgs                    []string
	mainClass                  string
}

// knownFields are those of a run_spec.
var knownFields = []string{"language_id", "sourcecode", "sourcefilename", "input", "file_list", "parameters", "debug"}

// knownParameters are those that brig or the original reads.
var knownParameters = []string{"cputime", "memorylimit", "disklimit", "streamsize", "numprocs", "compileargs", "linkargs",
	"interpreterargs", "runargs", "main_class"}

// illegalInName are bytes that the name of a source may not contain.
const illegalInName = "<>:\"/\\|?*#[]@!$&'()+,;={}^~`\x7F\xA0\xAD"

const maxFiles = 1000 // of one request; brig takes fewer in a run

// read reads a body. bad is the error that the client gets.
func read(body []byte, on dialect.Agent) (q request, bad string) {
	top, ok := readObject(body)
	if !ok {
		return q, "Non-JSON post data received"
	}
	spec, ok := readObject(top["run_spec"])
	if !ok {
		return q, "No run_spec attribute found in post data"
	}

	q.unknown = len(top) - 1
	for name := range spec {
		if !slices.Contains(knownFields, name) {
			q.unknown++
		}
	}

	texts := map[string]string{}
	for _, name := range []string{"sourcecode", "language_id"} {
		if raw, given := spec[name]; !given || string(raw) == "null" {
			return q, "run_spec is missing the required attribute '" + name + "'"
		}
		if texts[name], ok = readText(spec[name]); !ok {
			return q, "The attribute '" + name + "' of the run_spec is not a string"
		}
	}

	q.source = texts["sourcecode"]
	id := strings.ToLower(texts["language_id"])
	i := slices.IndexFunc(languages, func(l language) bool { return l.id == id })
	if i >= 0 {
		q.language = languages[i]
		_, ok = on.Find(q.language.brig...)
	}
	if i < 0 || !ok {
		return q, fmt.Sprintf("Language '%.200s' is not known", id)
	}

	if raw, given := spec["input"]; given && string(raw) != "null" {
		if q.input, ok = readText(raw); !ok {
			return q, "The attribute 'input' of the run_spec is not a string"
		}
	}
	if bad := q.readParameters(spec["parameters"], on); bad != "" {
		return q, bad
	}
	if bad := q.readName(spec["sourcefilename"]); bad != "" {
		return q, bad
	}
	return q, q.readFiles(spec["file_list"])
}

func (q *request) readName(raw json.RawMessage) (bad string) {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	name, ok := readText(raw)
	control := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' })
	if !ok || control || slices.ContainsFunc([]byte(name), func(c byte) bool { return strings.IndexByte(illegalInName, c) >= 0 }) ||
		strings.TrimLeft(name, ".-") != name {
		return "The sourcefilename for the run_spec is illegal"
	}
	if name != "prog.java" { // with which clients say that they do not know it
		q.name = name
	}
	return ""
}

// readFiles reads the list of files, of which each has an id, a name, and sometimes a boolean that nobody reads.
func (q *request) readFiles(raw json.RawMessage) (bad string) {
	var all []json.RawMessage
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &all) != nil {
		return "The attribute 'file_list' of the run_spec is not a list"
	}
	if len(all) > maxFiles {
		return fmt.Sprintf("file_list has %d files, and brig takes at most %d", len(all), maxFiles)
	}

	for _, raw := range all {
		var parts []json.RawMessage
		var id, name string
		if json.Unmarshal(raw, &parts) != nil || len(parts) < 2 || len(parts) > 3 ||
			json.Unmarshal(parts[0], &id) != nil || json.Unmarshal(parts[1], &name) != nil ||
			len(id) < 8 || !fileID().MatchString(id) || !isFileName(name) {
			return "Invalid file specifier: " + printed(raw, parts)
		}

		q.files = slices.DeleteFunc(q.files, func(n dialect.Need) bool { return n.Name == name }) // the last one stays
		q.files = append(q.files, dialect.Need{ID: id, Name: name})
	}
	return ""
}

// isFileName reports whether a name has letters, digits, "-", "_" and "." only, and one of the first two.
func isFileName(name string) bool {
	some := false
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			some = true
		case c != '-' && c != '_' && c != '.':
			return false
		}
	}
	return some
}

// printed is a value as PHP prints it.
func printed(raw json.RawMessage, parts []json.RawMessage) string {
	if len(raw) > 1000 {
		return "(a long one)"
	}
	if bytes.IndexByte(raw, '[') != 0 {
		return string(raw)
	}

	var b strings.Builder
	b.WriteString("Array\n(\n")
	for i, part := range parts {
		text, isText := readText(part)
		if !isText {
			text = string(part)
		}
		fmt.Fprintf(&b, "    [%d] => %s\n", i, text)
	}
	b.WriteString(")\n")
	return b.String()
}

func (q *request) readParameters(raw json.RawMessage, on dialect.Agent) (bad string) {
	all, _ := readObject(raw) // an empty list is what PHP makes of no parameters
	for name := range all {
		if !slices.Contains(knownParameters, name) {
			q.unknown++
		}
	}

	// What is no number is ignored, as in the original.
	number := func(name string, standard float64) float64 {
		text, _ := readText(all[name])
		if v, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && v == v {
			return min(max(v, -1), 1e9)
		}
		return standard
	}

	p := &q.parameters
	p.cpu = number("cputime", 5)
	if top := longestCPU(on.Ceiling); int64(p.cpu) > top {
		return fmt.Sprintf("cputime exceeds maximum allowed on this Jobe server (%d secs)", top)
	}

	p.memoryMB = number("memorylimit", q.language.memoryMB)
	if q.language.memoryMB == 0 {
		p.memoryMB = 0
	}
	p.diskMB = number("disklimit", 20)
	p.streamMB = number("streamsize", 2)
	p.processes = max(number("numprocs", 30), q.language.processes)

	var runArgs *[]string
	for _, one := range []struct {
		name string
		into **[]string
	}{
		{"compileargs", &p.compileArgs}, {"linkargs", &p.linkArgs}, {"interpreterargs", &p.interpreterArgs}, {"runargs", &runArgs},
	} {
		if bad := readArguments(all[one.name], one.name, one.into); bad != "" {
			return bad
		}
	}
	if runArgs != nil {
		p.runArgs = *runArgs
	}

	p.mainClass, _ = readText(all["main_class"])
	return ""
}

// readArguments reads a list of arguments, each of which may be several words.
func readArguments(raw json.RawMessage, name string, into **[]string) (bad string) {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}

	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return "The parameter '" + name + "' is not a list"
	}

	texts := make([]string, len(all))
	for i, one := range all {
		text, ok := readText(one)
		if !ok {
			return "The parameter '" + name + "' has an element that is not a string"
		}
		texts[i] = text
	}

	words, err := dialect.ShellWords(texts)
	if err != nil {
		return "The parameter '" + name + "' cannot be used: " + err.Error()
	}
	*into = &words
	return ""
}
