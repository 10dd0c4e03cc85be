package judge0

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	manifests "github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
)

func TestExchanges(t *testing.T) { dialecttest.Golden(t, Dialect, 50) }

// Every language of the table is one of brig's, which takes the name of its source for one, and has a place for options
// and libraries where the table says so.
func TestLanguagesAreThoseOfBrig(t *testing.T) {
	known, err := manifests.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	seen := map[int]bool{}
	for _, of := range languages {
		if seen[of.id] {
			t.Errorf("%d is there twice", of.id)
		}
		seen[of.id] = true
		for _, name := range of.brig {
			m, err := known.ByName(name)
			if err != nil {
				t.Errorf("%d: %v", of.id, err)
				continue
			}
			source := of.file
			if of.verbatim {
				source = "run.sh"
			}
			if !m.IsSource(source) {
				t.Errorf("%d: %s is no source of %s", of.id, source, name)
			}
			if got := m.CheckFreeFlags(api.FreeFlags{Compile: []string{"-x"}}) == nil; got != of.options {
				t.Errorf("%d: %s has a place for options: %v", of.id, name, got)
			}
			if got := m.CheckFreeFlags(api.FreeFlags{Link: []string{"-x"}}) == nil; got != of.linked {
				t.Errorf("%d: %s has a place for libraries: %v", of.id, name, got)
			}
		}
	}
	if len(seen) < 30 {
		t.Errorf("%d languages", len(seen))
	}
}

// stateOf is the state of a submission that has ended.
func stateOf(t *testing.T, q submission, results ...api.Result) dialect.State {
	t.Helper()
	about, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 30, 1, 2, 3, 4e6, time.UTC)
	return dialect.State{Token: "t", About: about, Created: at, Started: at, Ended: at, Results: results}
}

// A failure of brig after the token, whatever its code is, is an internal error with its reason. None is an answer.
func TestNoFailureIsAnAnswer(t *testing.T) {
	for _, code := range append(api.CodeInternal.Values(), "a-code-of-the-future") {
		s := stateOf(t, submission{Expected: []byte("1")})
		s.Problem = &api.Problem{Code: code, Detail: "why"}
		o, ok := told(s, parameters{fields: []string{"status", "message", "stdout", "time"}})
		text, err := json.Marshal(o)
		want := `{"stdout":null,"time":null,"message":"why","status":{"id":13,"description":"Internal Error"}}`
		if !ok || err != nil || string(text) != want {
			t.Errorf("%s: %s, %v", code, text, err)
		}
	}

	// Output that is not all there is compared with nothing.
	cut := api.Result{Verdict: api.OK, Stage: api.StageRun, Stdout: api.Bytes("1"), StdoutTruncated: true}
	for _, expected := range []string{"1", "2"} {
		if e := endOf(cut, submission{Expected: []byte(expected)}); e.status != internal {
			t.Errorf("expected %s: %+v", expected, e)
		}
	}
}

// Every verdict has one of the statuses of a submission that has ended, and only an exit with 0 is accepted or wrong.
func TestStatuses(t *testing.T) {
	for _, verdict := range api.Verdicts() {
		for _, res := range []api.Result{{}, {ExitCode: 1}, {ExitCode: -1, Signal: 11}, {ExitCode: -1, Signal: 25},
			{ExitCode: -1, Signal: 8}, {ExitCode: -1, Signal: 6}, {ExitCode: -1, Signal: 9}, {Denial: new(api.Denial)}} {
			res.Verdict = verdict
			for _, q := range []submission{{}, {Expected: []byte("1")}} {
				e := endOf(res, q)
				compared := e.status == accepted || e.status == wrong
				said := e.message != nil
				if e.status < accepted || e.status > internal || compared != (verdict == api.OK) ||
					said == (compared || e.status == compilation) {
					t.Errorf("%s %+v: %+v", verdict, res, e)
				}
			}
		}
	}

	for signal, want := range map[int]int{11: 7, 25: 8, 8: 9, 6: 10, 9: 12, 4: 12, 31: 12} {
		if e := endOf(api.Result{Verdict: api.Signaled, Signal: signal}, submission{}); e.status != want {
			t.Errorf("signal %d is %+v", signal, e)
		}
	}
}

// Outputs are compared without spaces at the ends of lines, and without empty lines at the end.
func TestComparison(t *testing.T) {
	for _, tt := range []struct {
		out, expected string
		want          int
	}{
		{"1\n", "1", accepted}, {"1", "1\n\n", accepted}, {"a \t\nb\r\n \n", "a\nb", accepted}, {"a\n\nb", "a\n\nb", accepted},
		{"", "", accepted}, {" ", "\n", accepted}, {"\xff\n", "\xff", accepted}, {"1\x00", "1", accepted},
		{" 1", "1", wrong}, {"a\n\nb", "a\nb", wrong}, {"a  b", "a b", wrong}, {"A", "a", wrong}, {"", "1", wrong}, {"1", "", wrong},
	} {
		e := endOf(api.Result{Verdict: api.OK, Stdout: api.Bytes(tt.out)}, submission{Expected: []byte(tt.expected)})
		if e.status != tt.want {
			t.Errorf("%q and %q: %d", tt.out, tt.expected, e.status)
		}
	}
}

