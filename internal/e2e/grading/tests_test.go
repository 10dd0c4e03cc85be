package grading

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Tests in one request: each is a separate run, judged alone and compared outside.
func TestTests(t *testing.T) {
	a := harness.StartCompiler(t)
	r := harness.CompiledRun(harness.Uncached(t, `mkdir lib; touch lib/x; cat >main <<'END'
#!/bin/sh
read line
ls -A | grep -q residue && echo residue
touch residue /tmp/residue
case $line in
spin) while :; do :; done ;;
hungry) head -c 50000000 /dev/zero | tail -c 40000000 >/dev/null ;;
fail) exit 3 ;;
long) head -c 100000 /dev/zero | tr '\0' x ;;
esac
echo "$line $*"
END
chmod +x main`))

	r.Argv = []string{"all"}
	r.Tests = []api.Test{
		{ID: "right", Stdin: []byte("a\n"), Expected: harness.Expected("a all  \n\n")},
		{ID: "wrong", Stdin: []byte("a\n"), Expected: harness.Expected("b all\n")},
		{ID: "not compared", Stdin: []byte("c\n"), Args: []string{"one"}},
		{ID: "spin", Stdin: []byte("spin\n"), Expected: harness.Expected("x"), Limits: api.Limits{CPU: harness.Slowly(0.2)}},
		{ID: "hungry", Stdin: []byte("hungry\n"), Limits: api.Limits{Memory: 16 * api.MiB}},
		{ID: "fail", Stdin: []byte("fail\n"), Expected: harness.Expected("")},
		{ID: "long", Stdin: []byte("long\n"), Expected: harness.Expected(strings.Repeat("x", 100000) + "long all")},
	}

	want := map[string]string{
		"right": "ok accepted", "wrong": "ok wrong-answer", "not compared": "ok ", "spin": "cpu-limit ", "hungry": "memory-limit ",
		"fail": "nonzero ", "long": "ok accepted",
	}
	check := func(t *testing.T, res api.Result) {
		t.Helper()
		var order []string
		for _, one := range res.Tests {
			order = append(order, one.ID)
			if got := fmt.Sprintf("%s %s", one.Result.Verdict, one.Answer); got != want[one.ID] {
				t.Errorf("test %s: %q; want %q: %s\n%s", one.ID, got, want[one.ID], one.Result.Stdout, one.Result.Stderr)
			}
		}

		if !slices.EqualFunc(order, r.Tests, func(id string, t api.Test) bool { return id == t.ID }) {
			t.Errorf("tests %q", order)
		}

		s := res.Summary
		if s.Tests != 7 || s.Ran != 7 || s.Accepted != 3 || s.Verdict != api.MemoryLimit || s.Answer != api.WrongAnswer ||
			s.FirstFailed != "wrong" ||
			s.MaxCPU < int64(harness.Slowly(0.2)) || s.MaxMemory < 15<<20 || res.Verdict != api.MemoryLimit {
			t.Errorf("verdict %s, summary %+v", res.Verdict, s)
		}
		if d := res.Tests[4].Result; res.Signal != d.Signal || res.ExitCode != d.ExitCode || res.SignalName != d.SignalName {
			t.Errorf("exit code %d and signal %d; want those of test hungry, %d and %d", res.ExitCode, res.Signal, d.ExitCode, d.Signal)
		}
	}

	res := a.MustRun(t, r)
	check(t, res)
	if one := res.Tests[2].Result; string(one.Stdout) != "c all one\n" || one.Run != res.Run {
		t.Errorf("stdout %q, run %s of %s", one.Stdout, one.Run, res.Run)
	}
	if d := res.Tests[1].Difference; !strings.Contains(d, "line 1") {
		t.Errorf("difference %q", d)
	}
	if one := res.Tests[6]; !one.Cut || api.Size(len(one.Result.Stdout)) != api.KeepOutput || one.Result.Usage.StdoutBytes < 100000 {
		t.Errorf("cut %v, %d bytes of %d", one.Cut, len(one.Result.Stdout), one.Result.Usage.StdoutBytes)
	}

	t.Run("streamed", func(t *testing.T) {
		var told []string
		compiled := false
		res, err := a.RunEvents(t.Context(), r, nil, client.Events{
			Compiled: func(c api.Compilation) { compiled = c.Cached && len(told) == 0 },
			Test:     func(one api.TestResult) { told = append(told, one.ID) },
		})
		if err != nil {
			t.Fatal(err)
		}

		check(t, res)
		if len(told) != 7 || !compiled {
			t.Errorf("told %q, compiled first %v", told, compiled)
		}
	})

	t.Run("stop at failure", func(t *testing.T) {
		stop := r
		stop.StopAtFailure = true
		res := a.MustRun(t, stop)
		// The slots work in parallel: some of the tests after the first failure had begun.
		if s := res.Summary; s.Tests != 7 || s.Ran >= 7 || s.Ran < 2 || len(res.Tests) != s.Ran {
			t.Errorf("summary %+v with %d tests", s, len(res.Tests))
		}
	})

	t.Run("compare by tokens", func(t *testing.T) {
		one := r
		one.Compare = api.Compare{How: api.CompareExact}
		one.Tests = []api.Test{{ID: "1", Stdin: []byte("a\n"), Expected: harness.Expected("a   all")}}
		if got := a.MustRun(t, one).Tests[0].Answer; got != api.WrongAnswer {
			t.Errorf("exact: %s", got)
		}
		one.Compare.How = api.CompareTokens
		if got := a.MustRun(t, one).Tests[0].Answer; got != api.Accepted {
			t.Errorf("tokens: %s", got)
		}
	})

	t.Run("the program is not there", func(t *testing.T) {
		none := api.Run{Image: "tiny", Argv: []string{"/no/such"}, Tests: []api.Test{{ID: "1"}, {ID: "2"}}}
		a.Refused(t, none, api.CodeNoProgram)
	})
}

