package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// text is hostile in every place: SQL, quotes, NUL, bytes that are not UTF-8.
const text = "'); DROP TABLE runs; -- \" ` ? :x @x $x % _ \x00 after\xff\xfe \u2028 ü 🧨\n"

func TestEveryFieldComesBackAsItWas(t *testing.T) {
	cpu, memory := int64(7), int64(9)
	want := api.Record{
		ID: "id" + text, Owner: "owner" + text, Project: "project" + text, Task: "task" + text, Run: "run" + text,
		Language: "language" + text, Image: "image" + text,
		Verdict: api.Verdict("verdict" + text), Message: "message" + text, Stage: api.Stage("stage" + text), Created: epoch,
		Queued: 1, Wall: 2, CPU: &cpu, Memory: &memory, ExitCode: -1, Signal: 11, SourceSize: 5,
		Diagnosis: json.RawMessage(`{"a":1}`), Findings: json.RawMessage(`[2]`), Detail: json.RawMessage(`"\u0000'"`),
		Stdout: api.Bytes(text), Stderr: api.Bytes{0, 255, 0}, StdoutTruncated: true, StderrTruncated: true, Cut: true,
		Summary: &api.Summary{Tests: 3, Ran: 2, Accepted: 1, Verdict: api.OK, Answer: api.WrongAnswer, FirstFailed: "'1\x00ü", MaxCPU: 1,
			MaxWall: 2, MaxMemory: 3},
	}

	s := fresh(t, RetentionLimits{})
	failed := record("failed", func(r *api.Record) { r.Verdict, r.Code, r.Owner = "", api.CodeBusy, want.Owner })
	add(t, s, want, failed)
	whose := Scope{Owner: want.Owner}
	got, err := s.Get(t.Context(), whose, want.ID)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	if got, err := s.Get(t.Context(), whose, "failed"); err != nil || !reflect.DeepEqual(got, failed) {
		t.Errorf("got %+v, %v; want %+v", got, err, failed)
	}

	page, _, err := s.List(t.Context(),
		Filter{Scope: whose, Project: want.Project, Task: want.Task, Run: want.Run, Language: want.Language,
			Verdicts: []api.Verdict{want.Verdict}})
	short := want
	short.Stdout, short.Stderr, short.Detail, short.Findings = nil, nil, nil, nil
	if err != nil || len(page) != 1 || !reflect.DeepEqual(page[0], short) {
		t.Errorf("listed %+v, %v; want %+v", page, err, short)
	}

	st, err := s.Stats(t.Context(), Filter{Scope: whose})
	if err != nil || st.Runs != 2 || st.Errors != 1 || len(st.Tasks) != 2 || st.Tasks[1].Name != want.Task ||
		st.Tasks[1].Project != want.Project {
		t.Errorf("statistics %+v, %v", st, err)
	}

	alert := api.Alert{Time: epoch, Kind: api.AlertKind("kind" + text), Owner: want.Owner, Project: want.Project,
		Run: want.ID, Text: "text" + text}
	if err := s.AddAlert(t.Context(), alert); err != nil {
		t.Fatal(err)
	}
	if got, _, err := s.Alerts(t.Context(), Filter{Scope: whose, Project: want.Project}); err != nil || len(got) != 1 || got[0] != alert {
		t.Errorf("alerts %+v, %v; want %+v", got, err, alert)
	}
}

func TestRecordsThatMakeNoSenseAreRefused(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	for name, change := range map[string]func(*api.Record){
		"no id":               func(r *api.Record) { r.ID = "" },
		"neither":             func(r *api.Record) { r.Verdict = "" },
		"verdict and error":   func(r *api.Record) { r.Code = api.CodeBusy },
		"no time":             func(r *api.Record) { r.Created = time.Time{} },
		"a name of 2 KiB":     func(r *api.Record) { r.Task = strings.Repeat("x", 2048) },
		"detail is no JSON":   func(r *api.Record) { r.Detail = json.RawMessage("{") },
		"empty is no JSON":    func(r *api.Record) { r.Findings = json.RawMessage("") },
		"the same id, stored": func(r *api.Record) { r.ID = "twice" },
	} {
		if strings.HasPrefix(name, "the same") {
			add(t, s, record("twice"))
		}
		var refused *api.Error
		if err := s.Add(t.Context(), record("x", change)); !errors.As(err, &refused) || refused.Code != api.CodeBadRequest || refused.RetrySafe {
			t.Errorf("%s: %v", name, err)
		}
	}

	if err := s.AddAlert(t.Context(), api.Alert{Kind: api.Segfault}); err == nil {
		t.Error("an alert without a time is stored")
	}
	if page, _, err := s.List(t.Context(), Filter{}); err != nil || len(page) != 1 {
		t.Errorf("stored: %v, %v", ids(page), err)
	}
}

func TestStreamsAreCutBetweenCharacters(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		n        int
		want     string
		cut      bool
	}{
		{"short", "abc", 3, "abc", false},
		{"plain", "abcd", 3, "abc", true},
		{"before a character", "abü", 3, "ab", true},
		{"behind a character", "aüb", 3, "aü", true},
		{"within four bytes", "a🧨", 4, "a", true},
		{"binary stays", "\xff\xff\xff\xff", 3, "\xff\xff\xff", true},
		{"only continuation", "\x80\x80\x80\x80\x80", 4, "\x80\x80\x80\x80", true},
		{"nothing is kept", "ü", 0, "", true},
	} {
		if got, was := cut(api.Bytes(tt.in), tt.n, false); string(got) != tt.want || was != tt.cut {
			t.Errorf("%s: %q, %v; want %q, %v", tt.name, got, was, tt.want, tt.cut)
		}
	}
}

