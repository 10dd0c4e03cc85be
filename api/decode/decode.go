// Package decode reads the JSON that a caller sent, strictly, and says in the words of package api
// where it does not have the form of a request.
package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// The bounds of JSON that is decoded. The decoder can use a hundred times an entry's size, so the
// number of entries is checked here and not only in Validate.
const (
	maxDepth        = 16                  // of nested JSON; a Run needs five
	maxEntries      = 2 * api.MaxTests    // of one object or list; Validate still reports a list a little over its own bound
	maxTotalEntries = 1024 * api.MaxTests // of all objects and lists: for lists in a list, such as the args of tests
)

// Run reads one api.Run strictly. It refuses unknown fields, a field given twice or in another
// case, anything after the end, and deep nesting (API-04). It does not Validate. A test without an
// ID gets its number. All errors are an *api.Error.
func Run(raw []byte) (api.Run, error) {
	r, err := Value[api.Run](raw, "run")
	for i := range r.Tests {
		if t := &r.Tests[i]; t.ID == "" {
			t.ID = strconv.Itoa(i + 1)
		}
	}
	return r, err
}

// Value decodes one JSON value that a caller sent, as strictly as Run. what names the value in
// errors.
func Value[T any](raw []byte, what string) (T, error) {
	var v, none T
	if !utf8.Valid(raw) { // the decoder would replace the bad bytes by U+FFFD
		return none, api.Refuse(api.CodeBadRequest, `decode %s: the JSON is not UTF-8: send such bytes as {"base64": "..."}`, what)
	}
	if err := checkStrict(raw); err != nil {
		return none, api.Refuse(api.CodeBadRequest, "decode %s: %w", what, err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		var syntax *json.SyntaxError
		switch {
		case len(bytes.TrimSpace(raw)) == 0:
			err = errors.New("there is no JSON: the body is empty")
		case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
			err = errors.New("the JSON ends too early")
		case errors.As(err, &syntax):
			err = fmt.Errorf("%w, %s", err, syntaxHint(raw, syntax.Offset))
		default: // the syntax is right, the form is not
			if m := findDecodeError(raw, reflect.TypeFor[T]()); m != nil {
				err = m
			}
		}
		return none, api.Refuse(api.CodeBadRequest, "decode %s: %w", what, err)
	}
	if rest := bytes.TrimLeft(raw[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return none, api.Refuse(api.CodeBadRequest, "decode %s: there is more data after the end of the JSON object: send one %s per request", what, what)
	}
	return v, nil
}

// syntaxHint says where JSON has a syntax error, and for common errors what to write instead.
// at is the number of bytes read, up to and including the wrong one.
func syntaxHint(raw []byte, at int64) string {
	before := raw[:max(at, 1)-1]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	text := fmt.Sprintf("in line %d, column %d", line, column)
	switch raw[len(before)] {
	case '\'':
		text += ": write names and texts in double quotes"
	case '\n':
		text += `: write a line break in a text as \n`
	}
	return text
}

// level is one open object or array.
type level struct {
	object   bool
	freeKeys bool // the caller chooses its keys: env, and files where they are an object
	commas   int
	key      string   // the last key seen
	keys     []string // all keys so far
}

// checkStrict refuses input that encoding/json accepts: null as a list element or under a key that the
// caller chose; keys given twice, of which the last would win silently; keys in another case,
// which it would fold; and halves of characters, which it would replace. It leaves all other
// syntax to the decoder.
func checkStrict(raw []byte) error {
	var open []level
	wantKey, all := false, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			if len(open) == maxDepth {
				return fmt.Errorf("the JSON is nested more than %d deep", maxDepth)
			}
			free := len(open) == 1 && (open[0].key == "env" || open[0].key == "files")
			open = append(open, level{object: raw[i] == '{', freeKeys: free})
			wantKey = raw[i] == '{'
		case '}', ']':
			if len(open) == 0 {
				return nil // the decoder has the better message
			}
			if err := checkDuplicates(open[len(open)-1].keys); err != nil {
				return err
			}
			open = open[:len(open)-1]
			wantKey = false
		case ',':
			if len(open) == 0 {
				return nil
			}
			in := &open[len(open)-1]
			if in.commas++; in.commas == maxEntries {
				return fmt.Errorf("a list or object of the JSON has more than %d entries", maxEntries)
			}
			if all++; all == maxTotalEntries {
				return fmt.Errorf("the lists and objects of the JSON have more than %d entries in total", maxTotalEntries)
			}
			wantKey = in.object
		case '"':
			end := stringEnd(raw, i)
			if end < 0 {
				return nil
			}
			if half := loneSurrogate(raw[i : end+1]); half != nil {
				return fmt.Errorf(`%s is half a character: send bytes that are not text as {"base64": "..."}`, half)
			}
			if wantKey && len(open) > 0 {
				if err := open[len(open)-1].add(raw[i : end+1]); err != nil {
					return err
				}
				wantKey = false
			}
			i = end
		case 'n': // null: as a field's value it means that the field is absent
			if len(open) > 0 && bytes.HasPrefix(raw[i:], []byte("null")) {
				if err := checkNull(open); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkNull refuses null as an element of a list, or under a key that the caller chose: the decoder
// would turn it into an empty text or a zero.
func checkNull(open []level) error {
	in, list := open[len(open)-1], "the list"
	if len(open) > 1 && open[len(open)-2].key != "" {
		list = open[len(open)-2].key
	}
	switch {
	case !in.object:
		return fmt.Errorf("an element of %s is null: write its value, or leave it out", list)
	case in.freeKeys:
		return fmt.Errorf("%s.%.80s is null: write its value, or leave it out", list, in.key)
	}
	return nil
}

// stringEnd returns the index of the quote that ends the string starting at i, or -1.
func stringEnd(raw []byte, i int) int {
	for j := i + 1; j < len(raw); j++ {
		switch raw[j] {
		case '"':
			return j
		case '\\':
			j++ // skip the escaped byte; which one it is does not matter here
		}
	}
	return -1
}

func (l *level) add(quoted []byte) error {
	key := string(quoted[1 : len(quoted)-1])
	switch {
	case !l.freeKeys && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return fmt.Errorf("unknown field %q: field names are lower case", key)
	case strings.IndexByte(key, '\\') >= 0:
		if json.Unmarshal(quoted, &key) != nil {
			return nil
		}
	}
	l.key = key
	l.keys = append(l.keys, key)
	return nil
}

func checkDuplicates(keys []string) error {
	if len(keys) < 2 {
		return nil
	}
	slices.Sort(keys)
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			return fmt.Errorf("field %q is given twice", keys[i])
		}
	}
	return nil
}
