package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/testenv"
)

const hostileDir = "../../../testdata/hostile"

// An Expectation is a case of the corpus with the methods that the tests use.
type Expectation struct{ corpus.Case }

// Expectations are all cases of the corpus.
func Expectations(t testing.TB) []Expectation {
	t.Helper()
	all, err := corpus.Cases()
	if err != nil || len(all) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var list []Expectation
	for _, c := range all {
		list = append(list, Expectation{c})
	}
	return list
}

// Request is the case as a run that a busy machine has the time to carry out: it may take long to fill a memory.
func (e Expectation) Request(c Canaries) api.Run {
	r := e.Run(c.Canaries)
	if slices.Contains(e.Verdicts, api.WallLimit) {
		return r
	}
	r.Limits.Wall = Slowly(20)
	if !slices.Contains(e.Verdicts, api.CPULimit) {
		r.Limits.CPU = Slowly(20)
	}
	return r
}

// ExpectationOf is the case with an id.
func ExpectationOf(t testing.TB, id string) Expectation {
	t.Helper()
	all := Expectations(t)
	i := slices.IndexFunc(all, func(e Expectation) bool { return e.ID == id })
	if i < 0 {
		t.Fatalf("there is no case %s", id)
	}
	return all[i]
}

// Canaries are the objects of the host that a probe would touch if it reached the host.
type Canaries struct{ *corpus.Canaries }

// NewCanaries plants the canaries, and removes them after the test.
func NewCanaries(t testing.TB) Canaries {
	t.Helper()
	c, err := corpus.Plant()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return Canaries{c}
}

// Untouched fails the test if a probe reached a canary.
func (c Canaries) Untouched(t testing.TB) {
	t.Helper()
	for _, what := range c.Touched() {
		t.Errorf("%s", what)
	}
}

// Attempts parses the JSON lines of a probe.
func Attempts(t testing.TB, out []byte) []corpus.Attempt {
	t.Helper()
	list, err := corpus.Attempts(out)
	if err != nil {
		t.Error(err)
	}
	return list
}

// CheckResult demands that a result has all that the expectation says.
func (e Expectation) CheckResult(t testing.TB, c Canaries, res api.Result) {
	t.Helper()
	for _, what := range e.Check(res, append(c.Secrets(), c.Expand(e.Absent)...)) {
		t.Errorf("%s", what)
	}
}

// BuildProbe compiles one program of the corpus; with flags it is compiled again separately.
func BuildProbe(t testing.TB, id string, flags ...string) api.File {
	t.Helper()
	if len(flags) == 0 {
		return corpus.Probe(id)
	}

	testenv.NeedTool(t, "gcc", "gcc")
	bin := filepath.Join(t.TempDir(), id)
	args := append([]string{"-static", "-O1", "-pthread", "-w", "-o", bin, filepath.Join(hostileDir, id+".c")}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", id, err, out)
	}

	content, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	return api.File{Name: id, Content: content, Executable: true}
}

// HostileLimits are the limits of a case that sets none, with time enough on a busy machine.
func HostileLimits() api.Limits {
	l := corpus.Limits()
	l.Wall = Slowly(20)
	return l
}
