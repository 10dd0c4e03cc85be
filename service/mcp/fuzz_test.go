package mcp

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// Arguments that are planned make requests that brig accepts as valid, and nothing panics.
func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"language":"python","code":"x","files":{"a":{"base64":"AA=="}},"timeout_seconds":1e-9,"memory":"1M"}`))
	f.Add([]byte(`{"language":"c","code":"x","tests":[{"stdin":"","expected":"x"}],"compare":"tokens"}`))
	f.Add([]byte(`{"session_id":"s","command":["a"],"stdin":"\u0000"}`))
	f.Add([]byte(`{"language":"ruby","idle_minutes":1e9}`))
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
