//go:build foreign

package grading

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// verified is what brig problem verify --json prints, as far as this test reads it.
type verified struct {
	Format      string   `json:"format"`
	OK          bool     `json:"ok"`
	Mistakes    []string `json:"mistakes"`
	NotRun      []string `json:"not_run"`
	Submissions []struct {
		Path, Got, Expected string
		Unexpected          []string
		Tests               map[string]string
	} `json:"submissions"`
}

// outcomes are the outcomes of all tests of all submissions, in a fixed order.
func (v verified) outcomes() string {
	var b strings.Builder
	for _, s := range v.Submissions {
		if strings.Contains(s.Path, "random") {
			continue // it answers at random, and everything is permitted
		}
		fmt.Fprintf(&b, "%s:", s.Path)
		for _, id := range slices.Sorted(maps.Keys(s.Tests)) {
			fmt.Fprintf(&b, " %s=%s", id, s.Tests[id])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// foreignPackages verifies each package three times, and returns the rows of the table.
func foreignPackages(t *testing.T, a *harness.Agent, dir foreignDir) []string {
	packages := []struct{ name, path string }{
		{"problemtools hello", filepath.Dir(dir.find("examples/hello/problem.yaml"))},
		{"problemtools oddecho", filepath.Dir(dir.find("examples/oddecho/problem.yaml"))},
		{"DOMjudge boolfind", filepath.Dir(dir.find("example_problems/boolfind/problem.yaml"))},
		{"DOMjudge fltcmp", filepath.Dir(dir.find("example_problems/fltcmp/problem.yaml"))},
		{"library-checker aplusb", ""},
		{"Polygon little-h-reboot", dir.find("test/fixtures/little-h-reboot-7$linux.zip")},
		{"Polygon guess-array", dir.find("test/fixtures/guess-array-1$linux.zip")},
	}

	var rows []string
	for _, p := range packages {
		t.Run(p.name, func(t *testing.T) {
			path := p.path
			if path == "" {
				path = libraryPackage(t, a, filepath.Dir(dir.find("sample/aplusb/info.toml")))
			}

			var first verified
			right := 0
			for i := range 3 {
				v := verifyPackage(t, a, path)
				if v.OK {
					right++
				} else {
					t.Errorf("%s", strings.Join(v.Mistakes, "\n"))
				}
				if i == 0 {
					first = v
				} else if v.outcomes() != first.outcomes() {
					t.Errorf("the outcomes differ:\n%s\nand\n%s", first.outcomes(), v.outcomes())
				}
			}

			rows = append(rows, fmt.Sprintf("| %s | %s | %d | %d | right %d times |\n", p.name, first.Format, len(first.Submissions),
				len(first.NotRun), right))
			for _, n := range first.NotRun {
				t.Logf("not run: %s", n)
			}
		})
	}

	return rows
}

func verifyPackage(t *testing.T, a *harness.Agent, path string) (v verified) {
	t.Helper()
	c := exec.Command(harness.Binary(t, "brig"), "problem", "verify", "--json", "--quiet", "--no-build", "--socket", a.Socket, path)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v: %s", err, &errs)
	}
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// libraryPackage makes a package in Polygon's form of a problem of library-checker: its own form says the
// same in other words. The answers are those of its right solution.
func libraryPackage(t *testing.T, a *harness.Agent, from string) string {
	t.Helper()
	to := t.TempDir()
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}

	write := func(name string, text []byte) {
		err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range []string{"checker.cpp", "verifier.cpp", "sol/correct.cpp", "sol/wa.cpp"} {
		write(name, read(name))
	}

	write("testlib.h", read("../../common/testlib.h"))
	params := []byte("#define A_AND_B_MAX (long long)1000000000\n") // of info.toml
	write("params.h", params)
	examples, err := filepath.Glob(filepath.Join(from, "gen", "*.in"))
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}

	var inputs [][]byte
	for _, name := range examples {
		inputs = append(inputs, read(filepath.Join("gen", filepath.Base(name))))
	}

	for seed := range 10 { // as info.toml says
		generator := api.Run{Language: "cpp", Source: read("gen/random.cpp"), SourceName: "gen/random.cpp", Argv: []string{fmt.Sprint(seed)}}
		generator.Files = []api.File{{Name: "gen/random.h", Content: read("../../common/random.h")}, {Name: "params.h", Content: params}}
		inputs = append(inputs, printed(t, a, generator))
	}

	var tests strings.Builder
	for i, in := range inputs {
		write(fmt.Sprintf("tests/%02d", i+1), in)
		write(fmt.Sprintf("tests/%02d.a", i+1), printed(t, a, api.Run{Language: "cpp", Source: read("sol/correct.cpp"), Stdin: in}))
		tests.WriteString(`<test method="manual"/>`)
	}

	write("problem.xml", fmt.Appendf(nil, `<problem short-name="aplusb"><names><name language="english" value="A + B"/></names>
<judging input-file="" output-file=""><testset name="tests"><time-limit>2000</time-limit><memory-limit>1073741824</memory-limit>
<test-count>%d</test-count><input-path-pattern>tests/%%02d</input-path-pattern><answer-path-pattern>tests/%%02d.a</answer-path-pattern>
<tests>%s</tests></testset></judging>
<files><resources><file path="testlib.h" type="h.g++"/><file path="params.h" type="h.g++"/></resources></files>
<assets><checker type="testlib"><source path="checker.cpp" type="cpp.g++17"/></checker>
<validators><validator><source path="verifier.cpp" type="cpp.g++17"/></validator></validators>
<solutions><solution tag="main"><source path="sol/correct.cpp" type="cpp.g++17"/></solution>
<solution tag="wrong-answer"><source path="sol/wa.cpp" type="cpp.g++17"/></solution></solutions></assets></problem>
`, len(inputs), tests.String()))

	return to
}

// printed is what a program prints.
func printed(t *testing.T, a *harness.Agent, r api.Run) []byte {
	t.Helper()
	res := a.MustRun(t, r)
	if res.Verdict != api.OK {
		t.Fatalf("%s: %s %s", r.SourceName, res.Verdict, res.Stderr)
	}
	return res.Stdout
}