// Tests run in parallel on all slots, and a job that holds none of them waits for a slot instead of
// being aborted half done.
func TestTestsShareSlots(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	tests := func(n int) (all []api.Test) {
		for i := range n {
			all = append(all, api.Test{ID: fmt.Sprint(i)})
		}
		return all
	}

	sleeps := harness.Sh("sleep 2")
	sleeps.Tests = tests(4)
	ended := a.RunAsync(t, sleeps)
	harness.Eventually(t, "tests on both slots", func() bool {
		h, err := a.Health(t.Context())
		return err == nil && h.Leased == 2
	})
	if res := <-ended; res.Summary == nil || res.Summary.Accepted != 4 {
		t.Errorf("%s, summary %+v; want all accepted", res.Verdict, res.Summary)
	}

	done := make(chan api.Result, 3)
	for range cap(done) {
		go func() {
			r := harness.Sh("sleep 0.05")
			r.Tests = tests(10)
			r.Limits.Memory = 64 * api.MiB // a small machine cannot reserve more for all of them

			for {
				res, err := a.Run(t.Context(), r)
				if err == nil {
					done <- res
					return
				}
				if t.Context().Err() != nil || !strings.Contains(err.Error(), "slots are busy") {
					t.Errorf("run: %v", err)
					done <- res
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}

	for range cap(done) {
		if res := <-done; res.Summary == nil || res.Summary.Accepted != 10 {
			t.Errorf("summary %+v", res.Summary)
		}
	}
}

// A job with many tests shares the slots with other callers, even the only slot: a refused caller
// that retries gets one as soon as a test ends.
func TestTestsLeaveSlotsToOthers(t *testing.T) {
	for _, slots := range []string{"1", "2"} {
		t.Run(slots, func(t *testing.T) {
			a := harness.StartAgent(t, "--slots", slots)
			other := harness.Sh("exit 0")
			other.Limits.Memory = 64 * api.MiB
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			defer func() { cancel(); <-ended }()

			var finished atomic.Int64
			go func() {
				defer close(ended)
				_, _ = a.RunEvents(ctx, harness.ManyTests(1000, "sleep 0.3"), nil, client.Events{Test: func(api.TestResult) { finished.Add(1) }})
			}()
			harness.Eventually(t, "two tests", func() bool { return finished.Load() >= 2 })
			before, begun := finished.Load(), time.Now()
			for done := 0; done < 5; {
				res, err := a.Run(t.Context(), other)
				if err == nil {
					harness.WantVerdict(t, res, api.OK)
					done++
					continue
				}
				if harness.WantCode(t, err, api.CodeBusy); time.Since(begun) > harness.Slow(time.Minute) {
					t.Fatalf("%d of five runs next to a job are done after %v: each waits for one test at most", done, time.Since(begun))
				}
				// At random: a wait of 0.1 s and a pause of 50 ms, twice, are as long as one test, so that each wait could begin
				// just after the slot was given to the next one.
				time.Sleep(time.Duration(rand.Int64N(int64(100 * time.Millisecond))))
			}

			harness.Eventually(t, "the tests to go on", func() bool { return finished.Load() >= before+5 })
		})
	}
}

// A caller that leaves cancels the tests that have not begun, and those under way.
func TestTestsCanceled(t *testing.T) {
	a := harness.StartAgent(t)
	r := harness.Sh("sleep 0.2")
	for i := range 100 {
		r.Tests = append(r.Tests, api.Test{ID: fmt.Sprint(i)})
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var finished atomic.Int64
	res, err := a.RunEvents(ctx, r, nil, client.Events{Test: func(api.TestResult) {
		if finished.Add(1) == 2 {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != api.Canceled || res.Summary.Verdict != api.Canceled || res.Summary.Ran > 60 {
		t.Errorf("verdict %s, summary %+v", res.Verdict, res.Summary)
	}

	harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
}

// A blob holds data that many runs share, and is sent once.
func TestBlobs(t *testing.T) {
	a := harness.StartAgent(t)
	content := fmt.Appendf(bytes.Repeat([]byte("0123456789\n"), 100000), "%s %d", t.Name(), time.Now().UnixNano())
	digest, err := a.PutBlob(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := a.PutBlob(t.Context(), content); err != nil || again != digest {
		t.Errorf("again: %s, %v", again, err)
	}

	sum := fmt.Sprintf("%s  -\n%s  data\n", digest, digest)
	r := harness.Sh("sha256sum; sha256sum data")
	r.Files = []api.File{{Name: "data", Blob: digest}}
	r.StdinBlob = digest
	if res := a.MustRun(t, r); string(res.Stdout) != sum {
		t.Errorf("stdout %q; want %q", res.Stdout, sum)
	}

	r.StdinBlob = ""
	r.Argv = []string{"cat"}
	r.Tests = []api.Test{{ID: "1", StdinBlob: digest, ExpectedBlob: digest}, {ID: "2", Stdin: []byte("x"), ExpectedBlob: digest}}
	res := a.MustRun(t, r)
	if res.Tests[0].Answer != api.Accepted || res.Tests[1].Answer != api.WrongAnswer {
		t.Errorf("answers %s, %s", res.Tests[0].Answer, res.Tests[1].Answer)
	}

	unknown := strings.Repeat("0a", 32)
	for _, bad := range []api.Run{
		{Image: "tiny", Argv: []string{"cat"}, StdinBlob: unknown},
		{Image: "tiny", Argv: []string{"cat"}, Files: []api.File{{Name: "x", Blob: unknown}}},
		{Image: "tiny", Argv: []string{"cat"}, Tests: []api.Test{{ID: "1", StdinBlob: unknown}}},
		{Image: "tiny", Argv: []string{"cat"}, Tests: []api.Test{{ID: "1", ExpectedBlob: unknown}}},
	} {
		a.Refused(t, bad, api.CodeNoBlob)
	}
}