func TestLongFieldsAreCutAndMarked(t *testing.T) {
	s := fresh(t, RetentionLimits{})
	long := bytes.Repeat([]byte{'"'}, 1<<20)
	quoted, err := json.Marshal(string(long))
	if err != nil {
		t.Fatal(err)
	}

	add(t, s, record("long", func(r *api.Record) {
		r.Stdout, r.Stderr, r.Message, r.Diagnosis, r.Detail, r.Findings = long, []byte("short"), string(long), quoted, quoted, quoted
	}))
	got, err := s.Get(t.Context(), Scope{}, "long")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Stdout) != int(MaxStream) || !got.StdoutTruncated || string(got.Stderr) != "short" || got.StderrTruncated {
		t.Errorf("stdout %d %v, stderr %q %v", len(got.Stdout), got.StdoutTruncated, got.Stderr, got.StderrTruncated)
	}
	if len(got.Message) != int(maxMessage) || got.Diagnosis != nil || got.Detail != nil || got.Findings != nil || !got.Cut {
		t.Errorf("message %d, diagnosis %d, detail %d, findings %d, cut %v", len(got.Message), len(got.Diagnosis), len(got.Detail),
			len(got.Findings), got.Cut)
	}
}

// result makes a result with that many tests, each with that many bytes of output.
func result(tests, output int) api.Result {
	r := api.Result{
		Run: "r", Verdict: api.Signaled, Stage: api.StageRun, LimitsHit: []string{},
		Usage:  api.Usage{CPU: api.Known(3, "wait4"), Memory: api.Unknown("nobody looked")},
		Timing: api.Timing{Queued: 1, Wall: 2}, Labels: api.Labels{Project: "p", Task: "t", Run: "x"}, Host: api.Host{Image: "sha256:x"},
		Stdout: api.Bytes("out"), Stderr: api.Bytes("err"), StderrTruncated: true,
		Files:   []api.File{{Name: "made", Content: api.Bytes("secret")}},
		Compile: &api.Compilation{Key: "k", Stderr: bytes.Repeat([]byte("w"), 8<<10)},
	}

	for range tests {
		one := api.Result{Verdict: api.Signaled, ExitCode: -1, Signal: sigsegv, Stdout: bytes.Repeat([]byte("o"), output),
			Stderr: bytes.Repeat([]byte{0}, output),
			Files:  []api.File{{Name: "made", Content: api.Bytes("secret")}}}
		r.Tests = append(r.Tests, api.TestResult{ID: "test", Result: one})
	}

	r.Summary = &api.Summary{Tests: tests}
	return r
}

func TestRecordOfAResult(t *testing.T) {
	for _, tt := range []struct {
		name          string
		tests, output int
		kept          bool // all tests, all outputs
		left          int  // tests
	}{
		{"no tests", 0, 0, true, 0},
		{"few tests", 3, 1000, true, 3},
		{"much output", 3, 1 << 20, false, 3},
		{"many tests", 4096, 10, false, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := result(tt.tests, tt.output)
			rec := NewRecord(r)
			if rec.ID != "r" || rec.Project != "p" || rec.Task != "t" || rec.Run != "x" || rec.Image != "sha256:x" || rec.Verdict != api.Signaled ||
				rec.Queued != 1 || rec.Wall != 2 ||
				*rec.CPU != 3 || rec.Summary == nil != (r.Summary == nil) || rec.Summary.Tests != r.Summary.Tests ||
				len(rec.Summary.Outcomes) != min(tt.tests, 1024) || rec.Memory != nil || string(rec.Stdout) != "out" || !rec.StderrTruncated ||
				rec.ExitCode != -min(tt.tests, 1) {
				t.Errorf("record %+v", rec)
			}
			if want := sigsegv * min(tt.tests, 1); rec.Signal != want {
				t.Errorf("signal %d; want %d", rec.Signal, want)
			}
			if len(rec.Detail) > int(maxDetail) || bytes.Contains(rec.Detail, []byte("secret")) || rec.Cut == tt.kept {
				t.Errorf("detail of %d bytes, cut %v: %.200s", len(rec.Detail), rec.Cut, rec.Detail)
			}

			var back api.Result
			if err := json.Unmarshal(rec.Detail, &back); err != nil {
				t.Fatal(err)
			}
			if len(back.Tests) < tt.left || len(back.Stdout) > 0 || back.Files[0].Name != "made" || back.Summary.Tests != tt.tests ||
				len(back.Compile.Stderr) != 4<<10 || !back.Compile.StderrTruncated {
				t.Errorf("%d tests in %+v", len(back.Tests), back)
			}
			if tt.kept && tt.tests > 0 && !bytes.Equal(back.Tests[0].Result.Stderr, r.Tests[0].Result.Stderr) {
				t.Errorf("a test's output: %q", back.Tests[0].Result.Stderr)
			}
			if len(r.Stdout) == 0 || len(r.Files[0].Content) == 0 || len(r.Compile.Stderr) != 8<<10 ||
				tt.tests > 0 && (len(r.Tests) != tt.tests || len(r.Tests[0].Result.Stdout) != tt.output ||
					len(r.Tests[0].Result.Files[0].Content) == 0) {
				t.Error("the caller's result was changed")
			}
		})
	}

	endless := result(0, 0)
	for range 10_000 {
		endless.Skipped = append(endless.Skipped, api.Skipped{Name: strings.Repeat("\x01", 100)})
	}

	if rec := NewRecord(endless); !rec.Cut || len(rec.Detail) == 0 || len(rec.Detail) > int(maxDetail) {
		t.Errorf("endless lists: %d bytes, cut %v", len(rec.Detail), rec.Cut)
	}
}
