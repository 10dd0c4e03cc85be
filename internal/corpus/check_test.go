package corpus

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// Every demand of a case is checked: a result that violates only that one is reported.
func TestCheckReportsEachUnmetDemand(t *testing.T) {
	c := Case{
		Verdicts: []api.Verdict{api.OK}, Errno: map[string][]string{"open": {"EPERM"}, "open /x*": {"ENOENT"}}, Lines: 2,
		Stdout: []string{"^{"}, Only: map[string][]string{"^uid (.*)$": {"1000"}}, Same: []string{"^gid (.*)$"},
		Hit: "pids", WithinMS: 10, Files: []string{"wanted"}, NoFiles: []string{"unwanted"},
	}

	good := func() api.Result {
		return api.Result{
			Verdict: api.OK, LimitsHit: []string{"pids"}, Files: []api.File{{Name: "wanted"}},
			Stdout: api.Bytes(`{"id":"X","call":"open","errno":"EPERM"}` + "\n" + `{"id":"X","call":"open /x/y","errno":"ENOENT"}` +
				"\nuid 1000\ngid 1\ngid 1\n"),
		}
	}

	secrets := []string{"canary"}
	if wrong := c.Check(good(), secrets); len(wrong) > 0 {
		t.Fatalf("a good result is wrong: %q", wrong)
	}

	replace := func(old, with string) func(*api.Result) {
		return func(r *api.Result) { r.Stdout = api.Bytes(strings.Replace(string(r.Stdout), old, with, 1)) }
	}
	for _, tt := range []struct {
		name  string
		spoil func(*api.Result)
		says  string
	}{
		{"another verdict", func(r *api.Result) { r.Verdict = api.Nonzero }, "verdict"},
		{"another errno", replace("EPERM", "0"), "open: 0"},
		{"another errno of a pattern", replace("ENOENT", "EIO"), "open /x/y: EIO"},
		{"a call nobody foresaw", replace(`"open"`, `"close"`), "close"},
		{"a line less", replace(`{"id":"X","call":"open","errno":"EPERM"}`+"\n", ""), "1 attempts"},
		{"a torn line", replace(`"EPERM"}`, `"EPE`), "line"},
		{"text that must be there", replace("{", "#"), "match"},
		{"a value not among those allowed", replace("uid 1000", "uid 0"), "uid 0"},
		{"values that differ", replace("gid 1", "gid 2"), "differs"},
		{"a secret on stdout", replace("uid", "canary uid"), "canary"},
		{"a secret on stderr", func(r *api.Result) { r.Stderr = api.Bytes("canary") }, "canary"},
		{"residue", replace("uid", "RESIDUE uid"), "RESIDUE"},
		{"a secret in a file", func(r *api.Result) { r.Files[0].Content = api.Bytes("a canary") }, "wanted holds"},
		{"a limit not hit", func(r *api.Result) { r.LimitsHit = nil }, "limits hit"},
		{"too late", func(r *api.Result) { r.Timing.Wall = 11e6 }, "took"},
		{"a file too many", func(r *api.Result) { r.Files = append(r.Files, api.File{Name: "unwanted"}) }, "unwanted was collected"},
		{"a file missing", func(r *api.Result) { r.Files = nil }, "wanted was not"},
	} {
		r := good()
		tt.spoil(&r)
		if wrong := c.Check(r, secrets); !slices.ContainsFunc(wrong, func(w string) bool { return strings.Contains(w, tt.says) }) {
			t.Errorf("%s: %q; want %q", tt.name, wrong, tt.says)
		}
	}
}

// Every case has what is needed to judge it, and a control.
func TestCasesAreComplete(t *testing.T) {
	all, err := Cases()
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range all {
		k := c.Control
		switch {
		case c.Title == "" || c.Severity == "" || len(c.Layers) == 0 || len(c.Verdicts) == 0:
			t.Errorf("%s lacks a title, severity, layers or verdicts", c.ID)
		case k.Off == nil && k.Script == "" && k.Canary == "" && len(k.Reached)+len(k.Stdout)+len(k.Differs) == 0:
			t.Errorf("%s has no control", c.ID)
		}
	}
}

func TestCanariesReportContact(t *testing.T) {
	c, err := Plant()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	if wrong := c.Touched(); len(wrong) > 0 {
		t.Fatalf("untouched: %q", wrong)
	}
	if err := c.victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, c.Victim, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if len(c.Touched()) == 0 {
		t.Error("the process was killed and nobody says so")
	}
}

// Load is no verdict: a case that is not about the wall time has the time that a busy machine may need, and one that is
// says which time.
func TestNoCaseDependsOnTheLoad(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if slices.Contains(c.Verdicts, api.WallLimit) != (c.Limits.Wall != 0 && c.Limits.Wall < Wall/10) {
			t.Errorf("%s: verdicts %v with a wall time of %v", c.ID, c.Verdicts, c.Limits.Wall)
		}
	}
}
