// Package decode reads the JSON that a caller sent, strictly, and says in the words of package api
// where it does not have the form of a request.
package decode

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/brig-sandbox/brig/api"
)

// The bounds of JSON that is decoded. The decoder can use a hundred times an entry's size, so the
// number of entries is checked here and not only in Validate.
const (
	maxDepth        = 16                 // of nested JSON; a Run needs five
	maxEntries      = 2 * api.MaxTests   // of one object or list; Validate still reports a list a little over its own bound
	maxTotalEntries = 256 * api.MaxTests // of all objects and lists: for lists in a list, such as the args of tests
)

// Run reads one api.Run strictly. It refuses unknown fields, a field given twice or in another
// case, anything after the end, and deep nesting (API-04). It does not Validate. A test without an
// ID gets its number. All errors are an *api.Error.
func Run(raw []byte) (api.Run, error) {
	r, err := Value[api.Run](raw, "run")
	numberTests(r.Tests)
	return r, err
}

// Job reads one api.Job as Run reads a run. Its meta may be any JSON. With an error the job has its id and meta, as far
// as they can be read: the caller knows it by them.
func Job(raw []byte) (api.Job, error) {
	j, err := Value[api.Job](raw, "job")
	if err != nil {
		return named(raw), err
	}
	numberTests(j.Tests)
	return j, nil
}

func named(raw []byte) (j api.Job) {
	var head struct {
		ID   string         `json:"id"`
		Meta jsontext.Value `json:"meta"`
	}
	if json.Unmarshal(raw, &head) == nil && len(head.ID) <= api.MaxJobID && len(head.Meta) <= api.MaxJobMeta {
		j.ID, j.Meta = head.ID, stdjson.RawMessage(head.Meta)
	}
	return j
}

// RunRequest is Run for an api.RunRequest.
func RunRequest(raw []byte) (api.RunRequest, error) {
	r, err := Value[api.RunRequest](raw, "run")
	numberTests(r.Tests)
	return r, err
}

// Batch reads the api.BatchRequest that what names in errors. Tests in its defaults get their numbers as those of a run
// do.
func Batch(raw []byte, what string) (api.BatchRequest, error) {
	r, err := Value[api.BatchRequest](raw, what)
	numberTests(r.Defaults.Tests)
	return r, err
}

func numberTests(tests []api.Test) {
	for i := range tests {
		if t := &tests[i]; t.ID == "" {
			t.ID = strconv.Itoa(i + 1)
		}
	}
}

// Value decodes one JSON value that a caller sent, as strictly as Run. what names the value in
// errors.
func Value[T any](raw []byte, what string) (T, error) {
	var v, none T
	if !utf8.Valid(raw) { // the error would not say what to do
		return none, api.Refuse(api.CodeBadRequest,
			`decode %s: the JSON is not UTF-8: send such bytes as {"base64": "..."}`, what)
	}

	end, err := checkStrict(raw)
	if err != nil {
		return none, api.Refuse(api.CodeBadRequest, "decode %s: %w", what, err)
	}
	if rest := bytes.TrimLeft(raw[end:], blank); len(rest) > 0 {
		return none, api.Refuse(api.CodeBadRequest,
			"decode %s: there is more data after the end of the JSON object: send one %s per request", what, what)
	}
	if err := json.Unmarshal(raw, &v, json.RejectUnknownMembers(true)); err != nil {
		return none, api.Refuse(api.CodeBadRequest, "decode %s: %w", what, explain(raw, err, reflect.TypeFor[T]()))
	}
	return v, nil
}

// syntaxError says what is wrong with JSON, and for common errors what to write instead.
func syntaxError(raw []byte, err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		return errors.New("there is no JSON: the body is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON ends too early")
	case !errors.As(err, &syntax):
		return err
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("field %q is given twice", syntax.JSONPointer.LastToken())
	}

	rest := raw[syntax.ByteOffset:]
	reason, hint := syntax.Err.Error(), ""
	switch {
	case surrogate().Match(rest):
		return fmt.Errorf(`%s is half a character: send bytes that are not text as {"base64": "..."}`, rest[:6])
	case rest[0] == '\'':
		hint = ": write names and texts in double quotes"
	case rest[0] == '\n':
		hint = `: write a line break in a text as \n`
	case lastComma().Match(rest): // the decoder means the comma
		reason, rest = "nothing comes after a comma", bytes.TrimLeft(rest[1:], blank)
	}

	before := raw[:len(raw)-len(rest)]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Errorf("%s, in line %d, column %d%s", reason, line, column, hint)
}

const blank = " \t\r\n"

var (
	surrogate = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\\u[dD][89a-fA-F][0-9a-fA-F]{2}`)
	})
	lastComma = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^,[ \t\r\n]*[]}]`) })
)

// checkStrict refuses what the decoder accepts: null as a list element or under a key that the
// caller chose, names in another case or with escapes, deep nesting, and too many entries. It
// returns where the value ends.
func checkStrict(raw []byte) (end int64, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	for total := 0; ; {
		in, n := d.StackIndex(d.StackDepth())
		isName, entries := in == '{' && n%2 == 0, n
		if in == '{' {
			entries = n / 2
		}

		kind := d.PeekKind()
		if kind == '"' && isName {
			var name []byte
			if name, err = d.ReadValue(); err == nil {
				err = checkName(d, name[1:len(name)-1])
			}
		} else if _, err = d.ReadToken(); err == nil && kind == 'n' {
			err = checkNull(d, in)
		}

		switch isEntry := in == '[' && kind != ']' || isName && kind != '}'; {
		case err != nil:
			return 0, syntaxError(raw, err)
		case d.StackDepth() > maxDepth:
			return 0, fmt.Errorf("the JSON is nested more than %d deep", maxDepth)
		case d.StackDepth() == 0:
			return d.InputOffset(), nil
		case isEntry && entries > 0:
			total++
			if entries == maxEntries {
				return 0, fmt.Errorf("a list or object of the JSON has more than %d entries", maxEntries)
			}
			if total == maxTotalEntries {
				return 0, fmt.Errorf("the lists and objects of the JSON have more than %d entries in total", maxTotalEntries)
			}
		}
	}
}

func checkName(d *jsontext.Decoder, name []byte) error {
	if len(bytes.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_")) == 0 || inFreeKeys(d) {
		return nil
	}
	return fmt.Errorf("unknown field %q: field names are lower case", name)
}

// inFreeKeys reports whether the last value or name is in an object whose keys the caller chooses: env, metadata, files
// where they are an object, and the objects of a job's meta.
func inFreeKeys(d *jsontext.Decoder) bool {
	in := d.StackPointer().Parent()
	return in == "/env" || in == "/metadata" ||
		in == "/interactor/env" || in == "/files" || in == "/meta" || strings.HasPrefix(string(in), "/meta/")
}

// checkNull refuses null as an element of a list, or under a key that the caller chose: the decoder
// would turn it into an empty text or a zero.
func checkNull(d *jsontext.Decoder, in jsontext.Kind) error {
	at := d.StackPointer()
	if strings.HasPrefix(string(at), "/meta/") {
		return nil
	}

	list := at.Parent().LastToken()
	if list == "" {
		list = "the list"
	}

	switch {
	case in == '[':
		return fmt.Errorf("an element of %s is null: write its value, or leave it out", list)
	case in == '{' && inFreeKeys(d):
		return fmt.Errorf("%s.%.80s is null: write its value, or leave it out", list, at.LastToken())
	}

	return nil
}
