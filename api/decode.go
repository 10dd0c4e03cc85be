package api

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
)

// The bounds of JSON that is decoded. Of many an entry the decoder makes a hundred times its
// size, so their number is not left to Validate.
const (
	maxDepth    = 16              // of nested JSON; a Run needs five
	maxEntries  = 2 * MaxTests    // of one object or list; what is a little over its own bound is told of that
	maxTogether = 1024 * MaxTests // of all: lists in a list, such as the args of tests
)

// DecodeRun reads one Run and refuses what a strict reader must: unknown fields,
// a field given twice or in another case, anything after the end, deep nesting
// (API-04). It does not Validate. Errors of r are returned as they are; all
// others are an *Error.
func DecodeRun(r io.Reader) (Run, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return Run{}, err
	}
	return ParseRun(raw)
}

// ParseRun is DecodeRun for bytes already read. A test without an ID gets its number.
func ParseRun(raw []byte) (Run, error) {
	r, err := parse[Run](raw, "run")
	for i := range r.Tests {
		if t := &r.Tests[i]; t.ID == "" {
			t.ID = strconv.Itoa(i + 1)
		}
	}
	return r, err
}

// parse reads one value of what a caller sends, strictly.
func parse[T any](raw []byte, what string) (T, error) {
	var v, none T
	if !utf8.Valid(raw) { // the decoder would put U+FFFD in its place
		return none, Refuse(CodeBadRequest, `decode %s: the JSON is not UTF-8: send such bytes as {"base64": "..."}`, what)
	}
	if err := strict(raw); err != nil {
		return none, Refuse(CodeBadRequest, "decode %s: %w", what, err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		var syntax *json.SyntaxError
		switch {
		case len(bytes.TrimSpace(raw)) == 0:
			err = errors.New("there is no JSON: the body is empty")
		case errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF:
			err = errors.New("the JSON ends too early")
		case errors.As(err, &syntax):
			err = fmt.Errorf("%w, %s", err, slip(raw, syntax.Offset))
		default: // it is JSON
			if m := misfit(raw, reflect.TypeFor[T]()); m != nil {
				err = m
			}
		}
		return none, Refuse(CodeBadRequest, "decode %s: %w", what, err)
	}
	if rest := bytes.TrimLeft(raw[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return none, Refuse(CodeBadRequest, "decode %s: there is more after the end of the JSON object: send one %s per request", what, what)
	}
	return v, nil
}

// slip says where JSON has its mistake, and for the common ones what to write instead.
// at is how many bytes were read, the one in question last.
func slip(raw []byte, at int64) string {
	before := raw[:max(at, 1)-1]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	text := fmt.Sprintf("in line %d, column %d", line, column)
	switch raw[len(before)] {
	case '\'':
		text += ": names and texts stand in double quotes"
	case '\n':
		text += `: a line's end in a text is written \n`
	}
	return text
}

// level is one open object or array.
type level struct {
	object bool
	free   bool // its keys are the caller's own: env, and files where they are an object
	commas int
	key    string   // the last key seen
	keys   []string // all keys so far
}

// strict refuses what encoding/json lets pass: null where a value has no name of ours,
// keys given twice, where the last would win silently, keys in another case, which it would fold, and halves of
// characters, which it would replace. It leaves all other syntax to the decoder.
func strict(raw []byte) error {
	var open []level
	wantKey, all := false, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			if len(open) == maxDepth {
				return fmt.Errorf("the JSON is nested more than %d deep", maxDepth)
			}
			free := len(open) == 1 && (open[0].key == "env" || open[0].key == "files")
			open = append(open, level{object: raw[i] == '{', free: free})
			wantKey = raw[i] == '{'
		case '}', ']':
			if len(open) == 0 {
				return nil // the decoder says it better
			}
			if err := twice(open[len(open)-1].keys); err != nil {
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
			if all++; all == maxTogether {
				return fmt.Errorf("the lists and objects of the JSON have more than %d entries together", maxTogether)
			}
			wantKey = in.object
		case '"':
			end := stringEnd(raw, i)
			if end < 0 {
				return nil
			}
			if half := halfOf(raw[i : end+1]); half != nil {
				return fmt.Errorf(`%s is half a character: send what is no text as {"base64": "..."}`, half)
			}
			if wantKey && len(open) > 0 {
				if err := open[len(open)-1].add(raw[i : end+1]); err != nil {
					return err
				}
				wantKey = false
			}
			i = end
		case 'n': // null: as a field's value it is as if the field were not given
			if len(open) > 0 && bytes.HasPrefix(raw[i:], []byte("null")) {
				if err := nothing(open); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// nothing refuses null as an element of a list, or under a name that is the caller's own:
// the decoder would make an empty text or a zero of it.
func nothing(open []level) error {
	in, list := open[len(open)-1], "the list"
	if len(open) > 1 && open[len(open)-2].key != "" {
		list = open[len(open)-2].key
	}
	switch {
	case !in.object:
		return fmt.Errorf("an element of %s is null: write its value, or leave it out", list)
	case in.free:
		return fmt.Errorf("%s.%.80s is null: write its value, or leave it out", list, in.key)
	}
	return nil
}

// stringEnd gives the index of the quote that ends the string starting at i, or -1.
func stringEnd(raw []byte, i int) int {
	for j := i + 1; j < len(raw); j++ {
		switch raw[j] {
		case '"':
			return j
		case '\\':
			j++ // whatever is escaped, it is one byte of no meaning here
		}
	}
	return -1
}

func (l *level) add(quoted []byte) error {
	key := string(quoted[1 : len(quoted)-1])
	switch {
	case !l.free && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return fmt.Errorf("unknown field %q: names of fields are lower case", key)
	case strings.IndexByte(key, '\\') >= 0:
		if json.Unmarshal(quoted, &key) != nil {
			return nil
		}
	}
	l.key = key
	l.keys = append(l.keys, key)
	return nil
}

func twice(keys []string) error {
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
