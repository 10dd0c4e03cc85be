package execsocket

import (
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// What means nothing is refused (TTY-06).
func TestMessagesOfClients(t *testing.T) {
	for _, tt := range []struct {
		name, subprotocol, message string
		kind                       Kind
		size                       api.TTY
		signal                     api.Signal
		rest                       string // of the message, for stdin
		wrong                      string // a part of the error
	}{
		{name: "input", subprotocol: V5, message: "\x00ls\n", kind: Input, rest: "ls\n"},
		{name: "no input", subprotocol: V5, message: "\x00", kind: Input},
		{name: "input of the old one", subprotocol: V4, message: "\x00\x04\xff", kind: Input, rest: "\x04\xff"},
		{name: "plain", message: "\x04{}", kind: Input, rest: "\x04{}"},
		{name: "nothing, plain", kind: Input},
		{name: "a size", subprotocol: V5, message: "\x04" + `{"Width":99,"Height":33}`, kind: Resize, size: api.TTY{Rows: 33, Cols: 99}},
		{name: "a size and more fields", subprotocol: V4, message: "\x04" + `{"Width":1,"Height":1,"X":2}`, kind: Resize,
			size: api.TTY{Rows: 1, Cols: 1}},
		{name: "the end of stdin", subprotocol: V5, message: "\xff\x00", kind: InputEnd},

		{name: "a signal", subprotocol: Brig, message: "\x05SIGINT", kind: Signal, signal: "SIGINT"},
		{name: "input of brig's", subprotocol: Brig, message: "\x00ls\n", kind: Input, rest: "ls\n"},
		{name: "a size of brig's", subprotocol: Brig, message: "\x04" + `{"Width":99,"Height":33}`, kind: Resize,
			size: api.TTY{Rows: 33, Cols: 99}},
		{name: "the end of stdin of brig's", subprotocol: Brig, message: "\xff\x00", kind: InputEnd},
		{name: "no signal", subprotocol: Brig, message: "\x05SIGSEGV", wrong: "SIGSEGV"},
		{name: "a long signal", subprotocol: Brig, message: "\x05" + strings.Repeat("SIGINT", 100), wrong: "cannot be sent"},
		{name: "an event", subprotocol: Brig, message: "\x06{}", wrong: "channel 6"},
		{name: "a signal of the older ones", subprotocol: V5, message: "\x05SIGINT", wrong: "channel 5"},
		{name: "empty", subprotocol: V5, wrong: "without its channel"},
		{name: "the end of another channel", subprotocol: V5, message: "\xff\x01", wrong: "channel 1 ends"},
		{name: "the end of none", subprotocol: V5, message: "\xff", wrong: "ends"},
		{name: "the end, of the old one", subprotocol: V4, message: "\xff\x00", wrong: "channel 255"},
		{name: "output", subprotocol: V5, message: "\x01x", wrong: "channel 1"},
		{name: "a size that is none", subprotocol: V5, message: "\x04[1,2]", wrong: "a size is"},
		{name: "a size that no terminal has", subprotocol: V5, message: "\x04" + `{"Width":70000}`, wrong: "70000 cols"},
		{name: "a negative size", subprotocol: V5, message: "\x04" + `{"Width":-1}`, wrong: "-1 cols"},
		{name: "a long size", subprotocol: V5, message: "\x04" + strings.Repeat(" ", maxSize+1), wrong: "more than 256 bytes"},
	} {
		r := strings.NewReader(tt.message)
		m, err := Read(tt.subprotocol, r)
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: %v; want %q", tt.name, err, tt.wrong)
			}
			continue
		}
		rest, _ := io.ReadAll(r)
		if want := (Message{tt.kind, tt.size, tt.signal}); err != nil || m != want || string(rest) != tt.rest {
			t.Errorf("%s: %+v, rest %q, %v; want %+v", tt.name, m, rest, err, want)
		}
	}
}

