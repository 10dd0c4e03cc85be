package languages

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Compile once: a program that was compiled before is not compiled again, and every byte of the
// inputs, the flags and the image counts.
func TestCompileOnce(t *testing.T) {
	a := harness.StartCompiler(t)
	r := harness.CompiledRun(harness.Uncached(t, harness.CompilerScript))
	r.Stdin, r.Argv = []byte("hello\n"), []string{"x", "y z"}
	r.Files = []api.File{{Name: "util.made", Content: []byte("1")}, {Name: "data.txt", Content: []byte("2")}, {Name: "-c.made"}}

	first := a.MustRun(t, r)
	harness.WantVerdict(t, first, api.OK)
	lines := strings.Split(string(first.Stdout), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[0], " by main.made -a main.made util.made ./-c.made") {
		t.Fatalf("stdout %q", first.Stdout)
	}
	if want := "stage run args x y z stdin hello: of the library data.txt lib main "; lines[1] != want {
		t.Errorf("it says %q; want %q: artifacts and data, and nothing else of the compile stage (CMP-10)", lines[1], want)
	}
	if c := first.Compile; c == nil || c.Cached || string(c.Stderr) != "a warning\n" || c.Usage.CPU.Value == nil || c.Size == 0 ||
		c.Limits.Output != 4*api.KiB {
		t.Errorf("compilation %+v", c)
	}
	if first.Stage != api.StageRun || len(first.Stderr) > 0 {
		t.Errorf("stage %s, stderr %q", first.Stage, first.Stderr)
	}

	again := func(name string, cached bool, change func(r *api.Run)) {
		t.Helper()
		next := r
		next.Files = slices.Clone(r.Files)
		change(&next)
		res := a.MustRun(t, next)
		harness.WantVerdict(t, res, api.OK)
		same := bytes.HasPrefix(res.Stdout, []byte(lines[0][:len("made 0123456789abcdef")-2]))
		if res.Compile == nil || res.Compile.Cached != cached || same != cached {
			t.Errorf("%s: cached %v, the same program %v; want %v", name, res.Compile.Cached, same, cached)
		}
		if cached && (string(res.Compile.Stderr) != "a warning\n" || res.Compile.Key != first.Compile.Key) {
			t.Errorf("%s: of the cache came %+v", name, res.Compile)
		}
	}

	again("the same", true, func(*api.Run) {})
	again("by an alias, with another input", true, func(r *api.Run) { r.Language, r.Stdin, r.Argv = "makes", nil, nil })
	again("other limits", true, func(r *api.Run) { r.Limits.Pids, r.CompileLimits.Pids = 50, 50 })
	again("in a cell of its own", true, func(r *api.Run) { r.Mode = api.Fresh })
	again("the default flags by name", true, func(r *api.Run) { r.Flags = []string{"-a"} })
	again("other flags", false, func(r *api.Run) { r.Flags = []string{"-b"} })
	again("a byte of another file", false, func(r *api.Run) { r.Files[1].Content = []byte("3") })
	again("the name of another file", false, func(r *api.Run) { r.Files[0].Name = "util2.made" })
	again("an executable bit", false, func(r *api.Run) { r.Files[1].Executable = true })
	again("a byte of the source", false, func(r *api.Run) { r.Source = append(slices.Clone(r.Source), '\n') })

	e := a.Refused(t, func() api.Run { bad := r; bad.Flags = []string{"-c"}; return bad }(), api.CodeBadRequest)
	if !strings.Contains(e.Message, "-a -b") {
		t.Errorf("message %q; want it to name the flags there are (CMP-11)", e.Message)
	}

	tiny := harness.Py("1")
	tiny.Flags = []string{"-O3"}
	a.Refused(t, tiny, api.CodeBadRequest)
}

