package mcp

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

func TestClip(t *testing.T) {
	long := strings.Repeat("h", headMax) + strings.Repeat("m", 1000) + strings.Repeat("t", tailMax)
	for _, tt := range []struct {
		name, kept string
		written    int64
		left       int64
		begins     string
		ends       string
	}{
		{"nothing", "", 0, 0, "", ""},
		{"short", "a\n", 2, 0, "a\n", "a\n"},
		{"as long as may be", long[:headMax+tailMax], headMax + tailMax, 0, "hhh", "t"},
		{"long", long, int64(len(long)), 1000, "hhh", "]\n" + strings.Repeat("t", tailMax)},
		{"not kept", "abc", 10, 7, "abc", "[7 bytes left out]\n"},
		{"long and not kept", long, int64(len(long)) + 5, 1005, "hhh", "t\n[5 bytes left out]\n"},
		{"unknown", "abc", 0, 0, "abc", "abc"},
	} {
		text, left := clip(api.Bytes(tt.kept), tt.written)
		if left != tt.left || !strings.HasPrefix(text, tt.begins) || !strings.HasSuffix(text, tt.ends) {
			t.Errorf("%s: %d bytes left out, %d bytes of text that end in %q", tt.name, left, len(text),
				text[max(len(text)-30, 0):])
		}
	}
}

// A character is not cut in two, and what is no text does no harm.
func TestClipCutsBetweenCharacters(t *testing.T) {
	for shift := range 4 {
		kept := strings.Repeat("x", shift) + strings.Repeat("€", 10_000)
		text, left := clip(api.Bytes(kept), int64(len(kept)))
		if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			t.Errorf("shift %d: a character is cut", shift)
		}
		if shown := len(text) - len(gap(left)); int64(shown)+left != int64(len(kept)) {
			t.Errorf("shift %d: %d bytes shown and %d left out of %d", shift, shown, left, len(kept))
		}
	}
	if text, _ := clip(api.Bytes("a\xffb"), 3); text != "a\uFFFDb" {
		t.Errorf("%q", text)
	}
}

func TestOutcomeOf(t *testing.T) {
	for _, tt := range []struct {
		name   string
		result api.Result
		want   Outcome
		says   []string
	}{
		{"ok", api.Result{Verdict: api.OK, Stage: api.StageRun, Stdout: api.Bytes("4\n"), Timing: api.Timing{Wall: 25e6},
			Usage: api.Usage{CPU: api.Known(20e6, "x"), Memory: api.Known(1<<20, "x"), StdoutBytes: 2}},
			Outcome{Verdict: "ok", Stage: "run", Stdout: "4\n", WallMS: 25, CPUMS: new(int64(20)), Memory: new(int64(1 << 20)),
				LimitsHit: []string{}},
			[]string{"verdict: ok, 25 ms, 1024 KiB of memory\nstdout:\n4\n"}},
		{"silent", api.Result{Verdict: api.OK, Stage: api.StageRun},
			Outcome{Verdict: "ok", Stage: "run", LimitsHit: []string{}}, []string{"print what you want to see"}},
		{"failed", api.Result{Verdict: api.Nonzero, Stage: api.StageRun, ExitCode: 3, Stderr: api.Bytes("oops\n"),
			Diagnosis: &api.Diagnosis{Message: "NameError: x", Hint: "define x"}},
			Outcome{Verdict: "nonzero", Stage: "run", ExitCode: 3, Stderr: "oops\n", Hint: "NameError: x\ndefine x", LimitsHit: []string{}},
			[]string{"verdict: nonzero (exit code 3)", "hint:\nNameError: x\ndefine x\n", "stderr:\noops\n"}},
		{"killed", api.Result{Verdict: api.Denied, Stage: api.StageRun, ExitCode: -1, SignalName: "SIGKILL",
			LimitsHit: []string{"pids"}, Denial: &api.Denial{Syscall: "ptrace", Why: "it reads other processes"}, SessionEnded: "idle"},
			Outcome{Verdict: "denied", Stage: "run", ExitCode: -1, Signal: "SIGKILL", Denied: "ptrace: it reads other processes",
				LimitsHit: []string{"pids"}, SessionEnded: "idle"},
			[]string{"verdict: denied (SIGKILL)", "limits met:\npids", "denied:\nptrace: it", "the session has ended:\nidle"}},
		{"compiled, with files", api.Result{Verdict: api.OK, Stage: api.StageRun, Stdout: api.Bytes("x"),
			StdoutTruncated: true, Compile: &api.Compilation{Stderr: api.Bytes("warning: w\n")},
			Files: []api.File{{Name: "a", Content: api.Bytes("text")}, {Name: "b\nc, 1", Content: api.Bytes("\xff")},
				{Name: "c", Content: make(api.Bytes, savedMax+1)}}},
			Outcome{Verdict: "ok", Stage: "run", Stdout: "x", Truncated: true, CompilerOutput: "warning: w\n",
				LimitsHit: []string{}, Files: []FileSaved{{"a", 4, "text"}, {"b\nc, 1", 1, ""}, {"c", savedMax + 1, ""}}},
			[]string{"compiler:\nwarning: w", "files in /box:\n\"a\", 4 bytes\n\"b\\nc, 1\", 1 bytes\n"}},
	} {
		got := outcomeOf(tt.result)
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n%+v\nwant\n%+v", tt.name, got, tt.want)
		}
		for _, part := range tt.says {
			if !strings.Contains(got.text(), part) {
				t.Errorf("%s: the text lacks %q:\n%s", tt.name, part, got.text())
			}
		}
	}
}

