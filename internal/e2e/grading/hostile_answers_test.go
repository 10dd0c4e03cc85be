package grading

import (
	"bytes"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// FIO-17: only the judge has the expected output: nothing that a run or its compile stage can see
// contains it or the inputs of its other tests.
func TestHostileExpectedOutputIsAbsent(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "2")
	const look = "grep -rls MARK''ER- /box /tmp /dev/shm /run /etc /var /proc/self/environ /proc/1/environ; env | " +
		"grep MARK''ER-; grep MARK''ER-"
	r := harness.CompiledRun(harness.Uncached(t,
		"{ "+look+"; } >&2 </dev/null\nmkdir lib; : >lib/x; cat >main <<'END'\n#!/bin/sh\n"+look+"; true\nEND\nchmod +x main"))
	r.Tests = []api.Test{
		{ID: "1", Stdin: []byte("one\n"), Expected: harness.Expected("MARKER-answer-1")},
		{ID: "2", Stdin: []byte("MARKER-input-2\n"), Expected: harness.Expected("MARKER-input-2")},
		{ID: "3", Stdin: []byte("three\n"), Expected: harness.Expected("MARKER-answer-3")},
	}

	res := a.MustRun(t, r)
	if res.Compile == nil || bytes.Contains(res.Compile.Stderr, []byte("MARKER")) || len(res.Tests) != 3 {
		t.Fatalf("%s, the compile stage sees %+v", res.Verdict, res.Compile)
	}

	for i, one := range res.Tests {
		want, answer := "", api.WrongAnswer
		if i == 1 {
			want, answer = "MARKER-input-2\n", api.Accepted // the control: its own input
		}
		if string(one.Result.Stdout) != want || one.Answer != answer {
			t.Errorf("test %s sees %q, %s; want %q, %s", one.ID, one.Result.Stdout, one.Answer, want, answer)
		}
	}
}
