package gojudge

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
)

func TestExchanges(t *testing.T) { dialecttest.Golden(t, Dialect, 60) }

// Names are of files below the directory in which the program starts, or they are refused.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "a/b": "a/b", "./a": "a", "a/../b": "b", "/w/a": "a", "/w//a/./b": "a/b", "ü": "ü", "a?b": "a?b", "-": "-",
		"": "", ".": "", "..": "", "../a": "", "../w/a": "a", "a/../../b": "", "/a": "", "/w": "", "/w/": "", "/wa": "", "/tmp/a": "", "a/": "",
		"a\x00b": "", strings.Repeat("x", 256): "",
	} {
		if got, bad := pathOf(name); got != want || (bad == "") != (want != "") {
			t.Errorf("%q is %q, %q; want %q", name, got, bad, want)
		}
	}
}

// A pattern matches its name: what it matches besides is not told.
func TestGlobs(t *testing.T) {
	for name, want := range map[string]string{"a": "a", "a*": "a?", "[a]": "?a?", `a\b`: "a?b", "a?b": "a?b"} {
		if got := globOf(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// No result of a run that brig bounded by itself is a verdict on the program.
func TestABoundOfBrigIsNoVerdict(t *testing.T) {
	const much = 1 << 40
	ceiling := api.DefaultCeiling()
	for _, tt := range []struct {
		name   string
		c      command
		res    api.Result
		status string
	}{
		{"within", command{}, api.Result{Verdict: api.OK}, accepted},
		{"cpu", command{CPULimit: much}, api.Result{Verdict: api.CPULimit}, internalError},
		{"cpu of its own", command{CPULimit: 1e9}, api.Result{Verdict: api.CPULimit}, timeLimit},
		{"clock", command{ClockLimit: much}, api.Result{Verdict: api.WallLimit}, internalError},
		{"clock of its own", command{ClockLimit: 1e9}, api.Result{Verdict: api.WallLimit}, timeLimit},
		{"clock below cpu", command{CPULimit: 10e9, ClockLimit: 1e9}, api.Result{Verdict: api.WallLimit}, timeLimit},
		{"clock by cpu", command{CPULimit: 20e9}, api.Result{Verdict: api.WallLimit}, timeLimit},
		{"memory", command{MemoryLimit: much}, api.Result{Verdict: api.MemoryLimit}, internalError},
		{"memory of its own", command{MemoryLimit: 1 << 28}, api.Result{Verdict: api.MemoryLimit}, memoryLimit},
		{"output", streams(1 << 30), api.Result{Verdict: api.OutputLimit, Stdout: api.Bytes("x"), StdoutTruncated: true}, internalError},
		{"output of its own", streams(1), api.Result{Verdict: api.OutputLimit, Stdout: api.Bytes("x"), StdoutTruncated: true}, outputLimit},
		{"output in part", streams(1 << 30), api.Result{Verdict: api.OK, Stdout: api.Bytes("x"), StdoutTruncated: true}, internalError},
		{"a file", command{CopyOut: []string{"f?"}}, skipped("f", "it has 1 GiB; 1 KiB are left"), internalError},
		{"a file of a service without room", command{CopyOut: []string{"f?"}},
			skipped("f", "the response of the service had no space for it"), internalError},
		{"a scan that ended", command{CopyOut: []string{"f"}}, skipped("...", "scanning /box took 5s"), internalError},
		{"a link", command{CopyOut: []string{"f"}}, skipped("f", "symbolic link"), badFile},
		{"a link, and none needed", command{CopyOut: []string{"f?"}}, skipped("f", "symbolic link"), accepted},
		{"a signal", command{}, api.Result{Verdict: api.Signaled, Signal: 24}, "Signalled"},
		{"the signal of a system call", command{}, api.Result{Verdict: api.Signaled, Signal: 31}, dangerous},
		{"no file", command{CopyOut: []string{"f"}}, skipped("f", api.NoSuchFile), badFile},
		{"no file, and none needed", command{CopyOut: []string{"f?"}}, skipped("f", api.NoSuchFile), accepted},
	} {
		tt.c.Args = []string{"a"}
		j, bad := jobOf(tt.c, dialect.Agent{Ceiling: ceiling})
		if bad != "" {
			t.Fatalf("%s: %s", tt.name, bad)
		}
		if err := j.run.Limits.Within(ceiling); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if a := j.tell(tt.res); a.Status != tt.status || (a.Status == internalError) != (a.Error != "" && a.Status == internalError) {
			t.Errorf("%s: %+v; want %s", tt.name, a, tt.status)
		}
	}
}

func streams(most int64) command {
	name := "stdout"
	return command{Files: []*file{nil, {Name: &name, Max: &most}}}
}

func skipped(name, reason string) api.Result {
	return api.Result{Verdict: api.OK, Skipped: []api.Skipped{{Name: name, Reason: reason}}}
}

// Every file that is told to be kept is kept, under an id of its own.
func TestIDsAreOfOneFile(t *testing.T) {
	body := `{"cmd":[{"args":["a"],"copyOutCached":["x","y"]},{"args":["b"],"copyOutCached":["x"]}]}`
	p := planRun(dialect.Request{Body: []byte(body), Nonce: "N"}, dialecttest.StandardAgent())
	same := api.Result{Verdict: api.OK, Files: []api.File{{Name: "x", Content: api.Bytes("1")}, {Name: "y", Content: api.Bytes("1")}}}
	told := p.Tell([]api.Result{same, same})

	var got []struct{ FileIDs map[string]string }
	if err := json.Unmarshal(told.Body, &got); err != nil {
		t.Fatal(err)
	}
	var ids, keep []string
	for _, one := range got {
		for _, id := range one.FileIDs {
			ids = append(ids, id)
		}
	}
	for _, k := range told.Keep {
		keep = append(keep, k.ID)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 3 || !slices.Equal(ids, keep) {
		t.Errorf("told %q, kept %q", ids, keep)
	}
}

// What is planned is runs that brig accepts as valid, unless its files or arguments are out of bounds, within the ceilings,
// and every request gets a plan that is runs or an answer.
func FuzzRuns(f *testing.F) {
	for _, body := range []string{
		`{"cmd":[{"args":["/w/a"],"files":[{"content":"x"},{"name":"o","max":9},{"name":"o","max":3}],"cpuLimit":1,"memoryLimit":7,"stackLimit":1}]}`,
		`{"cmd":[{"args":["a"],"env":["A=","A=b"],"copyIn":{"a":{"fileId":"x"},"./a":{"content":""}},"copyOut":["a?","[*\\"],"copyOutCached":["a"]}]}`,
		`{"cmd":[{"args":["a"],"tty":true,"files":[{"content":"x"},{"name":"o","max":9}]},{"args":["b"],"tty":true}]}`,
		`{"CMD":[{"ARGS":["\u0000"],"procLimit":18446744073709551615,"clockLimit":18446744073709551615,"addressSpaceLimit":true}]}`,
		`[]`, `null`, "\xff", `{"cmd":[null]}`, `{"cmd":[{"args":["a"],"files":[null,{"name":"","max":-1}]}]}`,
	} {
		f.Add([]byte(body))
	}

	on := dialecttest.StandardAgent()
	f.Fuzz(func(t *testing.T, body []byte) {
		p := planRun(dialect.Request{Body: body, Nonce: "N"}, on)
		if p.Answer != nil {
			if p.Answer.Status != 400 || !json.Valid(p.Answer.Body) {
				t.Fatalf("%q is answered with %d %s", body, p.Answer.Status, p.Answer.Body)
			}
			return
		}

		var results []api.Result
		for _, run := range p.Runs {
			err := run.Validate()
			if err != nil && !api.HasCode(err, api.CodeBadFile, api.CodeTooLarge) && !strings.Contains(err.Error(), "NUL") &&
				!strings.Contains(err.Error(), "the maximum is") {
				t.Fatalf("%q is not valid: %v", body, err)
			}
			if err := run.Limits.Within(on.Ceiling); err != nil {
				t.Fatalf("%q: %+v, %v", body, run.Limits, err)
			}
			res := api.Result{Verdict: api.OK, Stage: api.StageRun, Stdout: api.Bytes("\xff<"), StderrTruncated: true}
			for _, g := range run.Collect.Globs {
				res.Files = append(res.Files, api.File{Name: g, Content: api.Bytes("x")})
			}
			results = append(results, res)
		}
		for _, n := range p.Needs {
			if n.Run < 0 || n.Run >= len(p.Runs) || n.Stdin == (n.Name != "") {
				t.Fatalf("%q needs %+v", body, n)
			}
		}
		var told []answer
		if r := p.Tell(results); r.Status != 200 || json.Unmarshal(r.Body, &told) != nil || len(told) != len(p.Runs) {
			t.Fatalf("%q is told as %d %s", body, r.Status, r.Body)
		}
	})
}

// A form has its file, or is refused.
func FuzzForms(f *testing.F) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "a.txt")
	if err != nil {
		f.Fatal(err)
	}
	if _, err := part.Write([]byte("hello")); err != nil {
		f.Fatal(err)
	}
	w.Close()
	f.Add(w.FormDataContentType(), form.Bytes())
	f.Add("multipart/form-data", form.Bytes())
	f.Add(w.FormDataContentType(), form.Bytes()[:form.Len()-9])
	f.Add("application/json", []byte("{}"))

	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		p := planUpload(dialect.Request{Type: kind, Body: body, Nonce: "N"}, dialect.Agent{})
		if kept := len(p.Answer.Keep) == 1; !json.Valid(p.Answer.Body) || kept != (p.Answer.Status == 200) || !kept && p.Answer.Status != 400 {
			t.Fatalf("%q, %q: %+v", kind, body, p.Answer)
		}
	})
}
