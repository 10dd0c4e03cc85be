package e2e

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// slow scales a bound on wall time where system calls are slow, as in software emulation:
// $BRIG_TEST_SLOW is the factor.
func slow(d time.Duration) time.Duration {
	if n, err := strconv.Atoi(os.Getenv("BRIG_TEST_SLOW")); err == nil && n > 1 {
		return d * time.Duration(n)
	}
	return d
}

// rounds is how often a test repeats what it has to see many times: a third of n where a round
// takes many times as long. The host itself does all n.
func rounds(n int) int {
	if slow(1) > 1 {
		return max(1, n/3)
	}
	return n
}

// long reports whether make test-long runs the test.
func long() bool { return os.Getenv("BRIG_TEST_LONG") != "" }

// leftOut reports whether make test leaves out the n-th case of a long table. It runs one of so many, and make
// test-long all.
func leftOut(n, of int) bool { return !long() && n%of != 0 }

// soak is how often a test repeats what shows a rare fault: n times for make test-long, else a quarter.
func soak(n int) int {
	if !long() {
		n = max(2, n/4)
	}
	return rounds(n)
}

// patience is the deadline for an event that must come, where its time does not matter: on a loaded
// machine everything can take seconds.
func patience() time.Time { return time.Now().Add(slow(30 * time.Second)) }

// promptly demands that the quickest of up to twenty attempts takes at most maximum: load on the machine
// makes it longer, never shorter.
func promptly(t testing.TB, maximum time.Duration, once func() time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 20 {
		d := once()
		if d <= slow(maximum) {
			return
		}
		took = append(took, d)
	}
	t.Errorf("took %s; want at most %s", took, slow(maximum))
}

// slowly is a limit in seconds that slow scales, for programs that must get somewhere before they
// reach it.
func slowly(s float64) api.Duration {
	return api.Duration(slow(time.Duration(s * float64(time.Second))))
}

// needPython loads the image of Python.
func (a *agent) needPython(t testing.TB) {
	t.Helper()
	images.load(t, a, "python")
}

// sh is a run of a shell script in the tiny image.
func sh(script string) api.Run {
	return api.Run{Image: "tiny", Argv: []string{"/bin/sh", "-c", script}}
}

// py is a run of a Python program.
func py(source string) api.Run { return api.Run{Language: "python", Source: api.Bytes(source)} }

// runAsync runs r in the background. A result is always delivered, so a test that waits for it never
// hangs. An error is reported, and the result is then empty.
func (a *agent) runAsync(t testing.TB, r api.Run) <-chan api.Result {
	t.Helper()
	done := make(chan api.Result, 1)
	go func() { // joined by the reader of the result
		res, err := a.runPatiently(t, r)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	return done
}

// agentStood reports whether a run ended with the error that asks for another attempt, because its agent got no
// processor for a second: then its wall limit says nothing.
func agentStood(err error) bool {
	return api.HasCode(err, api.CodeHostExhausted) && strings.Contains(err.Error(), "the agent did not run for")
}

// runPatiently executes r, and repeats it if its agent stood still, as the error asks.
func (a *agent) runPatiently(t testing.TB, r api.Run) (api.Result, error) {
	t.Helper()
	res, err := a.Client.Run(t.Context(), r)
	for tries := 1; agentStood(err) && tries < 10; tries++ {
		res, err = a.Client.Run(t.Context(), r)
	}
	return res, err
}

// run executes r and fails the test when brig itself fails.
func (a *agent) run(t testing.TB, r api.Run) api.Result {
	t.Helper()
	res, err := a.runPatiently(t, r)
	if err != nil {
		t.Fatalf("run: %v\n%s", err, a.log)
	}
	return res
}

// refused sends r and demands that brig refuses it with a code.
func (a *agent) refused(t testing.TB, r api.Run, code api.Code) *api.Error {
	t.Helper()
	res, err := a.Client.Run(t.Context(), r)
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("run ended with %+v, %v; want a refusal with code %s", res.Verdict, err, code)
	}
	if e.Code != code {
		t.Errorf("refused with code %s (%s); want %s", e.Code, e.Message, code)
	}
	return e
}

// wantVerdict demands a verdict and reports the actual one.
func wantVerdict(t testing.TB, res api.Result, want api.Verdict) {
	t.Helper()
	if res.Verdict != want {
		t.Errorf("verdict %s (exit %d, signal %d, hit %v, denial %+v); want %s\nstdout: %.300q\nstderr: %.300q",
			res.Verdict, res.ExitCode, res.Signal, res.LimitsHit, res.Denial, want, res.Stdout, res.Stderr)
	}
}

// program is a run of a compiled probe.
func program(f api.File, args ...string) api.Run {
	return api.Run{Image: "tiny", Files: []api.File{f}, Argv: append([]string{"./" + f.Name}, args...)}
}

func seconds(f float64) api.Duration { return api.Duration(f * float64(time.Second)) }

// both runs a test in strict mode and in fresh mode.
func both(t *testing.T, f func(t *testing.T, mode api.Mode)) {
	for _, mode := range []api.Mode{api.Strict, api.Fresh} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) { f(t, mode) })
	}
}
