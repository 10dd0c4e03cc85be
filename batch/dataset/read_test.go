package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

var update = flag.Bool("update", false, "write the golden files")

// Each format's example gives the jobs and errors of its golden file, from its solutions and from the data
// set's own.
func TestFormats(t *testing.T) {
	for _, name := range Formats() {
		t.Run(name, func(t *testing.T) {
			text := readFile(t, name+".jsonl")
			golden(t, name+".golden", readAll(t, text, Format(name), Options{}))
			golden(t, name+".canonical.golden", readAll(t, text, Format(name), Options{Canonical: true, NoLimits: true}))
		})
	}
}

// Solutions of a second file: several of a task, tasks without, and solutions of no task.
func TestCompletions(t *testing.T) {
	var skipped []string
	o := Options{
		Completions: bytes.NewReader(readFile(t, "completions.jsonl")),
		Skipped:     func(task string) { skipped = append(skipped, task) },
	}
	golden(t, "completions.golden", readAll(t, readFile(t, "humaneval.jsonl"), HumanEval, o))
	if got := strings.Join(skipped, " "); got != "Own/1 Own/1 Own/3 Own/6" {
		t.Errorf("skipped %s", got)
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// readAll writes the jobs and errors of a data set, one in each line.
func readAll(t *testing.T, text []byte, f Format, o Options) []byte {
	t.Helper()
	var out bytes.Buffer
	ids := map[string]bool{}
	for job, err := range Read(bytes.NewReader(text), f, o) {
		var wrong *LineError
		switch {
		case errors.As(err, &wrong):
			fmt.Fprintf(&out, "%s: %v\n", job.ID, err)
			continue
		case err != nil:
			t.Fatal(err)
		}

		if ids[job.ID] {
			t.Errorf("two jobs are called %s", job.ID)
		}

		ids[job.ID] = true
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		if err := e.Encode(job); err != nil {
			t.Fatal(err)
		}
	}

	return out.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile("testdata/"+name, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := readFile(t, name); !bytes.Equal(got, want) {
		t.Errorf("%s: go test ./dataset -update writes\n%s\ninstead of\n%s", name, got, want)
	}
}

// A line that is too long is refused, and the next one is read; so is a file that is compressed or begins
// with a byte order mark.
func TestLongLinesAreRefusedAlone(t *testing.T) {
	task := strings.SplitAfter(string(readFile(t, "humaneval.jsonl")), "\n")[0]
	text := `{"x": "` + strings.Repeat("x", 1<<20) + `"}` + "\n" + task
	got := string(readAll(t, []byte(text), HumanEval, Options{MaxLine: 1 << 20}))
	if !strings.HasPrefix(got, "line 1: line 1: it has more than 1 MiB, the maximum of a line\n{\"id\":\"Own/0\"") {
		t.Errorf("%.200s", got)
	}

	want := readAll(t, []byte(task), HumanEval, Options{})
	if got := readAll(t, []byte("\xef\xbb\xbf\r\n"+strings.TrimSuffix(task, "\n")), HumanEval, Options{}); !bytes.Equal(got, want) {
		t.Errorf("with a byte order mark: %s", got)
	}
	if got := readAll(t, compressed(t, task), HumanEval, Options{}); !bytes.Equal(got, want) {
		t.Errorf("compressed: %s", got)
	}
}

// An error that is not about a line is the last one.
func TestReadingEndsWithItsError(t *testing.T) {
	task := strings.SplitAfter(string(readFile(t, "humaneval.jsonl")), "\n")[0]
	cut := compressed(t, strings.Repeat(task, 100))
	for name, tt := range map[string]struct {
		r      io.Reader
		format Format
		o      Options
		want   string
	}{
		"format": {strings.NewReader(task), "parquet", Options{}, `there is no format "parquet"`},
		"cut":    {bytes.NewReader(cut[:len(cut)/2]), HumanEval, Options{}, "unexpected EOF"},
		"completions": {strings.NewReader(task), HumanEval, Options{Completions: bytes.NewReader(cut[:len(cut)/2])},
			"read the completions: line"},
	} {
		var last error
		after := 0
		for _, err := range Read(tt.r, tt.format, tt.o) {
			if last != nil {
				after++
			}
			last = err
		}
		var line *LineError
		if last == nil || errors.As(last, &line) || !strings.Contains(last.Error(), tt.want) || after > 0 {
			t.Errorf("%s: %v, %d more; want %s", name, last, after, tt.want)
		}
	}
}

// A caller that has enough jobs gets no more, also in the middle of a line.
func TestReadStops(t *testing.T) {
	n := 0
	for range Read(bytes.NewReader(readFile(t, "humaneval.jsonl")), HumanEval, Options{}) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d jobs", n)
	}
}

// A task of the name that another one's second job has gets another id.
func TestIDsAreUnique(t *testing.T) {
	var text strings.Builder
	for _, id := range []string{"a", "a#2", "a", "a", "a#2"} {
		fmt.Fprintf(&text, `{"task_id": %q, "test_list": ["assert f()"], "completion": "x"}`+"\n", id)
	}

	var ids []string
	for job, err := range Read(strings.NewReader(text.String()), MBPP, Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, job.ID)
	}

	if got := strings.Join(ids, " "); got != "a a#2 a#3 a#4 a#2#2" {
		t.Errorf("ids %s", got)
	}
}

func fuzzFormat(f *testing.F, format Format) {
	for l := range bytes.Lines(readFile(f, string(format)+".jsonl")) {
		f.Add(bytes.Clone(l), false)
		f.Add(bytes.Clone(l), true)
	}

	f.Fuzz(func(t *testing.T, text []byte, canonical bool) {
		for job, err := range Read(bytes.NewReader(text), format, Options{Canonical: canonical, MaxLine: 1 << 20}) {
			var wrong *LineError
			switch {
			case err == nil && (job.ID == "" || len(job.ID) > api.MaxJobID || job.Source == nil || len(job.Tests) == 0 || job.Validate() != nil ||
				!json.Valid(job.Meta)):
				t.Errorf("a job that would be refused: %+v: %v", job, job.Validate())
			case err != nil && errors.As(err, &wrong) && (wrong.Line < 1 || job.ID == ""):
				t.Errorf("%q: %+v", job.ID, wrong)
			}
		}
	})
}

func FuzzHumanEval(f *testing.F)    { fuzzFormat(f, HumanEval) }
func FuzzMBPP(f *testing.F)         { fuzzFormat(f, MBPP) }
func FuzzLCB(f *testing.F)          { fuzzFormat(f, LCB) }
func FuzzAPPS(f *testing.F)         { fuzzFormat(f, APPS) }
func FuzzTACO(f *testing.F)         { fuzzFormat(f, TACO) }
func FuzzCodeContests(f *testing.F) { fuzzFormat(f, CodeContests) }
func FuzzScaleBox(f *testing.F)     { fuzzFormat(f, ScaleBox) }
func FuzzVerl(f *testing.F)         { fuzzFormat(f, Verl) }

// Options.Language is that of solutions for which no line says one; in an answer the program is in a block of that
// language.
func TestLanguageOfSolutions(t *testing.T) {
	const task = `{"task_id":"t","prompt":"def f():\n","test":"def check(g):\n    assert g() == 1\n","entry_point":"f",`
	for _, tt := range []struct{ name, rest, option, language, source string }{
		{"none", `"completion":"    return 1"}`, "", "python", "def f():\n    return 1"},
		{"of the options", `"completion":"    return 1"}`, "python-full", "python-full", "def f():\n    return 1"},
		{"of the line", `"completion":"    return 1","language":"python"}`, "python-full", "python", "def f():\n    return 1"},
		{"of an answer", "\"response\":\"```python\\ndef f(): return 1\\n```\\n```\\nit prints\\n```\"}", "python-full", "python-full",
			"def f(): return 1\n"},
	} {
		for job, err := range Read(strings.NewReader(task+tt.rest), HumanEval, Options{Language: tt.option}) {
			if err != nil || job.Language != tt.language || string(job.Source) != tt.source {
				t.Errorf("%s: %s, %q, %v; want %s, %q", tt.name, job.Language, job.Source, err, tt.language, tt.source)
			}
		}
	}
}
