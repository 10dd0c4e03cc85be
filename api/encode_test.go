package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// inPieces has contents in every form; in some, a character lies across two pieces.
func inPieces() map[string][]byte {
	binary := make([]byte, 300_001)
	for i := range binary {
		binary[i] = byte(rand.Uint32())
	}

	return map[string][]byte{
		"none": nil, "empty": {}, "short": []byte("x\n"), "text": []byte(strings.Repeat("line <of> \"text\"\n", 20_000)),
		"wide": []byte(strings.Repeat("ü€😀\u2028", 30_000)), "wide, shifted": []byte("x" + strings.Repeat("😀", 60_000)),
		"binary": binary, "controls": []byte(strings.Repeat("plain text about it \x00\x01\b\f\x1f\x7f&\u2029\u2027\u0428\u00a8\\", 3000)),
		"zeros": make([]byte, 1<<18), "nearly text": append([]byte(strings.Repeat("a", 1<<18)), 0xff),
		"at the bound": bytes.Repeat([]byte("a"), 64<<10), "over it": bytes.Repeat([]byte("a"), 64<<10+1),
		"controls at 1 KiB": make([]byte, 1<<10), "controls over it": make([]byte, 1<<10+1), "controls at 64 KiB": make([]byte, 64<<10),
		"empty lines": bytes.Repeat([]byte("\n"), 64<<10), "longer": bytes.Repeat([]byte("\n"), 64<<10+1),
		"half a character": append(bytes.Repeat([]byte("a"), 70<<10), "€"[:2]...),
	}
}

// same checks that Encode gives the same as json.Marshal, with the right length.
func same(t *testing.T, what string, v any) {
	t.Helper()
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	e, err := api.Encode(v)
	if err != nil {
		t.Fatal(err)
	}

	for range 2 {
		var got bytes.Buffer
		if n, err := e.WriteTo(&got); err != nil || !bytes.Equal(got.Bytes(), want) || n != int64(len(want)) || e.Len() != n {
			t.Errorf("%s: %v; %d bytes, said to be %d, differ from the %d of json.Marshal", what, err, n, e.Len(), len(want))
		}
	}
}

func TestEncodingInPiecesIsTheSame(t *testing.T) {
	contents := inPieces()
	names := slices.Sorted(maps.Keys(contents))
	for i, name := range names {
		b := contents[name]
		for _, other := range []string{name, "none", names[(i+1)%len(names)]} {
			c := contents[other]
			r := result(func(r *api.Result) {
				r.Stdout, r.Stderr = b, c
				r.Files = []api.File{{Name: "a", Content: c}, {Name: "b"}, {Name: "c", Content: b, Executable: true}}
			})
			same(t, name+", "+other, r)
			if !bytes.Equal(r.Stdout, b) || !bytes.Equal(r.Files[0].Content, c) {
				t.Errorf("%s, %s: the result has changed", name, other)
			}
		}

		test := api.TestResult{ID: "1", Result: api.Result{Stdout: b, Stderr: b}, Checker: &api.ProgramOutcome{Stderr: b},
			Interactor: &api.ProgramOutcome{Stderr: b, Files: []api.File{{Name: "a", Content: b}, {Name: "b"}}}, Output: b}
		tested := api.Result{Compile: &api.Compilation{Stderr: b}, Tests: []api.TestResult{test, {ID: "2"}, test}}
		same(t, name+", of tests", &tested)
		same(t, name+", as a status", api.Status{Run: "x", Result: &tested})
		same(t, name+", of one test", test)
		if !bytes.Equal(tested.Tests[2].Result.Stderr, b) || !bytes.Equal(tested.Compile.Stderr, b) ||
			!bytes.Equal(test.Interactor.Files[0].Content, b) || !bytes.Equal(test.Checker.Stderr, b) {
			t.Errorf("%s: the result has changed", name)
		}

		text := string(b)
		x := api.Executed{Result: &text, Value: &text, Stdout: text, Stderr: text,
			Files: map[string]api.FileValue{"b": b, "a": b, "c": []byte("x")}}
		same(t, name+", executed", x)
		if *x.Result != text || !bytes.Equal(x.Files["a"], b) {
			t.Errorf("%s: what was executed has changed", name)
		}

		expected := api.Bytes(b)
		run := api.Run{Source: b, Stdin: b, Files: []api.File{{Name: "a", Content: b}},
			Tests: []api.Test{{Stdin: b, Expected: &expected}, {Files: []api.File{{Name: "b", Content: b}}}}}
		same(t, name+", as a run", run)
		same(t, name+", as a job", api.Job{ID: "1", Meta: json.RawMessage(`{"a": "<b>"}`), Run: run})
		if !bytes.Equal(run.Source, b) || !bytes.Equal(*run.Tests[0].Expected, b) {
			t.Errorf("%s: the run has changed", name)
		}
	}

	same(t, "what has no contents", map[string]int{"a": 1})
	same(t, "no result", (*api.Result)(nil))
}