// Whatever a client sends is read or refused, and none of it is taken for a size that no terminal has.
func FuzzMessagesOfClients(f *testing.F) {
	f.Add(V5, []byte("\x04{\"Width\":99,\"Height\":33}"))
	f.Add(V4, []byte("\x00ls"))
	f.Fuzz(func(t *testing.T, subprotocol string, message []byte) {
		m, err := Read(subprotocol, strings.NewReader(string(message)))
		if err == nil && (m.Size.Validate() != nil || m.Kind == Signal && m.Signal.Validate() != nil) {
			t.Errorf("%+v", m)
		}
	})
}

func TestQueries(t *testing.T) {
	sh := api.Exec{Argv: []string{"sh", "-c", "a b"}}
	terminal := sh
	terminal.TTY = &api.TTY{Rows: 33, Cols: 99}
	usual := sh
	usual.TTY = &api.TTY{}
	const command = "command=sh&command=-c&command=a+b"
	for _, tt := range []struct {
		query string
		plain bool
		want  Request
		wrong string
	}{
		{query: command, want: Request{sh, false, true, true}},
		{query: command, plain: true, want: Request{sh, true, true, true}},
		{query: command + "&stdin=false", plain: true, want: Request{sh, false, true, true}},
		{query: command + "&container=box&stdin=true&stdout=1&stderr=0", want: Request{sh, true, true, false}},
		{query: command + "&tty=true&rows=33&cols=99&stdin=true", want: Request{terminal, true, true, true}},
		{query: command + "&tty=true", plain: true, want: Request{usual, true, true, true}},

		{query: "tty=true", wrong: "no command"},
		{query: command + "&tty=perhaps", wrong: `tty="perhaps"`},
		{query: command + "&tty=true&rows=0", wrong: `rows="0"`},
		{query: command + "&tty=true&cols=5000", wrong: "5000 cols"},
		{query: command + "&cols=80", wrong: "with tty=true"},
		{query: "command=a%00b", wrong: "argv"},
	} {
		q, err := url.ParseQuery(tt.query)
		if err != nil {
			t.Fatal(err)
		}

		got, err := Parse(q, tt.plain)
		switch {
		case tt.wrong != "":
			if refused := new(api.Error); !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: %v; want %q", tt.query, err, tt.wrong)
			}
		case err != nil || !reflect.DeepEqual(got, tt.want):
			t.Errorf("%s: %+v, %v; want %+v", tt.query, got, err, tt.want)
		}
	}
}

func TestEnds(t *testing.T) {
	busy := &api.Problem{Status: 503, Code: api.CodeBusy, Detail: "no slot is free"}
	for _, tt := range []struct {
		res          api.Result
		err          *api.Problem
		status, code string // of the status, and the exit code in it
		words        string
	}{
		{api.Result{Verdict: api.OK}, nil, "Success", "", "exit code 0"},
		{api.Result{Verdict: api.Nonzero, ExitCode: 7}, nil, "Failure", "7", "exit code 7"},
		{api.Result{Verdict: api.Signaled, Signal: 9}, nil, "Failure", "137", "signaled, exit code 137"},
		{api.Result{Verdict: api.WallLimit}, nil, "Failure", "124", "wall-limit, exit code 124"},
		{api.Result{Verdict: api.Canceled, SessionEnded: "it was idle"}, nil, "Failure", "130", "the session has ended: it was idle"},
		{api.Result{}, busy, "Failure", "", "busy: no slot is free"},
	} {
		var got status
		if err := json.Unmarshal(StatusOf(tt.res, tt.err), &got); err != nil {
			t.Fatal(err)
		}

		code := ""
		if got.Details != nil {
			code = got.Details.Causes[0].Message
		}
		if got.Status != tt.status || code != tt.code || tt.err != nil && got.Code != tt.err.Status {
			t.Errorf("%+v: %+v; want %s, exit code %q", tt.res, got, tt.status, tt.code)
		}
		if words := Words(tt.res, tt.err); words != tt.words {
			t.Errorf("%+v: %q; want %q", tt.res, words, tt.words)
		}
	}

	long := Words(api.Result{}, &api.Problem{Code: "x", Detail: strings.Repeat("é", 100)})
	if len(long) > maxReason || !utf8.ValidString(long) || len(long) < maxReason-3 {
		t.Errorf("%d bytes %q", len(long), long)
	}
}
