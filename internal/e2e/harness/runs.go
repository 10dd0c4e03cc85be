package harness

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

// Slow scales a bound on wall time where system calls are slow, as in software emulation:
// $BRIG_TEST_SLOW is the factor.
func Slow(d time.Duration) time.Duration {
	if n, err := strconv.Atoi(os.Getenv("BRIG_TEST_SLOW")); err == nil && n > 1 {
		return d * time.Duration(n)
	}
	return d
}

// Rounds is how often a test repeats what it has to see many times: a third of n where a round
// takes many times as long. The host itself does all n.
func Rounds(n int) int {
	if Slow(1) > 1 {
		return max(1, n/3)
	}
	return n
}

// Long reports whether make test-long runs the test.
func Long() bool { return os.Getenv("BRIG_TEST_LONG") != "" }

// LeftOut reports whether make test leaves out the n-th case of a long table. It runs one of so many, and make
// test-long all.
func LeftOut(n, of int) bool { return !Long() && n%of != 0 }

// A Share decides which cases of a long table make test runs: one of so many, and the first of each kind, so that each
// kind runs. make test-long runs all. Its zero value is not valid: of is at least 1.
type Share struct {
	of   int
	n    int             // the cases so far
	seen map[string]bool // the kinds so far
}

// NewShare is a share of a long table: make test runs one of so many of its cases, and each kind at least once.
func NewShare(of int) *Share { return &Share{of: of, seen: map[string]bool{}} }

// LeavesOut reports whether make test leaves out the next case, which is of these kinds.
func (s *Share) LeavesOut(kinds ...string) bool {
	first := false
	for _, kind := range kinds {
		first = first || !s.seen[kind]
		s.seen[kind] = true
	}

	s.n++
	return !first && LeftOut(s.n-1, s.of)
}

// Soak is how often a test repeats what shows a rare fault: n times for make test-long, else a quarter.
func Soak(n int) int {
	if !Long() {
		n = max(2, n/4)
	}
	return Rounds(n)
}

// Patience is the deadline for an event that must come, where its time does not matter: on a loaded
// machine everything can take seconds.
func Patience() time.Time { return time.Now().Add(Slow(30 * time.Second)) }

// Promptly demands that the quickest of up to twenty attempts takes at most maximum: load on the machine
// makes it longer, never shorter.
func Promptly(t testing.TB, maximum time.Duration, once func() time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 20 {
		d := once()
		if d <= Slow(maximum) {
			return
		}
		took = append(took, d)
	}
	t.Errorf("took %s; want at most %s", took, Slow(maximum))
}

// Slowly is a limit in seconds that slow scales, for programs that must get somewhere before they
// reach it.
func Slowly(s float64) api.Duration {
	return api.Duration(Slow(time.Duration(s * float64(time.Second))))
}

// NeedPython loads the image of Python.
func (a *Agent) NeedPython(t testing.TB) {
	t.Helper()
	Images.Load(t, a, "python")
}

// Sh is a run of a shell script in the tiny image.
func Sh(script string) api.Run {
	return api.Run{Image: "tiny", Argv: []string{"/bin/sh", "-c", script}}
}

// Py is a run of a Python program.
func Py(source string) api.Run { return api.Run{Language: "python", Source: api.Bytes(source)} }

// RunAsync runs r in the background. A result is always delivered, so a test that waits for it never
// hangs. An error is reported, and the result is then empty.
func (a *Agent) RunAsync(t testing.TB, r api.Run) <-chan api.Result {
	t.Helper()
	done := make(chan api.Result, 1)
	go func() { // joined by the reader of the result
		res, err := a.RunPatiently(t, r)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	return done
}

// AgentStood reports whether a run ended with the error that asks for another attempt, because its agent got no
// processor for a second: then its wall limit says nothing.
func AgentStood(err error) bool {
	return api.HasCode(err, api.CodeHostExhausted) && strings.Contains(err.Error(), "the agent did not run for")
}

// RunPatiently executes r, and repeats it if its agent stood still, as the error asks.
func (a *Agent) RunPatiently(t testing.TB, r api.Run) (api.Result, error) {
	t.Helper()
	res, err := a.Client.Run(t.Context(), r)
	for tries := 1; AgentStood(err) && tries < 10; tries++ {
		res, err = a.Client.Run(t.Context(), r)
	}
	return res, err
}

// MustRun executes r and fails the test when brig itself fails.
func (a *Agent) MustRun(t testing.TB, r api.Run) api.Result {
	t.Helper()
	res, err := a.RunPatiently(t, r)
	if err != nil {
		t.Fatalf("run: %v\n%s", err, a.Log)
	}
	return res
}

// Refused sends r and demands that brig refuses it with a code.
func (a *Agent) Refused(t testing.TB, r api.Run, code api.Code) *api.Error {
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

// WantVerdict demands a verdict and reports the actual one.
func WantVerdict(t testing.TB, res api.Result, want api.Verdict) {
	t.Helper()
	if res.Verdict != want {
		t.Errorf("verdict %s (exit %d, signal %d, hit %v, denial %+v); want %s\nstdout: %.300q\nstderr: %.300q",
			res.Verdict, res.ExitCode, res.Signal, res.LimitsHit, res.Denial, want, res.Stdout, res.Stderr)
	}
}

// Program is a run of a compiled probe.
func Program(f api.File, args ...string) api.Run {
	return api.Run{Image: "tiny", Files: []api.File{f}, Argv: append([]string{"./" + f.Name}, args...)}
}

// Seconds is a limit that does not depend on how slow the machine is: see Slowly.
func Seconds(f float64) api.Duration { return api.Duration(f * float64(time.Second)) }

// Both runs a test in strict mode and in fresh mode.
func Both(t *testing.T, f func(t *testing.T, mode api.Mode)) {
	for _, mode := range []api.Mode{api.Strict, api.Fresh} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) { f(t, mode) })
	}
}
