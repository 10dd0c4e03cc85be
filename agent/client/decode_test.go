package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// sameMeaning checks that decode and encoding/json decode the text to the same value.
func sameMeaning[T any](t *testing.T, text []byte) {
	t.Helper()
	var want, got T
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if err := decode(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s\nis decoded as %+v, %v\n           not %+v", text, got, err, want)
	}
}

func TestDecodeAsEncodingJSON(t *testing.T) {
	files, err := filepath.Glob("../../api/testdata/golden/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}

	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}

		switch kind, _ := filepath.Match("result*", filepath.Base(f)); {
		case kind:
			sameMeaning[api.Result](t, text)
		case filepath.Base(f) == "health.json":
			sameMeaning[api.Health](t, text)
		case filepath.Base(f) == "session.json":
			sameMeaning[api.Session](t, text)
		case filepath.Base(f) == "files.json":
			sameMeaning[api.FileList](t, text)
		}
	}

	var r api.Result
	for _, broken := range []string{``, `{`, `{"run_id":`, `{"run_id":"a"} x`, `{"stdout":4}`, `{"limits":{"wall":1}}`, `{"exit_code":"x"}`,
		`{"exit_code":1e99}`, "{\"run_id\":\"a\x01b\"}"} {
		if err := decode([]byte(broken), &r); err == nil {
			t.Errorf("%q is taken", broken)
		}
	}
}

// FuzzAnswer tries texts with which a program, which controls the texts of a result, could mislead
// the client's decoder (API-04).
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("plain"), "name", int64(1))
	f.Add([]byte("\x00\xff\u2028\\\"\n</script>"), "\\u0000\xed\xa0\x80", int64(-1))
	f.Add([]byte(`{"base64":"eA=="}`), "\U0001F600\ufffd", int64(1)<<62)
	f.Fuzz(func(t *testing.T, content []byte, name string, n int64) {
		r := api.Result{
			Run: name, Verdict: api.Verdict(name), Stdout: content, Stderr: api.Bytes(name), ExitCode: int(n),
			Usage:     api.Usage{CPU: api.Known(n, name), Memory: api.Unknown(name)},
			Files:     []api.File{{Name: name, Content: content}},
			Skipped:   []api.Skipped{{Name: string(content), Reason: name}},
			Diagnosis: &api.Diagnosis{Message: name}, Limits: api.Limits{Wall: 1, Memory: 1},
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		sameMeaning[api.Result](t, text)
	})
}

// A large answer is read into memory of its own size: an answer with the most output of a default
// run took several times that.
func TestALargeAnswerUsesMemoryOfItsSize(t *testing.T) {
	const size = 16 << 20
	text, err := json.Marshal(api.Result{Verdict: api.OK, Stdout: bytes.Repeat([]byte("a"), size)})
	if err != nil {
		t.Fatal(err)
	}

	var in io.Reader = bytes.NewReader(text)
	res := &http.Response{ContentLength: int64(len(text)), Body: io.NopCloser(in)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	answer, err := readAnswer(res)
	if err != nil {
		t.Fatal(err)
	}

	var got api.Result
	if err := decode(answer, &got); err != nil || len(got.Stdout) != size {
		t.Fatalf("%v, %d bytes", err, len(got.Stdout))
	}

	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 9*size/4 {
		t.Errorf("%d bytes were allocated for %d and their JSON", took, size)
	}

	short := &http.Response{ContentLength: 2 << 20, Body: io.NopCloser(bytes.NewReader(text[:1<<20]))}
	if _, err := readAnswer(short); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half of an answer: %v", err)
	}
}
