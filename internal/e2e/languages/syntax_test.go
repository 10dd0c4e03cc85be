package languages

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/judge/diagnose"
)

// A source with a syntax error is reported once, whatever the number of tests; and no program that
// runs is mistaken for one.
func TestSyntaxIsCheckedOnceBeforeTests(t *testing.T) {
	b := harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m")
	three := []api.Test{{ID: "1"}, {ID: "2"}, {ID: "3"}}
	two := three[:2]
	right := map[string][]string{ // programs that print 1, each in a way that an imprecise parser might refuse
		"python": {
			"print(1)\n", "import re\nre.compile('\\d')\nprint(1)\n", "# -*- coding: latin-1 -*-\nx = '\xe9'\n" +
				"print(len(x))\n", "\ufeffprint(1)\n",
			"from __future__ import annotations\nprint(1)",
			string(zipped(t, "__main__.py", "print(1)\n")),
		},
		"javascript": {"console.log(1)", "import fs from 'fs';\nconsole.log(1)", "const x = await 1;\n" +
			"console.log(x)", "console.log(1); return;",
			"#!/usr/bin/env node\nconsole.log(1)", "'use strict'; let undefinedLater = 1; console.log(undefinedLater)"},
		"ruby": {"puts 1", "puts 1\n__END__\nthis is no ( ruby", "BEGIN { x = 2 }\nputs 1"},
		"php":  {"<?php echo 1, \"\\n\";", "1\n", "<?php echo 1, \"\\n\"; __halt_compiler(); this is no ( php"},
		"lua":  {"print(1)", "#!/usr/bin/lua\nprint(1)", "goto x; ::x:: print(1)"},
		"pypy": {"print(1)\n", "# -*- coding: latin-1 -*-\nx = '\xe9'\nprint(len(x))\n", string(zipped(t, "__main__.py", "print(1)\n"))},
		"r":    {"cat(1, '\\n', sep = '')", "#!/usr/bin/Rscript\nwriteLines('1')", "x <- function() nosuch(1 +\n 2)\ncat('1\\n')"},
	}

	for _, l := range harness.BuiltinLanguages(t) {
		if (len(l.Syntax) == 0) != (right[strings.TrimSuffix(l.Name, "-full")] == nil) {
			t.Errorf("%s: its syntax is checked: %v; the programs say otherwise", l.Name, len(l.Syntax) > 0)
		}
		if len(l.Syntax) == 0 || !harness.Chosen(l.Name, harness.LanguageTests[l.Name].OnlyAll) {
			continue
		}

		harness.Images.Load(t, b, l.Image)
		t.Run(l.Name, func(t *testing.T) {
			wrong, _ := languageRun(t, l, "broken")
			wrong.Tests = three
			res := b.MustRun(t, wrong)
			failsOnLine3(t, l, res, api.CompileError)
			if d := diagnose.Explain(l.Name, l.SourceFile, wrong.Source, res); d == nil || d.File != l.SourceFile || d.Line != 3 {
				t.Errorf("diagnosis %+v; want %s:3", d, l.SourceFile)
			}

			for _, ours := range []string{"<string>", "Traceback"} { // brig's own checker
				if bytes.Contains(res.Stderr, []byte(ours)) {
					t.Errorf("%q is in what the program's author reads:\n%s", ours, res.Stderr)
				}
			}

			if res.Stage != api.StageCompile || len(res.Tests) != 0 || res.Summary == nil || res.Summary.Ran != 0 ||
				res.Summary.Verdict != api.CompileError {
				t.Errorf("stage %s, %d tests, summary %+v; want the mistake told once, and no test", res.Stage, len(res.Tests), res.Summary)
			}

			for n, source := range right[strings.TrimSuffix(l.Name, "-full")] {
				for again := range 2 { // the second time the outcome is cached
					if again > 0 && harness.LeftOut(n, 3) {
						continue
					}
					res := b.MustRun(t, api.Run{Language: l.Name, Source: api.Bytes(source), Tests: two,
						Limits: api.Limits{Wall: harness.Slowly(20), CPU: harness.Slowly(10)}})
					harness.WantVerdict(t, res, api.OK)
					if len(res.Tests) != 2 {
						t.Fatalf("%.60q: %d tests, stderr %.300q", source, len(res.Tests), res.Stderr)
					}
					if string(res.Tests[0].Result.Stdout) != "1\n" || res.Compile != nil {
						t.Errorf("%.60q: %d tests, compilation %+v, stdout of the first %q, stderr %q", source, len(res.Tests), res.Compile,
							res.Tests[0].Result.Stdout, res.Tests[0].Result.Stderr)
					}
				}
			}

			// A failure at run time belongs to each test.
			if boom, ok := languageRun(t, l, "exception"); ok {
				boom.Tests = three
				if res := b.MustRun(t, boom); res.Stage != api.StageRun || len(res.Tests) != 3 {
					t.Errorf("an exception: stage %s, %d tests", res.Stage, len(res.Tests))
				}
			}
		})
	}
}

