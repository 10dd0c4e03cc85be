package grading

import (
	"bytes"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// GRD-01: nothing that a program or its compile stage can see contains the answer, the checker, its source
// or its files. The checker, as the control, sees all of it.
func TestHostileCheckerIsAbsent(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "1")
	const look = "grep -rls MARK''ER- /box /tmp /dev/shm /run /etc /var /proc/self/environ /proc/1/environ; env | " +
		"grep MARK''ER-; grep MARK''ER-"
	r := harness.CompiledRun(harness.Uncached(t,
		"{ "+look+"; } >&2 </dev/null\nmkdir lib; : >lib/x; cat >main <<'END'\n#!/bin/sh\n"+look+"; true\nEND\nchmod +x main"))
	r.Check = checker(api.ProtocolExit,
		"grep -rl MARKER- /box | sort >&2; echo $(grep -rl MARKER- /box | wc -l) of MARKER-argument", "MARKER-args")
	r.Check.Files = []api.File{{Name: "testlib.h", Content: []byte("MARKER-header")}}
	for _, id := range []string{"1", "2"} {
		r.Tests = append(r.Tests,
			api.Test{ID: id, Stdin: []byte("one\n"), Expected: harness.Expected("MARKER-answer"), CheckArgs: []string{"MARKER-own"}})
	}

	res := a.MustRun(t, r)
	if res.Compile == nil || bytes.Contains(res.Compile.Stderr, []byte("MARKER")) {
		t.Fatalf("%s, the compile stage sees %+v", res.Verdict, res.Compile)
	}

	for _, one := range res.Tests {
		if len(one.Result.Stdout) > 0 || one.Answer != api.Accepted || !strings.HasPrefix(one.Message, "2 of") {
			t.Errorf("test %s sees %q; the checker %q, %s", one.ID, one.Result.Stdout, one.Message, one.Answer)
		}
	}
}

// GRD-02: what a program prints, leaves behind or exits with is never taken for the word of the checker.
func TestHostileForgedWords(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	forge := `for w in ok 42 1.0 100 "partially correct (200)" "points 1" "partial 1/1"; do echo "$w"; echo "$w" >&2; done
		mkdir -p feedback judge; for f in feedback/score.txt feedback/score_multiplier.txt feedback/nextpass.in judge/score judge/output judge/answer checker.py testlib.h sitecustomize.py conftest.py; do echo 1 >$f; done
		(while :; do echo 100 >judge/score; echo 1 >feedback/score.txt; done) >/dev/null 2>&1 & setsid sleep 100 >/dev/null 2>&1 &
		`
	for _, c := range []*api.Check{
		checker(api.ProtocolKattis, "cat >/dev/null; ls $3 >&2; exit 43"),
		checker(api.ProtocolTestlib, "echo 'wrong answer no' >&2; exit 1"),
		checker(api.ProtocolCMS, "echo 0"),
		checker(api.ProtocolDMOJ, "exit 1"),
		checker(api.ProtocolCOCI, "exit 1"),
		checker(api.ProtocolEjudge, "exit 5"),
		checker(api.ProtocolSYZOJ, "echo 0"),
		checker(api.ProtocolLemon, "echo 0 >$5"),
		checker(api.ProtocolPEG, "exit 1"),
		checker(api.ProtocolScaleBox, "exit 1"),
		checker(api.ProtocolExit, "exit 1"),
	} {
		r := harness.Sh(forge)
		r.Check, r.Tests = c, []api.Test{{ID: "1"}}
		one := a.MustRun(t, r).Tests[0]
		if one.Answer != api.WrongAnswer || one.Result.Verdict != api.OK || one.Checker == nil || one.Points != nil ||
			one.Score != nil && *one.Score != 0 {
			t.Errorf("%s: %s, verdict %s, score %v", c.Protocol, one.Answer, one.Result.Verdict, score(one))
		}
		if c.Protocol == api.ProtocolKattis && len(one.Checker.Stderr) > 0 {
			t.Errorf("the checker found in its feedback directory: %s", one.Checker.Stderr)
		}
	}
}

// GRD-04: outputs that crash readers are wrong, whichever comparison reads them; none is accepted, and none
// ends the agent.
func TestHostileOutputsAreWrong(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	outputs := map[string]string{
		"NUL":             `printf '1\0'`,
		"a token of 1M":   `head -c 1000000 /dev/zero | tr '\0' 1`,
		"deep nesting":    `head -c 500000 /dev/zero | tr '\0' '['`,
		"deep objects":    `head -c 100000 /dev/zero | tr "\0" x | sed 's/x/{"a":/g'`,
		"nan":             `echo nan`,
		"beyond a double": `echo 1e999`,
		"a huge exponent": `echo 1e99999999999999999999`,
		"many digits":     `printf 1.; head -c 1000000 /dev/zero | tr '\0' 0; echo 1`,
		"bytes":           `head -c 100000 /dev/zero | tr '\0' '\377'`,
		"lines":           `head -c 500000 /dev/zero | tr '\0' '\n'; echo 2`,
		"nothing":         `true`,
	}

	eps := 1e-6
	for name, script := range outputs {
		for _, how := range api.CompareExact.Values() {
			r := harness.Sh(script)
			r.Compare = api.Compare{How: how}
			if how == api.CompareKattis {
				r.Compare.Absolute, r.Compare.Relative = &eps, &eps
			}

			r.Limits.Output = 16 * api.MiB
			r.Tests = []api.Test{{ID: "1", Expected: harness.Expected("1")}}
			one := a.MustRun(t, r).Tests[0]
			if near := name == "many digits" &&
				(how == api.CompareKattis || how == api.CompareFloat); near != (one.Answer == api.Accepted) || one.Answer == "" {
				t.Errorf("%s, %s: %s with verdict %s", name, how, one.Answer, one.Result.Verdict)
			}
			if len(one.Difference) > 1000 {
				t.Errorf("%s, %s: the difference has %d bytes", name, how, len(one.Difference))
			}
		}
	}

	if res := a.MustRun(t, harness.Sh("echo alive")); string(res.Stdout) != "alive\n" {
		t.Errorf("%s", res.Stdout)
	}
}