// Encoding 64 MiB of output uses only a small part of that in memory.
func TestEncodingInPiecesUsesLittleMemory(t *testing.T) {
	for name, b := range map[string][]byte{"text": bytes.Repeat([]byte("some text\n"), 64<<20/10),
		"binary": bytes.Repeat([]byte{0xff}, 64<<20)} {
		text := strings.ToValidUTF8(string(b), "?")
		for form, v := range map[string]any{
			"result":   result(func(r *api.Result) { r.Stdout = b }),
			"of tests": api.Status{Result: &api.Result{Tests: []api.TestResult{{Result: api.Result{Stdout: b}}}}},
			"of interactors": &api.Result{Tests: []api.TestResult{
				{Interactor: &api.ProgramOutcome{Files: []api.File{{Content: b}}}}}},
			"executed": api.Executed{Stdout: text, Result: &text, Files: map[string]api.FileValue{"a": b}},
		} {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			e, err := api.Encode(v)
			if err != nil {
				t.Fatal(err)
			}

			seen := &maximum{}
			if _, err := e.WriteTo(seen); err != nil {
				t.Fatal(err)
			}

			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > 1<<20 || seen.n > 128<<10 {
				t.Errorf("%s, %s: %d bytes were allocated, the largest piece is %d", name, form, made, seen.n)
			}
			if held := e.RetainedSize(); held < int64(len(text)) || held > 3*int64(len(b))+4096 {
				t.Errorf("%s, %s: it is said to hold %d bytes", name, form, held)
			}
		}
	}
}

// most is the size of the largest piece that was written.
type maximum struct{ n int }

func (m *maximum) Write(p []byte) (int, error) {
	m.n = max(m.n, len(p))
	return io.Discard.Write(p)
}

// Bytes in any encoded form are decoded again, and the content is then in memory only once more.
func TestDecodedBytesUseLittleMemory(t *testing.T) {
	for name, b := range inPieces() {
		text, err := json.Marshal(api.Bytes(b))
		if err != nil {
			t.Fatal(err)
		}
		var got api.Bytes
		if err := json.Unmarshal(text, &got); err != nil || !bytes.Equal(got, b) || got == nil {
			t.Errorf("%s: %v, %d bytes of %d", name, err, len(got), len(b))
		}
	}

	for in, want := range map[string]string{
		`"a\u0041\n"`: "aA\n", `{"base64":"/w\u003d="}`: "\xff", ` {"base64": "/w=="}`: "\xff", `{"base64":""}`: "", `""`: "",
		`"{\"base64\":\"\"}"`: `{"base64":""}`,
	} {
		var got api.Bytes
		if err := json.Unmarshal([]byte(in), &got); err != nil || string(got) != want {
			t.Errorf("%s is read as %q, %v; want %q", in, got, err, want)
		}
	}

	for _, in := range []string{`{"base64":"/w="}`, `{"base64":"*"}`, `{"base64":"","base64":"/w=="`, `{"text":""}`, `4`, `{}`, "\"a\nb\""} {
		var got api.Bytes
		if err := got.UnmarshalJSON([]byte(in)); err == nil {
			t.Errorf("%s is read as %q", in, got)
		}
	}

	for form, b := range map[string][]byte{"text": bytes.Repeat([]byte("a"), 8<<20), "base64": bytes.Repeat([]byte{0xff}, 8<<20)} {
		text, err := json.Marshal(api.Bytes(b))
		if err != nil {
			t.Fatal(err)
		}

		var got api.Bytes
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := got.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}

		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(b))*5/4 {
			t.Errorf("%s: %d bytes were allocated for %d", form, took, len(b))
		}
	}
}
