package kernels

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func frame(body string) string { return string(AppendFrame(nil, []byte(body))) }

// read feeds a text in pieces of a size, and returns the events and the error.
func read(text string, piece int) (events []string, err error) {
	var f Frames
	for len(text) > 0 && err == nil {
		n := min(piece, len(text))
		err = f.Write([]byte(text[:n]), func(body []byte) error {
			events = append(events, string(body))
			return nil
		})
		text = text[n:]
	}
	return events, err
}

func TestFrames(t *testing.T) {
	large := strings.Repeat("a", 3*firstGrant)
	for name, test := range map[string]struct {
		text  string
		want  []string
		wrong string
	}{
		"several":              {frame("{}") + frame(`{"a":1}`) + frame("x"), []string{"{}", `{"a":1}`, "x"}, ""},
		"large":                {frame(large) + frame("x"), []string{large, "x"}, ""},
		"not complete":         {frame("{}") + "7\nabc", []string{"{}"}, ""},
		"zeros before":         {"002\n{}", []string{"{}"}, ""},
		"no length":            {frame("{}") + "{}", []string{"{}"}, "byte '{' where the length"},
		"negative":             {"-1\n", nil, "byte '-'"},
		"empty":                {"0\n", nil, "an event of 0 bytes"},
		"only a newline":       {"\n", nil, "without a length"},
		"too large":            {"8388609\n", nil, "an event of 8388609 bytes"},
		"larger than a number": {"999999999999999999999\n", nil, "byte '9'"},
		"a NUL":                {"\x00", nil, `byte '\x00'`},
		"CRLF":                 {"2\r\n{}", nil, `byte '\r'`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, piece := range []int{1, 2, 7, 1 << 20} {
				got, err := read(test.text, piece)
				if strings.Join(got, "|") != strings.Join(test.want, "|") {
					t.Errorf("pieces of %d: %d events, want %d", piece, len(got), len(test.want))
				}
				if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("pieces of %d: %v, want %q", piece, err, test.wrong)
				}
			}
		})
	}
}

// A program that announces much and sends little reserves little, and what is reserved is given back.
func TestFramesReserveWhatHasArrived(t *testing.T) {
	var reserved int64
	f := Frames{Reserve: func(n int64) error { reserved = n; return nil }}
	none := func([]byte) error { return nil }
	if err := f.Write([]byte("8388608\n"), none); err != nil || reserved > firstGrant {
		t.Fatalf("%d bytes are reserved for a length: %v", reserved, err)
	}
	if err := f.Write(bytes.Repeat([]byte("a"), 1000), none); err != nil || reserved > firstGrant {
		t.Fatalf("%d bytes are reserved for 1000: %v", reserved, err)
	}
	if err := f.Write(bytes.Repeat([]byte("a"), 1<<20), none); err != nil || reserved < 1<<20 || reserved > 4<<20 {
		t.Fatalf("%d bytes are reserved for 1 MiB: %v", reserved, err)
	}
	if err := f.Write(bytes.Repeat([]byte("a"), MaxEvent-1000-1<<20), none); err != nil || reserved != 0 {
		t.Fatalf("%d bytes are reserved after the event: %v", reserved, err)
	}

	full := errors.New("full")
	f = Frames{Reserve: func(int64) error { return full }}
	if err := f.Write([]byte("100000\naaaaaaa"), none); !errors.Is(err, full) {
		t.Errorf("without memory: %v", err)
	}
	if err := f.Write([]byte("100"), none); !errors.Is(err, full) {
		t.Errorf("after that: %v", err)
	}
}

