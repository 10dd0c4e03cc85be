package plan

import (
	"bytes"
	"regexp"

	"github.com/brig-sandbox/brig/api"
)

// compiledName returns the name under which the main source of a run is compiled. It is the one that the request
// gives, if a compiler reads nothing into that, or if another file has the place of the name that the language has.
func (l Language) compiledName(r api.Run, given string) string {
	name := l.CompiledName(given)
	for _, f := range placedFiles(r) {
		if clashes(f.name, name) {
			return given
		}
	}
	if clashes(r.OutputFile, name) {
		return given
	}
	return name
}

// Reported returns what a compiler has written, with the name of the source that its author knows.
func (p *Run) Reported(text api.Bytes) api.Bytes {
	if p.SourceName == "" || p.SourceName == p.Source || !bytes.Contains(text, []byte(p.Source)) {
		return text
	}
	name := regexp.MustCompile(`(^|[^A-Za-z0-9_.-])` + regexp.QuoteMeta(p.Source) + `\b`)
	return name.ReplaceAll(text, []byte("${1}"+escapeTemplate(p.SourceName)))
}

// escapeTemplate makes a name stand for itself in a replacement.
func escapeTemplate(name string) string {
	return string(bytes.ReplaceAll([]byte(name), []byte("$"), []byte("$$")))
}
