package sandboxfusion

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect/fastapi"
)

// A request is the body of POST /run_code.
type request struct {
	compileTimeout, runTimeout *float64 // in seconds; nil: the field is absent
	memoryMB                   int64    // zero or less: no limit
	code                       string
	stdin                      string
	language                   string
	files                      []api.File // by name
	fetch                      []fetched
	unknown                    int // number of fields that were ignored

	cannot string // what the original fails to do after it has accepted the request; empty: nothing
}

// A fetched file is one that the caller wants back.
type fetched struct {
	asked string // the name in the request, and in the response
	name  string // in /box
}

// skippedName marks names of files that the original does not create.
const skippedName = "IGNORE_THIS_FILE"

// read reads a body. offered are the languages that can be asked for.
func read(body []byte, offered []string) (q request, bad []fastapi.Fault) {
	noteAll := func(f fastapi.Fault) { bad = append(bad, f) }
	note := func(f *fastapi.Fault) { noteAll(*f) }

	// In the order of the original, which reports all faults.
	q.unknown = fastapi.ReadBody(body, []fastapi.Field{
		{Name: "compile_timeout", Read: func(raw json.RawMessage) *fastapi.Fault {
			v, f := fastapi.ReadNumber(raw, "compile_timeout")
			q.compileTimeout = &v
			return f
		}},
		{Name: "run_timeout", Read: func(raw json.RawMessage) *fastapi.Fault {
			v, f := fastapi.ReadNumber(raw, "run_timeout")
			q.runTimeout = &v
			return f
		}},
		{Name: "memory_limit_MB", Read: func(raw json.RawMessage) (f *fastapi.Fault) {
			q.memoryMB, f = fastapi.ReadInteger(raw, "memory_limit_MB")
			return f
		}},
		{Name: "code", Required: true, Read: func(raw json.RawMessage) (f *fastapi.Fault) {
			q.code, f = fastapi.ReadText(raw, "code")
			return f
		}},
		{Name: "stdin", Nullable: true, Read: func(raw json.RawMessage) (f *fastapi.Fault) {
			q.stdin, f = fastapi.ReadText(raw, "stdin")
			return f
		}},
		{Name: "language", Required: true, Read: func(raw json.RawMessage) *fastapi.Fault {
			text, f := fastapi.ReadText(raw)
			if f != nil || !slices.Contains(offered, text) {
				l := fastapi.Literal(raw, offered, "language")
				return &l
			}
			q.language = text
			return nil
		}},
		{Name: "files", Read: func(raw json.RawMessage) *fastapi.Fault { return q.readFiles(raw, note) }},
		{Name: "fetch_files", Read: func(raw json.RawMessage) *fastapi.Fault { return q.readFetch(raw, note) }},
	}, noteAll)
	return q, bad
}

// maxFiles bounds the faults and files of one request; brig takes fewer files in a run.
const maxFiles = 10_000

func (q *request) readFiles(raw json.RawMessage, note func(*fastapi.Fault)) *fastapi.Fault {
	all, f := fastapi.ReadObject(raw, "files")
	if f != nil {
		return f
	}
	if len(all) > maxFiles {
		f := fastapi.Refused(fmt.Sprintf("there are %d files, and brig takes at most %d", len(all), maxFiles), nil, "files")
		return &f
	}

	for _, name := range slices.Sorted(maps.Keys(all)) {
		content := all[name]
		if string(content) == "null" {
			continue
		}

		text, f := fastapi.ReadText(content, "files", name)
		if f != nil {
			note(f)
			continue
		}
		if strings.Contains(name, skippedName) {
			continue
		}

		inBox, f := nameInBox(name, "files", name)
		if f != nil {
			note(f)
			continue
		}

		b, err := decodeBase64(text)
		if err != nil {
			q.cannot = fmt.Sprintf("files: %.200q: %v", name, err)
		}
		q.files = append(q.files, api.File{Name: inBox, Content: b})
	}

	// Two names of one file: the original writes both, so the last one stays.
	slices.SortStableFunc(q.files, func(a, b api.File) int { return strings.Compare(a.Name, b.Name) })
	slices.Reverse(q.files)
	q.files = slices.CompactFunc(q.files, func(a, b api.File) bool { return a.Name == b.Name })
	slices.Reverse(q.files)
	return nil
}

func (q *request) readFetch(raw json.RawMessage, note func(*fastapi.Fault)) *fastapi.Fault {
	all, f := fastapi.ReadList(raw, "fetch_files")
	if f != nil {
		return f
	}
	if len(all) > api.CollectFilesMax {
		f := fastapi.Refused(fmt.Sprintf("there are %d names, and brig returns at most %d files", len(all), api.CollectFilesMax), nil,
			"fetch_files")
		return &f
	}

	for i, raw := range all {
		asked, f := fastapi.ReadText(raw, "fetch_files", i)
		if f != nil {
			note(f)
			continue
		}
		name, f := nameInBox(asked, "fetch_files", i)
		if f != nil {
			note(f)
			continue
		}
		q.fetch = append(q.fetch, fetched{asked: asked, name: name})
	}

	return nil
}

// nameInBox returns the name of a file in the directory in which the program starts.
func nameInBox(name string, loc ...any) (string, *fastapi.Fault) {
	clean := path.Clean(name)
	if err := api.FileName(clean); err != nil || !utf8.ValidString(name) {
		input, _ := json.Marshal(name)
		f := fastapi.Refused("brig keeps files below the directory in which the program starts only: write a name relative to it",
			input, loc...)
		return "", &f
	}
	return clean, nil
}

// decodeBase64 reads base64 as Python does: other characters are skipped, and what follows the padding is ignored.
func decodeBase64(text string) (api.Bytes, error) {
	kept := make([]byte, 0, len(text))
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/':
			kept = append(kept, c)
		case c == '=' && len(kept)%4 == 2 && strings.IndexByte(text[i+1:], '=') >= 0, c == '=' && len(kept)%4 == 3:
			return decodeUnpadded(kept)
		}
	}

	if len(kept)%4 != 0 {
		return nil, fmt.Errorf("incorrect padding of the base64")
	}
	return decodeUnpadded(kept)
}

func decodeUnpadded(kept []byte) (api.Bytes, error) {
	b := make(api.Bytes, base64.RawStdEncoding.DecodedLen(len(kept)))
	n, err := base64.RawStdEncoding.Decode(b, kept)
	return b[:n], err
}
