package mcp

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// Arguments that are planned make requests that brig accepts as valid, and nothing panics.
func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"language":"python","code":"x","files":{"a":{"base64":"AA=="}},"timeout_seconds":1e-9,"memory":"1M"}`))
	f.Add([]byte(`{"language":"c","code":"x","tests":[{"stdin":"","expected":"x"}],"compare":"tokens"}`))
	f.Add([]byte(`{"session_id":"s","command":["a"],"stdin":"\u0000"}`))
	f.Add([]byte(`{"language":"ruby","idle_minutes":1e9}`))
	f.Add([]byte(`{"session_id":"s","command":"x","cwd":"-","offset":1,"wait_seconds":1e-300,"code":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var code RunCode
		if json.Unmarshal(text, &code) == nil {
			if r, err := planRun(code); err == nil && (r.Validate() != nil || r.Source == nil) {
				t.Errorf("%+v is not valid", r)
			}
		}

		var tests RunTests
		if json.Unmarshal(text, &tests) == nil {
			if r, err := planTests(tests); err == nil && (r.Validate() != nil || len(r.Tests) != len(tests.Tests)) {
				t.Errorf("%+v is not valid", r)
			}
		}

		var session CreateSession
		if json.Unmarshal(text, &session) == nil {
			if r, err := planSession(session); err == nil && r.Idle < 0 {
				t.Errorf("%+v is not valid", r)
			}
		}

		var command RunCommand
		if json.Unmarshal(text, &command) == nil {
			if e, err := planCommand(command); err == nil && len(e.Argv) == 0 {
				t.Errorf("%+v has no command", e)
			}
		}

		var process StartProcess
		if json.Unmarshal(text, &process) == nil {
			if p, err := planProcess(process); err == nil && (p.Validate() != nil || !p.Detach) {
				t.Errorf("%+v is not valid", p)
			}
		}

		var output ReadOutput
		if json.Unmarshal(text, &output) == nil {
			wait, err := planOutput(output)
			if d, bad := time.ParseDuration(wait); err == nil && wait != "" && (bad != nil || d <= 0 || d > time.Minute) {
				t.Errorf("%+v waits %q", output, wait)
			}
		}

		var cell RunCell
		if json.Unmarshal(text, &cell) == nil {
			if c, err := planCell(cell); err == nil && (c.Validate() != nil || c.Timeout <= 0) {
				t.Errorf("%+v is not valid", c)
			}
		}
	})
}

// Whatever a cell tells, a model gets valid text of bounded size.
func FuzzCell(f *testing.F) {
	f.Add([]byte(`{"type":"display","data":{"image/png":"AA==","text/plain":7},"metadata":{}}`), 20)
	f.Add([]byte(`{"type":"stdout","text":"€"}`), 9000)
	f.Add([]byte(`{"type":"error","name":"a","traceback":["x"]}`), 1)
	f.Fuzz(func(t *testing.T, text []byte, times int) {
		var e api.CellEvent
		if json.Unmarshal(text, &e) != nil {
			return
		}
		var n cellNotes
		for range min(max(times, 0), 10_000) {
			n.add(e)
		}
		o := n.outcome("k", api.CellEvent{Status: api.CellOK})
		if told := o.text(); !utf8.ValidString(told) || len(told) > 256<<10 || n.pictureBytes > allPicturesMax {
			t.Errorf("%d bytes of text, %d of pictures", len(told), n.pictureBytes)
		}
	})
}

// Whatever a program writes, a model gets valid text of bounded size.
func FuzzClip(f *testing.F) {
	f.Add([]byte("text"), int64(4), 1)
	f.Add([]byte("\xe2\x82"), int64(1<<40), 9000)
	f.Fuzz(func(t *testing.T, piece []byte, written int64, times int) {
		var kept api.Bytes
		for range min(max(times, 0), 20_000) {
			if kept = append(kept, piece...); len(kept) > 64<<10 {
				break
			}
		}

		text, left := clip(kept, written)
		if !utf8.ValidString(text) || left < 0 || len(text) > 3*(headMax+tailMax)+100 {
			t.Errorf("%d bytes of text, %d left out", len(text), left)
		}
		if missing := max(written-int64(len(kept)), 0); left > int64(len(kept))+missing {
			t.Errorf("%d bytes left out of %d", left, len(kept))
		}
	})
}
