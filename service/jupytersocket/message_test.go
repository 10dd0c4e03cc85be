package jupytersocket

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

const head = `{"msg_id":"1","msg_type":"execute_request","session":"s","username":"u","date":"d","version":"5.3"}`

func parts(words ...string) []byte {
	var all [][]byte
	for _, w := range words {
		all = append(all, []byte(w))
	}
	return appendParts(nil, all...)
}

// with returns b with one of its 64-bit numbers changed.
func with(b []byte, i int, n uint64) []byte {
	binary.LittleEndian.PutUint64(b[8*i:], n)
	return b
}

func TestRead(t *testing.T) {
	text := `{"channel":"shell","header":` + head + `,"parent_header":{},"metadata":{},"content":{"code":"x"},"buffers":[]}`
	whole := func() []byte { return parts("shell", head, "{}", "{}", `{"code":"x"}`, "buffer") }
	buffers := append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 2), 12),
		uint32(12+len(text))), text+"more"...)
	for name, test := range map[string]struct {
		subprotocol string
		binary      bool
		message     []byte
		wrong       string
	}{
		"text":           {"", false, []byte(text), ""},
		"without buffer": {"", false, []byte(strings.Replace(text, `,"buffers":[]`, "", 1)), ""},
		"no channel":     {"", false, []byte(strings.Replace(text, `"channel":"shell",`, "", 1)), ""},
		"with buffers":   {"", true, buffers, ""},
		"V1":             {V1, true, whole(), ""},
		"V1 no buffers":  {V1, true, parts("shell", head, "{}", "{}", `{"code":"x"}`), ""},

		"no JSON":               {"", false, []byte(`{`), "no JSON"},
		"a list":                {"", false, []byte(`[]`), "no JSON"},
		"a channel of ours":     {"", false, []byte(strings.Replace(text, "shell", "iopub", 1)), `channel "iopub"`},
		"no header":             {"", false, []byte(`{"channel":"shell"}`), "needs a header"},
		"a header that is text": {"", false, []byte(`{"channel":"shell","header":"x"}`), "needs a header"},
		"no type":               {"", false, []byte(`{"channel":"shell","header":{"msg_id":"1"}}`), "needs a header"},
		"a large header":        {"", false, []byte(`{"header":{"msg_id":"` + strings.Repeat("a", maxHeader) + `"}}`), "a header of"},
		"no buffers":            {"", true, []byte("abc"), "without a number of buffers"},
		"many buffers":          {"", true, []byte("\xff\xff\xff\xff"), "4294967295 buffers"},
		"a buffer outside":      {"", true, []byte("\x00\x00\x00\x01\x00\x00\xff\x00"), "from byte 65280"},

		"V1 text":              {V1, false, []byte(text), "is binary"},
		"V1 empty":             {V1, true, nil, "without a number"},
		"V1 few":               {V1, true, parts("shell", head, "{}", "{}"), "5 offsets"},
		"V1 many":              {V1, true, with(whole(), 0, 1<<63), "offsets"},
		"V1 outside":           {V1, true, with(whole(), 7, 1<<40), "to 1099511627776"},
		"V1 backwards":         {V1, true, with(whole(), 3, 1), "to 1"},
		"V1 in its own head":   {V1, true, with(whole(), 1, 8), "from byte 8"},
		"V1 no JSON":           {V1, true, parts("shell", "x", "{}", "{}", "{}"), "no JSON"},
		"V1 no JSON as parent": {V1, true, parts("shell", head, "x", "{}", "{}"), "no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Read(test.subprotocol, test.binary, test.message)
			if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
				t.Fatalf("%v, want %q", err, test.wrong)
			}
			if err == nil && (m.Channel != Shell || m.Header.ID != "1" || string(m.Content) != `{"code":"x"}` || string(m.Parent) != head) {
				t.Errorf("%+v", m)
			}
		})
	}
}

// What is written is what clients read: V1 with the offsets of Jupyter's own server, and JSON.
func TestAppend(t *testing.T) {
	a := Answer{Channel: IOPub, Header: Header{ID: "2", Type: "status"}, Parent: json.RawMessage(head), Content: Status("busy")}
	b, isBinary, err := Append(nil, V1, a)
	if err != nil || !isBinary {
		t.Fatal(isBinary, err)
	}
	if n := binary.LittleEndian.Uint64(b); n != 6 || binary.LittleEndian.Uint64(b[8:]) != 56 ||
		binary.LittleEndian.Uint64(b[48:]) != uint64(len(b)) || string(b[56:61]) != "iopub" {
		t.Errorf("%q", b)
	}

	b, isBinary, err = Append(nil, "", a)
	const want = `{"channel":"iopub","header":{"msg_id":"2","session":"","username":"","date":"","msg_type":"status","version":""},` +
		`"msg_id":"2","msg_type":"status","parent_header":` + head + `,"metadata":{},"content":{"execution_state":"busy"},"buffers":[]}`
	if err != nil || isBinary || string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
}

