package agent

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// alternating is what a program prints that writes to both outputs in turns.
func alternating(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "out %d\nerr %d\n", i, i)
	}
	return b.String()
}

const alternatingC = `#include <stdio.h>
int main(void) { for (int i = 0; i < 1000; i++) { printf("out %d\n", i); fflush(stdout); fprintf(stderr, "err %d\n", i); } return 0; }
`

const alternatingShell = "i=0; while [ $i -lt 1000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done"

const alternatingPython = `import sys
for i in range(1000):
    print("out", i, flush=True)
    print("err", i, file=sys.stderr, flush=True)
`

// With merge_stderr both outputs are one pipe: what is written to them arrives in that order and counts once, in every
// place where a program is executed. Without it they are two.
func TestMergedStderr(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "2")
	a.NeedPython(t)
	want := alternating(1000)
	check := func(name string, res api.Result) {
		t.Helper()
		if res.Verdict != api.OK || string(res.Stdout) != want || len(res.Stderr) > 0 || !res.StderrMerged {
			t.Errorf("%s: %s, merged %v, %d bytes of stdout, which begins with %.60q; stderr %.200q", name, res.Verdict, res.StderrMerged,
				len(res.Stdout), res.Stdout, res.Stderr)
		}
		if n := res.Usage; n.StdoutBytes != int64(len(want)) || n.StderrBytes != 0 {
			t.Errorf("%s: charged %d and %d bytes; want %d and none", name, n.StdoutBytes, n.StderrBytes, len(want))
		}
	}

	programs := map[string]api.Run{
		"shell": harness.Sh(alternatingShell), "c": harness.Program(harness.CompileC(t, "probe", alternatingC)),
		"python": harness.Py(alternatingPython),
	}
	for name, r := range programs {
		r.Limits.Wall = harness.Slowly(30)
		r.MergeStderr = true
		check(name, a.MustRun(t, r))
	}

	r := programs["python"]
	r.NoTemplate, r.MergeStderr, r.Limits.Wall = true, true, harness.Slowly(30)
	check("python, with the ordinary start", a.MustRun(t, r))

	apart := a.MustRun(t, programs["shell"])
	if len(apart.Stderr) != len(want)/2 || len(apart.Stdout) != len(want)/2 || apart.StderrMerged {
		t.Errorf("without merge_stderr there are %d and %d bytes", len(apart.Stdout), len(apart.Stderr))
	}

	tests := programs["shell"]
	tests.MergeStderr, tests.KeepOutput = true, api.MiB
	expected := api.Bytes(want)
	tests.Tests = []api.Test{{ID: "1", Expected: &expected}}
	one := a.MustRun(t, tests).Tests[0]
	if check("a test", one.Result); one.Answer != api.Accepted {
		t.Errorf("the answer of the test is %s", one.Answer)
	}

	s := a.NewSession(t, nil)
	check("an exec", a.MustExec(t, s.ID, api.Exec{Argv: []string{"/bin/sh", "-c", alternatingShell}, MergeStderr: true}))

	over := programs["shell"]
	over.MergeStderr, over.Limits = true, api.Limits{Output: api.Size(len(want)) - 1, Wall: harness.Slowly(30)}
	res := a.MustRun(t, over)
	if harness.WantVerdict(t, res, api.OutputLimit); len(res.Stdout) != len(want)-1 {
		t.Errorf("%d bytes of %d are kept", len(res.Stdout), len(want))
	}

	missing := api.Run{Language: "python", Source: api.Bytes("raise ValueError('here')"), MergeStderr: true}
	res = a.MustRun(t, missing)
	if harness.WantVerdict(t, res, api.Nonzero); !bytes.Contains(res.Stdout, []byte("ValueError: here")) || len(res.Stderr) > 0 {
		t.Errorf("stdout %q, stderr %q", res.Stdout, res.Stderr)
	}

	source := harness.Uncached(t, `echo first; echo second >&2; echo third; printf '#!/bin/sh\necho made' >main; chmod +x main; mkdir lib; : >lib/x`)
	for _, merge := range []bool{true, false, true} { // the third is from the cache
		made := harness.CompiledRun(source)
		made.MergeStderr = merge
		res := a.MustRun(t, made)
		if res.Compile == nil {
			t.Fatalf("nothing was compiled: %+v", res)
		}
		got, want := []string{string(res.Compile.Stdout), string(res.Compile.Stderr)}, []string{"first\nthird\n", "second\n"}
		if merge {
			want = []string{"first\nsecond\nthird\n", ""}
		}
		if !slices.Equal(got, want) {
			t.Errorf("merged %v: the compiler wrote %q; want %q", merge, got, want)
		}
	}
}
