package decode_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

const small = `{"image":"tiny","argv":["true"]}`

// code returns the code of one of our errors.
func code(err error) api.Code {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return "not an *api.Error"
}

func TestDecodeRunIsStrict(t *testing.T) { // API-04
	deep := strings.Repeat("[", 100_000)
	for _, tt := range []struct {
		name string
		in   string
		ok   bool
	}{
		{"a small run", small, true},
		{"white space around it", " \r\n\t" + small + "\n ", true},
		{"env names are the caller's own", `{"image":"a","argv":["b"],"env":{"Path":"1","PATH":"2","é":"3","\u00e8":"4"}}`, true},
		{"env names of an interactor, too", `{"image":"a","argv":["b"],"tests":[{"id":"1"}],"interactor":{"image":"a","argv":["b"],"protocol":"none","env":{"Path":"1","PATH":"2","é":"3","\u00e8":"4"}}}`, true},
		{"strings with quotes, braces and escapes", `{"image":"a","argv":["\\\"","{\"x\":[","\\\\"]}`, true},
		{"bytes that are not text", `{"language":"a","source":{"base64":"/w=="}}`, true},

		{"nothing", ``, false},
		{"white space only", "  \n", false},
		{"something else than an object", `[1]`, false},
		{"a string", `"run"`, false},
		{"cut short", `{"image":"tiny","argv":["tr`, false},
		{"cut short in an escape", `{"image":"tiny\`, false},
		{"an unknown field", `{"image":"tiny","argv":["true"],"host_path":"/"}`, false},
		{"an unknown field further in", `{"image":"tiny","argv":["true"],"limits":{"memry":1}}`, false},
		{"another object after it", small + small, false},
		{"rubbish after it", small + "x", false},
		{"NUL after it", small + "\x00", false},
		{"a field twice", `{"image":"a","argv":["b"],"image":"c"}`, false},
		{"a field twice, further in", `{"image":"a","argv":["b"],"limits":{"pids":1,"wall":"1s","pids":100}}`, false},
		{"a field twice in a list", `{"image":"a","argv":["b"],"files":[{"name":"a","content":""},{"name":"b","name":"c","content":""}]}`, false},
		{"an env name twice", `{"image":"a","argv":["b"],"env":{"A":"1","A":"2"}}`, false},
		{"an env name twice, spelled differently", `{"image":"a","argv":["b"],"env":{"A":"1","\u0041":"2"}}`, false},
		{"a field in another case", `{"Image":"a","argv":["b"]}`, false},
		{"a field in both cases", `{"image":"a","argv":["b"],"ARGV":["c"]}`, false},
		{"a field spelled with an escape", `{"\u0069mage":"a","argv":["b"]}`, false},
		{"a field that folds to another (Kelvin sign)", "{\"image\":\"a\",\"argv\":[\"b\"],\"networ\u212a\":\"none\"}", false},
		{"nested without end", deep, false},
		{"nested without end in a field", `{"argv":` + deep, false},
		{"a number where text belongs", `{"image":1,"argv":["b"]}`, false},
		{"text where a number belongs", `{"image":"a","argv":["b"],"limits":{"pids":"1"}}`, false},
		{"a fraction of a process", `{"image":"a","argv":["b"],"limits":{"pids":1.5}}`, false},
		{"2^63 processes (PID-15)", `{"image":"a","argv":["b"],"limits":{"pids":9223372036854775808}}`, false},
		{"1e400 processors (CPU-10)", `{"image":"a","argv":["b"],"limits":{"cpus":1e400}}`, false},
		{"NaN processors (CPU-10)", `{"image":"a","argv":["b"],"limits":{"cpus":NaN}}`, false},
		{"a wall without a unit (CPU-10)", `{"image":"a","argv":["b"],"limits":{"wall":5}}`, false},
		{"2^63 ns of wall (CPU-10)", `{"image":"a","argv":["b"],"limits":{"wall":"9223372036854775808ns"}}`, false},
		{"a uid of -1 (CAP-06)", `{"image":"a","argv":["b"],"uid":-1}`, false},
		{"a uid of 2^31 (CAP-06)", `{"image":"a","argv":["b"],"uid":2147483648}`, false},
		{"a gid of 2^32 (CAP-06)", `{"image":"a","argv":["b"],"gid":4294967296}`, false},
		{"a user of 2^32 and 1000 (CAP-06)", `{"image":"a","argv":["b"],"user":"4294968296:0x0"}`, false},
		{"any uid at all: there is one, and it is no wish (CAP-06)", `{"image":"a","argv":["b"],"uid":1000}`, false},
		{"zero memory", `{"image":"a","argv":["b"],"limits":{"memory":0}}`, false},
		{"bytes that are not UTF-8, which would be replaced in silence", "{\"image\":\"a\",\"argv\":[\"\xff\"]}", false},
		{"a byte order mark", "\ufeff" + small, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run, err := decode.Run([]byte(tt.in))
			if tt.ok && err != nil || !tt.ok && code(err) != api.CodeBadRequest {
				t.Errorf("%+v, %v; want accepted: %v", run, err, tt.ok)
			}
		})
	}
}

// JSON with too many entries is refused before any entry takes memory: three megabytes of JSON with
// tests took a gigabyte.
func TestDecodeRefusesManyEntriesAtOnce(t *testing.T) {
	const manyLists = `"tests":[{"args":["`
	for _, field := range []string{`"tests":[{}`, `"files":[{}`, `"argv":[""`, `"env":{"A":""`, `"tests":[{"args":[""`, manyLists} {
		more := strings.Repeat(","+field[strings.LastIndexAny(field, "[{")+1:], 1<<20)
		if strings.HasSuffix(field, "{}") {
			more = strings.Repeat(",{}", 1<<20)
		}
		if strings.HasPrefix(field, `"env"`) { // a name that is given twice is another error
			var names strings.Builder
			for i := range 1 << 20 {
				fmt.Fprintf(&names, `,"A%d":""`, i)
			}
			more = names.String()
		}
		if field == manyLists { // none of the lists is long
			more = strings.Repeat(`"`+strings.Repeat(`,""`, 8000)+`]},{"args":["`, 530)
		}

		body := []byte(`{"image":"tiny",` + field + more)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decode.Run(body)
		runtime.ReadMemStats(&after)
		if code(err) != api.CodeBadRequest || !strings.Contains(err.Error(), "entries") {
			t.Errorf("%s: %v", field, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(body)) {
			t.Errorf("%s: %d bytes were allocated for a body of %d", field, took, len(body))
		}
	}

	run := api.Run{Image: "tiny", Argv: []string{"true"}, Tests: make([]api.Test, api.MaxTests+1)}
	text, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	if run, err = decode.Run(text); err != nil {
		t.Fatal(err)
	}
	if err := run.Validate(); err == nil || !strings.Contains(err.Error(), "the maximum is") {
		t.Errorf("one test too many: %v", err)
	}
}

// API-15: JSON that is refused for its form costs little more than accepted JSON, wherever the
// error is. An element-by-element search for the error took seven times the memory and six times
// the processor time.
func TestDecodeErrorCostsNoMoreThanDecoding(t *testing.T) {
	one := `{"args":[` + strings.Repeat(`"",`, 1000) + `""]}`
	many := `{"language":"python","source":"1","tests":[` + strings.Repeat(one+",", 999)
	allocated := func(body string) (took uint64, err error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = decode.Run([]byte(body))
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc, err
	}

	taken, err := allocated(many + one + `]}`)
	if err != nil {
		t.Fatal(err)
	}

	for end, want := range map[string]string{
		one + `],"nosuch":1}`:                              `unknown field "nosuch"`,
		one + `],"limits":{"pids":"1"}}`:                   "limits.pids: write a whole number",
		`{"args":[` + strings.Repeat(`"",`, 900) + `1]}]}`: "tests[999].args[900]: write text in quotes, not 1",
		one + `],"memory":[` + one + `]}`:                  "unknown field \"memory\"",
		one + ` , {"id":"x"} ] , "argv" : { } }`:           "argv: write a list",
	} {
		took, err := allocated(many + end)
		if code(err) != api.CodeBadRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
		if took > taken*5/4 {
			t.Errorf("%s: %d bytes were allocated, and %d where all fits", want, took, taken)
		}
	}
}

func TestDecodeRunTakesLinearTime(t *testing.T) {
	// A search for the closing quote from every escape would take minutes.
	long := `{"language":"python","source":"` + strings.Repeat(`\n`, 4<<20) + `"}`
	run, err := decode.Run([]byte(long))
	if err != nil || len(run.Source) != 4<<20 {
		t.Errorf("%d bytes, %v; want %d", len(run.Source), err, 4<<20)
	}
}

// oneMeaning checks that accepted JSON has exactly one meaning: encoded and decoded again, the
// value is the same, and Validate, if the type has it, does not panic and returns our own errors.
func oneMeaning[T any](t *testing.T, in []byte, what string) {
	t.Helper()
	v, err := decode.Value[T](in, what)
	if err != nil {
		if code(err) != api.CodeBadRequest {
			t.Fatalf("refused with %q: %v", code(err), err)
		}
		return
	}

	judged := validate(v)
	if judged != nil && code(judged) == "not an *api.Error" {
		t.Fatalf("Validate: %v", judged)
	}

	out, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}

	again, err := decode.Value[T](out, what)
	if err != nil {
		t.Fatalf("%s is refused: %v", out, err)
	}

	twice, err := json.Marshal(again)
	if err != nil || string(twice) != string(out) || validate(again) == nil != (judged == nil) {
		t.Fatalf("%s became %s (%v), equal: %v", out, twice, err, reflect.DeepEqual(v, again))
	}
}

func validate(v any) error {
	if v, can := v.(interface{ Validate() error }); can {
		return v.Validate()
	}
	return nil
}

func FuzzRunDecode(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(`{"language":"python","source":"print(1)\n","argv":["a","\u0000"],"env":{"A":"b"},"limits":{"memory":"64M","wall":"1.5s","cpus":0.5},"files":[{"name":"a/b","content":{"base64":"/w=="},"executable":true}],"collect":{"globs":["*"]},"tests":[{"id":"1","expected":"x"}]}`))
	f.Add([]byte(`{"image":"a","argv":["b"],"Image":"c"}`))
	f.Fuzz(func(t *testing.T, in []byte) { oneMeaning[api.Run](t, in, "run") })
}

// FuzzSessionDecode decodes requests for sessions and for execs in them.
func FuzzSessionDecode(f *testing.F) {
	f.Add([]byte(`{"language":"python","labels":{"project":"p","task":"t"},"limits":{"memory":"64M","scratch":"16M"},"exec_limits":{"wall":"1.5s"},"idle":"5m","life":"1h","volume":{"name":"v","size":"64M","read_only":true}}`))
	f.Add([]byte(`{"argv":["sh","-c","true"],"stdin":{"base64":"/w=="},"env":{"A":"b"},"limits":{"cpu":"1s"},"collect":{"globs":["*"]}}`))
	f.Add([]byte(`{"source":"print(1)","source_name":"a.py","interactive":true}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		oneMeaning[api.SessionRequest](t, in, "session")
		oneMeaning[api.Exec](t, in, "exec")
	})
}

func FuzzCheckDecode(f *testing.F) {
	f.Add([]byte(`{"language":"python","source":"eval(x)\n","source_name":"a/b.py"}`))
	f.Add([]byte(`{"language":"c","source":{"base64":"/w=="},"Source":"x"}`))
	f.Fuzz(func(t *testing.T, in []byte) { oneMeaning[api.CheckRequest](t, in, "check") })
}

func BenchmarkParseRun(b *testing.B) {
	in := []byte(`{"image":"tiny","argv":["/bin/true"],"limits":{"wall":"1s","memory":67108864},"labels":{"project":"p"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode.Run(in); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDecodeErrorNamesTheField(t *testing.T) {
	for text, want := range map[string]string{
		`{"image":"i","argv":["a"],"limits":{"wall":"-1s"}}`: "limits.wall: duration \"-1s\": must be positive and less than 292 years",
		`{"image":"i","argv":["a"],"limits":{"memory":"much"}}`: "limits.memory: size \"much\": write a number with " +
			"an optional K, M, G or T, such as 512M",
		`{"image":"i","argv":["a"],"limits":{"cpus":"two"}}`:  `limits.cpus: write a number, such as 1.5, not "two"`,
		`{"image":"i","limits":{"pids":"1"}}`:                 `limits.pids: write a whole number, such as 64, not "1"`,
		`{"image":"i","limits":{"pids":1.5}}`:                 `limits.pids: write a whole number, such as 64, not 1.5`,
		`{"image":"i","limits":{"pids":9223372036854775808}}`: `limits.pids: write a whole number that fits into 64 bits, not 9223372036854775808`,
		`{"image":7}`:               `image: write text in quotes, not 7`,
		`{"stop_at_failure":"yes"}`: `stop_at_failure: write true or false, not "yes"`,
		`{"argv":"ls -l"}`:          `argv: write a list such as ["a", "b"], not "ls -l"`,
		`{"files":{"a":"b"}}`:       `files: write a list such as [{"name": ...}], not {"a":"b"}`,
		`{"limits":[]}`:             `limits: write an object in { }, not []`,
		`{"env":{"A":1}}`:           `env.A: write text in quotes, not 1`,
		`{"tests":[{"id":"1"},{"id":"2","limits":{"wall":1}}]}`: `tests[1].limits.wall: duration 1: write a string with a unit, such as "1.5s"`,
		`[{"image": "tiny", "argv": ["true", "or", "false"]}]`:  `write an object in { }, not [{"image": "tiny", "argv": ["true", "or"...`,
		`{"image":"i","source":{"base64":"not base64!"}}`:       "source: content: base64: illegal base64 data at input byte 3",
	} {
		if _, err := decode.Run([]byte(text)); err == nil || err.Error() != "decode run: "+want {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// An empty source is a program, also when it is sent to the agent; null means no source.
func TestAnEmptySourceIsAProgram(t *testing.T) {
	for text, given := range map[string]bool{
		`{"language":"c","source":""}`: true, `{"language":"c","source":{"base64":""}}`: true,
		`{"language":"c","source":null}`: false, `{"language":"c"}`: false,
	} {
		run, err := decode.Run([]byte(text))
		if err != nil || (run.Source != nil) != given || (run.Validate() == nil) != given {
			t.Errorf("%s: source %#v, %v, %v; want one: %v", text, run.Source, err, run.Validate(), given)
		}

		sent, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}

		again, err := decode.Run(sent)
		if err != nil || (again.Source != nil) != given {
			t.Errorf("%s, sent as %s: source %#v, %v", text, sent, again.Source, err)
		}

		exec, err := decode.Value[api.Exec]([]byte(strings.Replace(text, `"language":"c"`, `"env":{}`, 1)), "exec")
		if err != nil || (exec.Source != nil) != given || (exec.Validate() == nil) != given {
			t.Errorf("%s, as an exec: %#v, %v, %v", text, exec.Source, err, exec.Validate())
		}
	}
}

func TestATestWithoutAnIDGetsItsNumber(t *testing.T) {
	run, err := decode.Run([]byte(`{"language":"python","source":"x","tests":[{"stdin":"a"},{"id":"given"},{"id":"","expected":"b"}]}`))
	if err != nil || run.Validate() != nil || len(run.Tests) != 3 || run.Tests[0].ID != "1" || run.Tests[1].ID != "given" ||
		run.Tests[2].ID != "3" {
		t.Errorf("%+v, %v, %v; want tests 1, given and 3", run.Tests, err, run.Validate())
	}
	for _, ids := range []string{`[{"id":"2"},{}]`, `[{},{"id":"1"}]`} {
		run, err := decode.Run([]byte(`{"language":"python","source":"x","tests":` + ids + `}`))
		if err != nil || code(run.Validate()) != api.CodeBadRequest ||
			!strings.Contains(run.Validate().Error(), "is given twice: use unique ids") {
			t.Errorf("%s: %v, %v; want a name given twice", ids, err, run.Validate())
		}
	}
}

func TestDecodeSuggestsTheRightField(t *testing.T) {
	run := func(raw []byte) error { _, err := decode.Run(raw); return err }
	exec := func(raw []byte) error { _, err := decode.Value[api.Exec](raw, "run"); return err }
	execute := func(raw []byte) error { _, err := decode.Value[api.Execute](raw, "run"); return err }
	for _, tt := range []struct {
		parse func([]byte) error
		text  string
		want  string
	}{
		{run, `{"language":"python","code":"print(1)"}`, `unknown field "code": here it is called source`},
		{exec, `{"code":"print(1)"}`, `unknown field "code": here it is called source`},
		{execute, `{"source":"print(1)"}`, `unknown field "source": here it is called code`},
		{run, `{"project":"p"}`, `unknown field "project": put it into labels`},
		{run, `{"task":"t"}`, `unknown field "task": put it into labels`},
		{run, `{"memory":"64M"}`, `unknown field "memory": put it into limits`},
		{run, `{"timeout":"1s"}`, `unknown field "timeout": here it is called limits.wall`},
		{execute, `{"timeout":1}`, `unknown field "timeout": here it is called timeout_seconds`},
		{run, `{"limits":{"memry":1}}`, `limits: unknown field "memry": did you mean memory?`},
		{run, `{"limits":{"memoyr":1}}`, `limits: unknown field "memoyr": did you mean memory?`},
		{run, `{"lang":"python"}`, `unknown field "lang": did you mean language?`},
		{run, `{"args":["a"]}`, `unknown field "args": did you mean argv?`},
		{run, `{"tests":[{"id":"1"},{"id":"2","output":"3"}]}`, `tests[1]: unknown field "output": here it is called expected`},
		{run, `{"labels":{"owner":"me"}}`, `labels: unknown field "owner": the fields here are project, task, run`},
		{exec, `{"files":[]}`,
			`unknown field "files": the fields here are source, source_name, argv, stdin, env, limits, collect, interactive, ` +
				`merge_stderr, tty, resident, control, timeline`},
		{run, `{"labels":{"` + strings.Repeat("a", 100) + `":1}}`,
			`labels: unknown field "` + strings.Repeat("a", 80) + `": the fields here are project, task, run`},
	} {
		if err := tt.parse([]byte(tt.text)); code(err) != api.CodeBadRequest || err.Error() != "decode run: "+tt.want {
			t.Errorf("%s: %v; want %q", tt.text, err, tt.want)
		}
	}
}

// null is accepted only as the value of a field, and means that the field is absent.
func TestDecodeAcceptsNullOnlyAsAnAbsentField(t *testing.T) {
	for text, want := range map[string]string{
		`{"env":{"A":"1","B":null}}`:                   "env.B is null: write its value, or leave it out",
		`{"argv":["a",null]}`:                          "an element of argv is null: write its value, or leave it out",
		`{"files":[null]}`:                             "an element of files is null: write its value, or leave it out",
		`{"tests":[{"args":[ null ]}]}`:                "an element of args is null: write its value, or leave it out",
		`{"collect":{"globs":["a",null]},"image":"i"}`: "an element of globs is null: write its value, or leave it out",
		`[null]`: "an element of the list is null: write its value, or leave it out",
		`{"image":"null","argv":["null"],"env":{"a":"null"}}`:                                                     "",
		`{"image":"i","language":null,"env":null,"tests":[{"id":"n","expected":null}],"limits":null,"argv":null}`: "",
	} {
		_, err := decode.Run([]byte(text))
		if want == "" && err != nil || want != "" && (code(err) != api.CodeBadRequest || err.Error() != "decode run: "+want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}

	if _, err := decode.Value[api.Execute]([]byte(`{"code":"x","files":{"a":null}}`), "request"); err == nil ||
		!strings.Contains(err.Error(), "files.a is null") {
		t.Errorf("a file: %v", err)
	}
}

// Names of metadata are the caller's own.
func TestDecodeMetadata(t *testing.T) {
	s, err := decode.Value[api.SessionRequest]([]byte(`{"image":"a","metadata":{"A:b":"c","é":"d"}}`), "session")
	if err != nil || s.Metadata["A:b"] != "c" || s.Metadata["é"] != "d" {
		t.Errorf("%v, %v", s.Metadata, err)
	}
}
