package codejudge

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/brig-sandbox/brig/service/dialect/fastapi"
)

// A submission is one program of a request.
type submission struct {
	id       string // of the client, or a new one
	kind     string // python, cpp or math
	solution string
	input    string
	expected *string // nil: nothing is compared
}

// maxSubmissions is of one request.
const maxSubmissions = 10_000

// kinds are the values of type, in the order of the original.
var kinds = []string{"python", "cpp", "math"}

// fields are those of a submission, in the order of the original.
func (s *submission) fields(note func(fastapi.Fault), loc ...any) []fastapi.Field {
	at := func(name string) []any { return append(append([]any(nil), loc...), name) }
	text := func(name string, into *string) func(json.RawMessage) *fastapi.Fault {
		return func(raw json.RawMessage) (f *fastapi.Fault) {
			*into, f = fastapi.ReadText(raw, at(name)...)
			return f
		}
	}

	return []fastapi.Field{
		{Name: "sub_id", Nullable: true, Read: text("sub_id", &s.id)},
		{Name: "type", Required: true, Read: func(raw json.RawMessage) *fastapi.Fault {
			kind, f := fastapi.ReadText(raw)
			for _, k := range kinds {
				if f == nil && k == kind {
					s.kind = k
					return nil
				}
			}
			l := fastapi.Literal(raw, kinds, at("type")...)
			return &l
		}},
		{Name: "options", Nullable: true, Read: func(raw json.RawMessage) *fastapi.Fault {
			all, f := fastapi.ReadObject(raw, at("options")...)
			for name, value := range all {
				if _, f := fastapi.ReadText(value, append(at("options"), name)...); f != nil {
					note(*f)
				}
			}
			return f
		}},
		{Name: "solution", Required: true, Read: text("solution", &s.solution)},
		{Name: "input", Nullable: true, Read: text("input", &s.input)},
		{Name: "expected_output", Nullable: true, Read: func(raw json.RawMessage) *fastapi.Fault {
			expected, f := fastapi.ReadText(raw, at("expected_output")...)
			s.expected = &expected
			return f
		}},
	}
}

// readOne reads a body that is one submission.
func readOne(body []byte) (s submission, unknown int, bad []fastapi.Fault) {
	note := func(f fastapi.Fault) { bad = append(bad, f) }
	unknown = fastapi.ReadBody(body, s.fields(note), note)
	return s, unknown, bad
}

// readBatch reads a body that has many.
func readBatch(body []byte) (id string, all []submission, unknown int, bad []fastapi.Fault) {
	note := func(f fastapi.Fault) { bad = append(bad, f) }
	more := 0
	unknown = fastapi.ReadBody(body, []fastapi.Field{
		{Name: "sub_id", Nullable: true, Read: func(raw json.RawMessage) (f *fastapi.Fault) {
			id, f = fastapi.ReadText(raw, "sub_id")
			return f
		}},
		{Name: "type", Read: func(raw json.RawMessage) *fastapi.Fault {
			if kind, f := fastapi.ReadText(raw); f != nil || kind != "batch" {
				l := fastapi.Literal(raw, []string{"batch"}, "type")
				return &l
			}
			return nil
		}},
		{Name: "submissions", Required: true, Read: func(raw json.RawMessage) *fastapi.Fault {
			list, f := fastapi.ReadList(raw, "submissions")
			switch {
			case f != nil:
				return f
			case len(list) == 0:
				f := fastapi.FaultOf("too_short", "List should have at least 1 item after validation, not 0", raw, "submissions")
				f.Ctx = map[string]any{"field_type": "List", "min_length": 1, "actual_length": 0}
				return &f
			case len(list) > maxSubmissions:
				f := fastapi.Refused(fmt.Sprintf("there are %d submissions, and brig takes at most %d in a request",
					len(list), maxSubmissions), nil, "submissions")
				return &f
			}

			all = make([]submission, len(list))
			for i, raw := range list {
				more += fastapi.ReadModel(raw, all[i].fields(note, "submissions", i), note, "submissions", i)
			}
			return nil
		}},
	}, note)
	return id, all, unknown + more, bad
}

// newID makes an id as the original does, a UUID, of a text that nobody can guess.
func newID(nonce string, number int) string {
	b := sha256.Sum256([]byte(nonce + "/" + strconv.Itoa(number)))
	b[6], b[8] = b[6]&0x0F|0x40, b[8]&0x3F|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