// What a client is told of a cell, and the reply.
func TestOutcomes(t *testing.T) {
	data := map[string]json.RawMessage{"text/plain": json.RawMessage(`"2"`)}
	for name, test := range map[string]struct {
		events      []api.CellEvent
		told, reply string
	}{
		"ok": {[]api.CellEvent{{Type: "start", Count: 3}, {Type: "stdout", Text: "a"}, {Type: "keepalive"}, {Type: "display", Data: data},
			{Type: "result", Data: data}, {Type: "end", Status: "ok"}},
			`execute_input {"code":"x","execution_count":3} stream {"name":"stdout","text":"a"} ` +
				`display_data {"data":{"text/plain":"2"},"metadata":{},"transient":{}} ` +
				`execute_result {"data":{"text/plain":"2"},"execution_count":3,"metadata":{}} `,
			`{"execution_count":3,"payload":[],"status":"ok","user_expressions":{}}`},
		"error": {[]api.CellEvent{{Type: "start", Count: 3}, {Type: "error", Name: "E", Value: "v", Traceback: []string{"a"}},
			{Type: "end", Status: "error"}},
			`execute_input {"code":"x","execution_count":3} error {"ename":"E","evalue":"v","traceback":["a"]} `,
			`{"ename":"E","evalue":"v","execution_count":3,"status":"error","traceback":["a"]}`},
		"interrupted": {[]api.CellEvent{{Type: "end", Status: "interrupted"}},
			`error {"ename":"KeyboardInterrupt","evalue":"the cell ended: interrupted",` +
				`"traceback":["KeyboardInterrupt: the cell ended: interrupted"]} `,
			`{"ename":"KeyboardInterrupt","evalue":"the cell ended: interrupted","execution_count":0,"status":"error",` +
				`"traceback":["KeyboardInterrupt: the cell ended: interrupted"]}`},
	} {
		var o Outcome
		told := ""
		for _, e := range test.events {
			if kind, content := o.Tell(e, "x"); kind != "" {
				b, _ := json.Marshal(content)
				told += kind + " " + string(b) + " "
			}
		}
		reply, err := json.Marshal(o.Reply())
		if err != nil || told != test.told || string(reply) != test.reply {
			t.Errorf("%s: %s, %s, %v", name, told, reply, err)
		}
	}
}

func TestReplies(t *testing.T) {
	for kind, want := range map[string]string{
		"kernel_info_request": `kernel_info_reply {"banner":"brig 1","help_links":[],"implementation":"brig"`,
		"is_complete_request": `is_complete_reply {"status":"unknown"}`,
		"complete_request":    `complete_reply {"cursor_end":7,"cursor_start":7,"matches":[],"metadata":{},"status":"ok"}`,
		"inspect_request":     `inspect_reply {"data":{},"found":false,"metadata":{},"status":"ok"}`,
		"history_request":     `history_reply {"history":[],"status":"ok"}`,
		"comm_info_request":   `comm_info_reply {"comms":{},"status":"ok"}`,
		"interrupt_request":   `interrupt_reply {"status":"ok"}`,
		"shutdown_request":    `shutdown_reply {"restart":true,"status":"ok"}`,
		"debug_request":       `debug_reply {"ename":"NotImplementedError"`,
		"comm_open":           ` null`,
		"input_reply":         ` null`,
	} {
		kindOf, content := Reply(api.KernelPython, "1", Message{Header: Header{Type: kind},
			Content: json.RawMessage(`{"cursor_pos":7,"restart":true}`)})
		b, err := json.Marshal(content)
		if got := kindOf + " " + string(b); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s, %v", kind, got, want, err)
		}
	}
}

// FuzzRead feeds what a client sends. What is understood can be answered, and is no larger than what came.
func FuzzRead(f *testing.F) {
	f.Add(true, true, parts("shell", head, "{}", "{}", "{}"))
	f.Add(false, false, []byte(`{"channel":"shell","header":`+head+`,"content":{"code":"x"}}`))
	f.Add(false, true, []byte("\x00\x00\x00\x01\x00\x00\x00\x08{}"))
	f.Fuzz(func(t *testing.T, v1, isBinary bool, b []byte) {
		subprotocol := ""
		if v1 {
			subprotocol = V1
		}
		m, err := Read(subprotocol, isBinary, b)
		if err != nil {
			return
		}
		if len(m.Channel)+len(m.Content)+len(m.Parent) > len(b)+16 {
			t.Fatalf("%d bytes became %d", len(b), len(m.Channel)+len(m.Content)+len(m.Parent))
		}
		_, _ = ReadExecute(m.Content)
		kind, content := Reply(api.KernelPython, "1", m)
		out, _, err := Append(nil, subprotocol, Answer{Channel: m.Channel, Header: Header{Type: kind}, Parent: m.Parent, Content: content})
		if err != nil || len(out) == 0 {
			t.Fatalf("what was understood cannot be answered: %v", err)
		}
	})
}