// Base64 is written and read as Ruby does: the wanted texts are Ruby's.
func TestBase64(t *testing.T) {
	for content, want := range map[string]string{
		"": "", "hi": "aGk=\n", strings.Repeat("a", 45): strings.Repeat("YWFh", 15) + "\n",
		strings.Repeat("a", 46): strings.Repeat("YWFh", 15) + "\nYQ==\n", "\x00\xff": "AP8=\n",
	} {
		got := encode([]byte(content))
		if got != want {
			t.Errorf("%q is %q; want %q", content, got, want)
		}
		if back := string(decode(got)); back != content {
			t.Errorf("%q comes back as %q", content, back)
		}
	}
	for text, want := range map[string]string{
		"aGk": "hi", "a G\nk=": "hi", "YQ==YWI=": "a", "a": "", "ab": "i", "aGVs!bG8=": "hello", "": "", "====": "",
	} {
		if got := string(decode(text)); got != want {
			t.Errorf("%q is %q; want %q", text, got, want)
		}
	}
}

// A number has a fraction, as the original writes its decimals.
func TestDecimals(t *testing.T) {
	for v, want := range map[float64]string{0: "0.0", 5: "5.0", 0.152: "0.152", 20: "20.0", 0.001: "0.001"} {
		if got := decimal(v).String(); got != want {
			t.Errorf("%v is %s; want %s", v, got, want)
		}
	}
	if got := inSeconds(152_400_000).String(); got != "0.152" {
		t.Error(got)
	}
}

// The settings name all fields that clients want, and no bound that a run may not have.
func TestConfig(t *testing.T) {
	for _, ceiling := range []api.Limits{{}, api.DefaultCeiling(), {Wall: api.Duration(time.Second / 2), CPU: api.Duration(time.Second / 4),
		Memory: api.MiB, Pids: 3, Output: api.KiB, Stack: api.MiB}} {
		var all map[string]any
		plan := planConfig(dialect.Request{}, dialect.Agent{Ceiling: ceiling})
		if err := json.Unmarshal(plan.Answer.Body, &all); err != nil || len(all) != 39 {
			t.Errorf("%d fields, %v", len(all), err)
		}
	}
}

// What is planned is a run that brig accepts as valid, unless its files or arguments are out of bounds, and every
// request gets a plan that is a submission or a refusal. Whatever state it has, it can be told.
func FuzzCreate(f *testing.F) {
	for _, body := range []string{
		`{"source_code":"cHJpbnQoMSk=","language_id":71,"base64_encoded":"true","expected_output":"MQ=="}`,
		`{"source_code":"x","language_id":"50","compiler_options":"-O2 -lm -DA='b c'","number_of_runs":3,"memory_limit":"2048.5"}`,
		`{"source_code":"x","language_id":44,"cpu_time_limit":0,"stack_limit":0,"max_file_size":0,"wait":"true","fields":"*"}`,
		`{"submissions":[{"source_code":"x","language_id":54},{},7]}`, `{"source_code":[],"language_id":{}}`, `[]`, `null`, ``, `{"a`,
		`{"source_code":"x","language_id":1e999,"wall_time_limit":"-1e999","fields":"a,b,"}`,
	} {
		f.Add([]byte(body), true)
		f.Add([]byte(body), false)
	}

	on := dialecttest.StandardAgent()
	f.Fuzz(func(t *testing.T, body []byte, encoded bool) {
		query := map[string][]string{"base64_encoded": {map[bool]string{true: "true", false: "false"}[encoded]}}
		for _, plan := range []func(dialect.Request, dialect.Agent) dialect.Plan{planCreate, planCreateBatch} {
			p := plan(dialect.Request{Body: body, Query: query}, on)
			if p.Answer != nil {
				if !json.Valid(p.Answer.Body) || p.Answer.Status < 400 {
					t.Fatalf("%q is answered with %d %s", body, p.Answer.Status, p.Answer.Body)
				}
				continue
			}

			var states []dialect.State
			for _, s := range p.Submit.All {
				run := s.Runs[0]
				if err := run.Validate(); err != nil && !api.HasCode(err, api.CodeBadFile, api.CodeTooLarge, api.CodeBadRequest) {
					t.Fatalf("%q is not valid: %v", body, err)
				}
				if _, stored := on.Find(run.Language); !stored || len(s.Runs) > 20 || run.Limits.Wall <= 0 || run.Limits.Memory <= 0 ||
					run.Limits.Within(on.Ceiling) != nil {
					t.Fatalf("%q: %+v", body, run)
				}
				res := api.Result{Verdict: api.OK, Stage: api.StageRun, Stdout: api.Bytes("\xff<")}
				s.Enough(res)
				states = append(states, dialect.State{Token: "t", About: s.About, Ended: time.Now(), Results: []api.Result{res}})
			}
			if told := p.Submit.Tell(states); told.Status != 201 || !json.Valid(told.Body) {
				t.Fatalf("%q is told as %d %s", body, told.Status, told.Body)
			}
		}
	})
}

func BenchmarkPlan(b *testing.B) {
	on := dialecttest.StandardAgent()
	body := []byte(`{"source_code":"print(1)","language_id":71,"stdin":"1","expected_output":"1"}`)
	for b.Loop() {
		if p := planCreate(dialect.Request{Body: body}, on); p.Answer != nil {
			b.Fatal(string(p.Answer.Body))
		}
	}
}