func TestTellTests(t *testing.T) {
	test := func(id string, v api.Verdict, a api.Answer) api.TestResult {
		return api.TestResult{ID: id, Answer: a,
			Result: api.Result{Verdict: v, Stderr: api.Bytes("E" + id), Timing: api.Timing{Wall: 3e6}}}
	}
	wrong := test("2", api.OK, api.WrongAnswer)
	wrong.Difference = "line 1: expected 3"
	got := tellTests(3, api.Result{Verdict: api.Nonzero,
		Tests: []api.TestResult{test("1", api.OK, api.Accepted), wrong, test("3", api.Nonzero, "")}})
	want := Judgement{Accepted: 1, Total: 3, Verdict: "nonzero", Tests: []Judged{
		{ID: "1", Accepted: true, Verdict: "ok", Answer: "accepted", WallMS: 3},
		{ID: "2", Verdict: "ok", Answer: "wrong-answer", Difference: "line 1: expected 3", Stderr: "E2", WallMS: 3},
		{ID: "3", Verdict: "nonzero", Stderr: "E3", WallMS: 3}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	text := "1 of 3 tests accepted, worst verdict: nonzero\ntest 2: wrong-answer, line 1: expected 3\nE2\ntest 3: nonzero\nE3\n"
	if got.text() != text {
		t.Errorf("%q\nwant\n%q", got.text(), text)
	}

	broken := tellTests(3, api.Result{Verdict: api.CompileError, Stderr: api.Bytes("x.c:1: error"),
		Diagnosis: &api.Diagnosis{Message: "m"}})
	if broken.Compiler != "x.c:1: error" || broken.Total != 3 || broken.Tests == nil ||
		!strings.Contains(broken.text(), "compiler:\nx.c:1") {
		t.Errorf("%+v", broken)
	}

	var many []api.TestResult
	for range 1000 {
		many = append(many, wrong)
	}
	if text := tellTests(1000, api.Result{Tests: many}).text(); !strings.Contains(text, "980 more tests failed") || len(text) > 4096 {
		t.Errorf("the text has %d bytes: %s", len(text), text)
	}
}

func TestTellLanguages(t *testing.T) {
	got := tellLanguages([]api.Language{{Name: "c", Lacks: []string{"gcc"}, Stored: true}, {Name: "go"},
		{Name: "python", Aliases: []string{"py"}, Version: "3.13", Stored: true}})
	want := LanguageList{[]Language{{"python", []string{"py"}, "3.13", true}, {Name: "c"}, {Name: "go"}}}
	if !reflect.DeepEqual(got, want) || !strings.HasPrefix(got.text(), "python 3.13\nc (its image is not stored") {
		t.Errorf("%+v\n%s", got, got.text())
	}
}

func TestTellFiles(t *testing.T) {
	many := api.FileList{Files: make([]api.FileInfo, listMax+1)}
	many.Files[0] = api.FileInfo{Name: "a\xff", Kind: api.RegularFile, Size: 7}
	got := tellFiles(many)
	if len(got.Files) != listMax || !got.More || got.Files[0] != (FileName{"a\uFFFD", "file", 7}) ||
		!strings.Contains(got.text(), "there are more") {
		t.Errorf("%d files, more: %v, %+v", len(got.Files), got.More, got.Files[0])
	}
	if text := tellFiles(api.FileList{}).text(); text != "there are no files\n" {
		t.Errorf("%q", text)
	}
}

// A file that is read part by part comes back whole.
func TestPartsOfFiles(t *testing.T) {
	for _, content := range []string{"", "short", strings.Repeat("x", readMax), strings.Repeat("x", readMax+1),
		strings.Repeat("€", readMax)} {
		var whole strings.Builder
		for offset := int64(0); ; {
			w := &window{skip: offset, max: readMax}
			for i := 0; i < len(content); i += 1000 {
				if _, err := w.Write([]byte(content[i:min(i+1000, len(content))])); err != nil {
					break
				}
			}
			p := tellPart(offset, w.kept.Bytes())
			if p.Encoding != "utf-8" {
				t.Fatalf("%+v", p)
			}
			whole.WriteString(p.Content)
			if offset = p.Next; offset == 0 {
				break
			}
		}
		if whole.String() != content {
			t.Errorf("%d bytes come back of %d", whole.Len(), len(content))
		}
	}

	if p := tellPart(0, []byte("\x00\xff")); p.Encoding != "base64" || p.Content != "AP8=" {
		t.Errorf("%+v", p)
	}
}

func TestFailuresNameCodeAndRetry(t *testing.T) {
	for _, tt := range []struct {
		err  error
		of   effect
		want string
	}{
		{&api.Problem{Code: api.CodeQueueFull, Detail: "full.", RetrySafe: true, RetryAfter: 2}, fresh,
			"brig: queue-full: full. Safe to try the same call again: yes, after 2 s"},
		{api.Refuse(api.CodeNoLanguage, "language x: see list"), fresh,
			"brig: unknown-language: language x: see list. Safe to try the same call again: no"},
		{api.Fail(api.CodeBusy, "busy"), another, "brig: busy: busy. Safe to try the same call again: yes"},
		{errors.New("EOF"), fresh,
			"brig: no-answer: brig did not answer, or its answer was lost: EOF. Safe to try the same call again: yes"},
		{errors.New("EOF"), another,
			"brig: no-answer: brig did not answer, or its answer was lost: EOF. Safe to try the same call again: no"},
		{context.Canceled, reads, "brig: canceled: the caller canceled the call. Safe to try the same call again: yes"},
	} {
		if got := failure(tt.err, tt.of).Error(); got != tt.want {
			t.Errorf("%v:\n%s\nwant\n%s", tt.err, got, tt.want)
		}
	}
}