// A source that its parser cannot read within its limits is left to the tests.
func TestSyntaxAtALimitIsLeftToTheTests(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	r := harness.Py("x = " + nested(100_000) + "\nprint(1)")
	r.Tests = []api.Test{{ID: "1"}}
	if res := a.MustRun(t, r); res.Verdict != api.CompileError { // the parser itself reports too many nested parentheses
		t.Errorf("nested parentheses: %s", res.Verdict)
	}

	r = harness.Py("x = [" + strings.Repeat("[1,2,3,4,5,6,7,8,9,0],\n", 400_000) + "]\nprint(1)")
	r.Tests, r.CompileLimits = []api.Test{{ID: "1"}}, api.Limits{}
	r.Limits.Memory = 32 * api.MiB
	if res := a.MustRun(t, r); res.Verdict != api.MemoryLimit || res.Stage != api.StageRun || len(res.Tests) != 1 {
		t.Errorf("a source of %d bytes: %s in stage %s, %d tests; want its test's memory limit", len(r.Source), res.Verdict,
			res.Stage, len(res.Tests))
	}
}

// A syntax check that met a limit is not kept as one that found nothing: who sends the same source with the usual limits
// afterwards is told that it is no program.
func TestSyntaxAtALimitIsNotKept(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	for _, l := range harness.BuiltinLanguages(t) {
		if len(l.Syntax) == 0 || !harness.Chosen(l.Name, harness.LanguageTests[l.Name].OnlyAll) {
			continue
		}

		harness.Images.Load(t, a, l.Image)
		for name, low := range map[string]api.Limits{
			"cpu": {CPU: harness.Seconds(0.01)}, "wall": {Wall: harness.Seconds(0.003)}, "memory": {Memory: 8 * api.MiB},
		} {
			t.Run(l.Name+"/"+name, func(t *testing.T) {
				broken, _ := languageRun(t, l, "broken")
				broken.Tests = []api.Test{{ID: "1"}}
				broken.Files = append(broken.Files, api.File{Name: "once", Content: fmt.Append(nil, name, time.Now().UnixNano())})

				usual := broken.Limits
				broken.Limits, broken.CompileLimits = low, api.Limits{}
				if res, err := a.Run(t.Context(), broken); err == nil && res.Verdict == api.OK {
					t.Errorf("with %v: %s", low, res.Verdict)
				}
				broken.Limits = usual
				if res := a.MustRun(t, broken); res.Verdict != api.CompileError {
					t.Errorf("after a check that met its limit: %s; want %s", res.Verdict, api.CompileError)
				}
			})
		}
	}
}

// nested is the number 1 in depth pairs of parentheses. The parsers of most languages handle them
// by recursion, so more pairs need more stack.
func nested(depth int) string {
	return strings.Repeat("(", depth) + "1" + strings.Repeat(")", depth)
}

// A source whose parser needs more stack than usual passes the check if the tests have that much,
// because they can read it then.
func TestSyntaxIsReadWithTheStackOfTheTests(t *testing.T) {
	if !harness.Chosen("javascript", false) {
		return
	}

	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	harness.Images.Load(t, a, "node")

	for _, tt := range []struct {
		depth         int
		stack, memory api.Size
	}{
		{10_000, 0, 0}, // deeper than V8's own 984 KiB allow
		{200_000, 256 * api.MiB, api.GiB},
	} {
		r := api.Run{
			Language: "javascript", Source: api.Bytes("console.log(" + nested(tt.depth) + ")"), Tests: []api.Test{{ID: "1"}, {ID: "2"}},
			Limits: api.Limits{Stack: tt.stack, Memory: tt.memory, Wall: harness.Slowly(60), CPU: harness.Slowly(60)},
		}
		res := a.MustRun(t, r)
		if res.Verdict != api.OK || len(res.Tests) != 2 {
			t.Errorf("depth %d, stack %s: %s in stage %s, %d tests, %.300q", tt.depth, tt.stack, res.Verdict, res.Stage, len(res.Tests), res.Stderr)
		}

		for _, one := range res.Tests {
			if string(one.Result.Stdout) != "1\n" {
				t.Errorf("depth %d, stack %s: test %s: %s, %q, %.300q", tt.depth, tt.stack, one.ID, one.Result.Verdict,
					one.Result.Stdout, one.Result.Stderr)
			}
		}
	}
}

// Only an error that the parser attributes to the source is a syntax error: if the parser's stack
// is too small for the source, each test finds that, with its own verdict. The control is an error
// at the same depth.
func TestUndecidedSyntaxIsLeftToTheTests(t *testing.T) {
	if !harness.Chosen("javascript", false) {
		return
	}

	a := harness.StartAgent(t, "--slots", "1")
	harness.Images.Load(t, a, "node")
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for _, tt := range []struct {
		source string
		stack  api.Size
		want   api.Verdict
		stage  api.Stage
	}{
		{deep, 512 * api.KiB, api.Nonzero, api.StageRun},
		{deep, 0, api.OK, api.StageRun},
		{"let let = 1\n//" + deep, 512 * api.KiB, api.CompileError, api.StageCompile},
	} {
		r := api.Run{Language: "javascript", Source: api.Bytes(tt.source), Tests: []api.Test{{ID: "1"}},
			Limits: api.Limits{Stack: tt.stack, Wall: harness.Slowly(20), CPU: harness.Slowly(10)}}
		res := a.MustRun(t, r)
		if res.Verdict != tt.want || res.Stage != tt.stage || len(res.Tests) != res.Summary.Ran ||
			(res.Summary.Ran == 1) != (tt.stage == api.StageRun) {
			t.Errorf("%.20q with a stack of %s: %s in stage %s, %d tests, stderr %.200q; want %s in stage %s", tt.source, tt.stack, res.Verdict,
				res.Stage, len(res.Tests), res.Stderr, tt.want, tt.stage)
		}
	}
}

func zipped(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