// The events of a compiled program begin with its position in the queue, and the outcome of the
// compile stage comes before the program starts, also if no compiler had to run.
func TestGatewayEventsOfACompiledProgram(t *testing.T) {
	a := harness.StartCompiler(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	source := harness.Uncached(t, harness.CompilerScript)
	for _, cached := range []bool{false, true} {
		var names []string
		s.Listen(s.StartDetached(harness.CompiledRun(source)), "", func(e harness.StreamEvent) bool {
			if e.Name != "usage" && !slices.Contains(names, e.Name) {
				names = append(names, e.Name)
			}
			var c api.Compilation
			if err := json.Unmarshal(e.Data, &c); e.Name == "compiled" && (err != nil || c.Cached != cached) {
				t.Errorf("compiled: %s, %v; want cached %t", e.Data, err, cached)
			}
			return true
		})

		if want := []string{"queued", "compiled", "started", "stdout", "result"}; !slices.Equal(names, want) {
			t.Errorf("cached %t: the events are %q; want %q", cached, names, want)
		}
	}
}

// A compile stage that fails is a verdict, with its evidence.
func TestCompileError(t *testing.T) {
	a := harness.StartCompiler(t)
	for _, c := range []struct {
		name, script string
		check        func(t *testing.T, r api.Result)
	}{
		{"the compiler says no", "echo main.made:3: no >&2; exit 7", func(t *testing.T, r api.Result) {
			if r.ExitCode != 7 || string(r.Stderr) != "main.made:3: no\n" {
				t.Errorf("exit code %d, stderr %q", r.ExitCode, r.Stderr)
			}
		}},
		{"it dies", "kill -SEGV $$", func(t *testing.T, r api.Result) {
			if r.SignalName != "SIGSEGV" {
				t.Errorf("signal %s", r.SignalName)
			}
		}},
		{"it never ends", "while :; do :; done", func(t *testing.T, r api.Result) {
			if !slices.Contains(r.LimitsHit, api.HitCPU) {
				t.Errorf("limits hit %v", r.LimitsHit)
			}
		}},
		{"it floods (CMP-06)", "while :; do echo error; done", func(t *testing.T, r api.Result) {
			if !slices.Contains(r.LimitsHit, api.HitOutput) || !r.StdoutTruncated || len(r.Stdout) != 4<<10 {
				t.Errorf("limits hit %v, %d bytes", r.LimitsHit, len(r.Stdout))
			}
		}},
		{"it makes nothing", "exit 0", func(t *testing.T, r api.Result) {
			if !slices.Contains(r.Skipped, api.Skipped{Name: "main", Reason: "the compiler did not create it"}) {
				t.Errorf("skipped %v", r.Skipped)
			}
		}},
		{"a link for an artifact (CMP-08)", "mkdir lib; touch lib/x; ln -s /etc/passwd main", func(t *testing.T, r api.Result) {
			if !slices.Contains(r.Skipped, api.Skipped{Name: "main", Reason: "symbolic link"}) {
				t.Errorf("skipped %v", r.Skipped)
			}
		}},
		{"an artifact without end (CMP-07)", "mkdir lib; touch lib/x; dd if=/dev/zero of=main bs=1M count=65 2>/dev/null",
			func(t *testing.T, r api.Result) {
				if len(r.Skipped) != 1 || r.Skipped[0].Name != "main" {
					t.Errorf("skipped %v", r.Skipped)
				}
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := harness.CompiledRun(harness.Uncached(t, c.script))
			r.CompileLimits.CPU = harness.Slowly(1)
			r.Tests = []api.Test{{ID: "1"}}
			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.CompileError)
			if res.Stage != api.StageCompile || len(res.Files) > 0 || res.Compile != nil || res.Tests != nil ||
				!reflect.DeepEqual(*res.Summary, api.Summary{Tests: 1, Verdict: api.CompileError}) {
				t.Errorf("stage %s, %d files, compilation %v, summary %+v", res.Stage, len(res.Files), res.Compile, res.Summary)
			}

			c.check(t, res)
			if string(a.MustRun(t, r).Verdict) != string(api.CompileError) {
				t.Error("the second time it is another verdict")
			}
		})
	}
}