func TestUnderstand(t *testing.T) {
	deep := func(n int) string {
		return `{"type":"result","data":{"application/json":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}`
	}
	for name, test := range map[string]struct{ body, want, wrong string }{
		"ready":         {`{"type":"ready"}`, "ready", ""},
		"done":          {`{"type":"done","cell":3,"status":"error"}`, "done 3 error", ""},
		"result":        {`{"type":"result","data":{"text/plain":"2"},"metadata":{}}`, "result", ""},
		"no data":       {`{"type":"display"}`, "display", ""},
		"error":         {`{"type":"error","name":"E","value":"v","traceback":["a"]}`, "error", ""},
		"ask":           {`{"type":"ask","id":"1","name":"add","args":[1,2]}`, "ask", ""},
		"unknown field": {`{"type":"ready","more":1}`, "ready", ""},
		"twice":         {`{"type":"ready","type":"done","status":"ok"}`, "done 0 ok", ""},
		"no UTF-8":      {"{\"type\":\"error\",\"name\":\"\xff\xfe\"}", "error", ""},

		"no JSON":               {`{"type":`, "", "form of events"},
		"nothing":               {``, "", "form of events"},
		"two values":            {`{"type":"ready"}{}`, "", "form of events"},
		"a list":                {`[]`, "", "form of events"},
		"null":                  {`null`, "", "unknown type"},
		"no type":               {`{}`, "", "unknown type"},
		"a type of the service": {`{"type":"end","status":"ok"}`, "", "unknown type"},
		"start":                 {`{"type":"start","count":1}`, "", "unknown type"},
		"stdout":                {`{"type":"stdout","text":"x"}`, "", "unknown type"},
		"a type of numbers":     {`{"type":7}`, "", "form of events"},
		"a status of ours":      {`{"type":"done","cell":1,"status":"died"}`, "", "unknown status"},
		"cell is a text":        {`{"type":"done","cell":"1","status":"ok"}`, "", "form of events"},
		"cell is too large":     {`{"type":"done","cell":9223372036854775808,"status":"ok"}`, "", "form of events"},
		"cell is a fraction":    {`{"type":"done","cell":1.5,"status":"ok"}`, "", "form of events"},
		"data is a list":        {`{"type":"result","data":[]}`, "", "form of events"},
		"value is an object":    {`{"type":"error","name":"E","value":{}}`, "", "form of events"},
		"a huge number":         {`{"type":"result","data":{"application/json":1e999}}`, "", "larger than numbers"},
		"a long number":         {`{"type":"result","data":{"application/json":` + strings.Repeat("1", 401) + `}}`, "", "401 characters"},
		"a number in a text":    {`{"type":"result","data":{"text/plain":"1e999"}}`, "result", ""},
		"brackets in a text":    {`{"type":"result","data":{"text/plain":"` + strings.Repeat("[", 99) + `\"["}}`, "result", ""},
		"deep enough":           {deep(maxDepth - 2), "result", ""},
		"too deep":              {deep(maxDepth - 1), "", "in each other"},
		"very deep":             {strings.Repeat("[", 100000), "", "in each other"},
		"many forms":            {`{"type":"result","data":{` + manyNames(maxForms+1) + `}}`, "", "65 forms"},
		"a long MIME type":      {`{"type":"result","data":{"` + strings.Repeat("a", 201) + `":1}}`, "", "201 bytes"},
		"a long name":           {`{"type":"error","name":"` + strings.Repeat("a", 201) + `"}`, "", "201 bytes"},
		"many lines":            {`{"type":"error","name":"E","traceback":[` + strings.Repeat(`"",`, 1000) + `""]}`, "", "1001 lines"},
		"ask without an id":     {`{"type":"ask","name":"add"}`, "", "id has 0 bytes"},
		"ask without a name":    {`{"type":"ask","id":"1"}`, "", "name 0"},
		"ask with much":         {`{"type":"ask","id":"1","name":"a","args":["` + strings.Repeat("a", 1<<20) + `"]}`, "", "bytes of arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := Understand([]byte(test.body))
			if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
				t.Fatalf("%v, want %q", err, test.wrong)
			}
			if err == nil && said.String() != test.want {
				t.Errorf("%s, want %s", said, test.want)
			}
		})
	}
}

func manyNames(n int) string {
	var all []string
	for i := range n {
		all = append(all, `"`+strings.Repeat("a", i+1)+`":1`)
	}
	return strings.Join(all, ",")
}

func (s Said) String() string {
	switch s.Kind {
	case SaidReady:
		return "ready"
	case SaidDone:
		return strings.Join([]string{"done", string('0' + rune(s.Cell)), string(s.Status)}, " ")
	}
	return string(s.Event.Type)
}

func TestRequests(t *testing.T) {
	got, err := Execute{Cell: 7, Count: 3, Code: "a\n\"<>&\\\x01ö\u2028", Env: map[string]string{"B": "c"}}.Append(nil)
	const body = `{"type":"execute","cell":7,"count":3,"silent":false,"env":{"B":"c"},"code":"a\n\"<>&\\\u0001ö\u2028"}`
	if err != nil || string(got) != frame(body) {
		t.Errorf("%s, want %s: %v", got, body, err)
	}

	got, err = AppendAnswer(nil, api.KernelAnswer{ID: "1"})
	if err != nil || string(got) != frame(`{"type":"answer","id":"1","value":null}`) {
		t.Errorf("%s: %v", got, err)
	}
}

// FuzzEvents feeds what a program writes, and checks what clients may rely on.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(frame(`{"type":"ready"}`)+frame(`{"type":"result","data":{"text/plain":"2"}}`)), 3)
	f.Add([]byte(frame(`{"type":"done","cell":1,"status":"ok"}`)+"99999999999\n"), 1)
	f.Add([]byte(frame(`{"type":"ask","id":"1","name":"f","args":[1e400]}`)), 100)
	f.Fuzz(func(t *testing.T, text []byte, piece int) {
		var held int64
		frames := Frames{Reserve: func(n int64) error { held = n; return nil }}
		for len(text) > 0 {
			n := min(max(piece, 1), len(text))
			err := frames.Write(text[:n], func(body []byte) error {
				said, err := Understand(bytes.Clone(body))
				if err != nil {
					return nil
				}
				line, err := api.Encode(said.Event)
				if err != nil {
					t.Fatalf("an event that was understood cannot be sent: %v", err)
				}
				if size := line.RetainedSize(); size > 8*int64(len(body))+1000 {
					t.Fatalf("%d bytes of an event became %d", len(body), size)
				}
				return nil
			})
			if err != nil {
				return
			}
			if held > 2*MaxEvent {
				t.Fatalf("%d bytes are held", held)
			}
			text = text[n:]
		}
	})
}
