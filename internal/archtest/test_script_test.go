package archtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scripts/test forgives only a test that passes at its second attempt. A small module fails
// in the ways that its environment names.
func TestOnlyUnsteadyTestsAreForgiven(t *testing.T) {
	script, err := filepath.Abs("../../scripts/test-again")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module unsteady\ngo 1.21\n",
		"x_test.go": `package unsteady
import ("os"; "strings"; "testing")
func is(what string) bool { return strings.Contains(" "+os.Getenv("HOW")+" ", " "+what+" ") }
func again() bool { _, err := os.Stat("mark"); os.WriteFile("mark", nil, 0o600); return err == nil }
func TestFine(t *testing.T) {}
func TestFirst(t *testing.T) { if is("first") || is("skipped") { if again() { if is("skipped") { t.Skip() }; return }; t.Run("below", func(t *testing.T) { t.Error("once\npanic: it says") }) } }
func TestSecond(t *testing.T) { if is("second") { t.Error("ever") } }
func TestThird(t *testing.T) { if is("third") { t.Error("ever") } }
func TestFourth(t *testing.T) { if is("fourth") { t.Error("ever") } }
func TestPanics(t *testing.T) { if is("panics") { panic("now") } }
func TestExits(t *testing.T) { if is("exits") { os.Exit(1) } }
func TestLate(t *testing.T) { if is("late") { select {} } }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ how, forgiven string }{
		{"first", "unsteady: TestFirst unsteady\n"},
		{"skipped", ""}, // at its second attempt: this proves nothing
		{"second", ""},
		{"first second third fourth", ""}, // too many
		{"first panics", ""},
		{"first exits", ""},
		{"first late", ""},
	} {
		t.Run(tt.how, func(t *testing.T) {
			t.Setenv("HOW", tt.how)
			if err := os.RemoveAll(filepath.Join(dir, "mark")); err != nil {
				t.Fatal(err)
			}
			first := exec.Command("go", "test", "-count=1", "-timeout", "2s", "unsteady")
			first.Dir = dir
			said, err := first.CombinedOutput()
			if err == nil {
				t.Fatalf("nothing fails: %s", said)
			}
			log := filepath.Join(dir, "log")
			if err := os.WriteFile(log, said, 0o600); err != nil {
				t.Fatal(err)
			}
			second := exec.Command(script, log)
			second.Dir = dir
			second.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BRIG_") })
			var errs strings.Builder
			second.Stderr = &errs
			out, err := second.Output()
			if (err == nil) != (tt.forgiven != "") || err == nil && string(out) != tt.forgiven {
				t.Errorf("%v, %q; want %q\nof: %s\n%s", err, out, tt.forgiven, said, &errs)
			}
		})
	}
}

// scripts/test ends with 0 if all tiers pass, also where some of them run next to the others, and
// with 1 if a test of any tier fails. CI asks nothing else of it.
func TestTheTestScriptEndsWithWhatTheTestsSay(t *testing.T) {
	scripts, err := filepath.Abs("../../scripts")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(scripts, filepath.Join(dir, "scripts")); err != nil {
		t.Fatal(err)
	}
	fails := func(how, more string) string {
		return fmt.Sprintf(`package p
import ("os"; "testing")
func TestOne(t *testing.T) { %s; if os.Getenv("HOW") == "%s" { t.Error("as told") } }
`, more, how)
	}
	files := map[string]string{
		"go.mod":                    "module github.com/brig-sandbox/brig\ngo 1.21\n",
		"api/api_test.go":           fails("pure", ""),
		"judge/judge_test.go":       fails("raced", "\n\tgo func() {}()"),
		"e2e/e2e_test.go":           fails("root", ""),
		"runtime/plan/plan_test.go": fails("runtime", ""),
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for how, want := range map[string]int{"fine": 0, "pure": 1, "raced": 1, "root": 1, "runtime": 1} {
		c := exec.Command("scripts/test", "pure", "root")
		c.Dir = dir
		c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BRIG_") }), "HOW="+how)
		out, err := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code != want {
			t.Errorf("%s: %v, code %d; want %d\n%s", how, err, code, want, out)
		}
	}
}
