package archtest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// .ci/test ends with 0 if all tiers pass, also where some of them run next to the others, and
// with 1 if a test of any part fails. CI asks nothing else of it. The go of this test runs nothing; a call
// fails whose arguments have the word that the case names.
func TestTheTestScriptEndsWithWhatTheTestsSay(t *testing.T) {
	scripts, err := filepath.Abs("../../.ci")
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	if err := os.Symlink(scripts, filepath.Join(dir, ".ci")); err != nil {
		t.Fatal(err)
	}

	const module = "github.com/brig-sandbox/brig/"
	for name, text := range map[string]string{
		"api/api.go":                   "package api\n",
		"agent/agent.go":               "package agent\n\nfunc f() {\n\tgo f()\n}\n",
		"internal/e2e/tests/languages": "TestOfALanguage\n",
		"internal/e2e/tests/alone":     "TestAlone # the machine\n",
		"internal/e2e/tests/slow":      "TestSlow # it takes minutes\n",
		"tools/go": `#!/bin/sh
case "$*" in
"list ./...") printf '` + module + `%s\n' api agent cmd/brig runtime/plan internal/e2e ;;
*" -c "*) # the end-to-end tests: they list themselves, and fail by their names
	mkdir -p bin
	printf '%s\n' '#!/bin/sh' 'case "$*" in "-test.list "*) printf "%s\n" TestOne TestScripts TestOfALanguage TestAlone TestOfAPackage TestSlow ;; *$HOW*) exit 1 ;; esac' >bin/e2e.test
	chmod +x bin/e2e.test ;;
*$HOW*) exit 1 ;;
esac
`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct {
		how  string // which command fails
		tier string
		code int
	}{
		{"none", "pure root languages", 0},
		{"brig/api", "pure", 1},
		{"-race*brig/agent", "pure", 1},
		{"brig/cmd", "root", 1},
		{"TestOne", "root", 1},
		{"TestAlone", "root", 1},
		{"TestOfALanguage", "languages", 1},
		{"-skip*TestSlow*brig/api", "pure", 1},
		{"-skip*TestSlow*brig/cmd", "root", 1},
		{"-test.run*TestSlow", "root", 0},
	} {
		c := exec.Command(".ci/test", strings.Fields(tt.tier)...)
		c.Dir = dir
		c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BRIG_") }),
			"HOW="+tt.how, "BRIG_TEST_MUST=", "PATH="+filepath.Join(dir, "tools")+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code != tt.code {
			t.Errorf("%s: %v, code %d; want %d\n%s", tt.how, err, code, tt.code, out)
		}
	}
}

// A list of tests with a name that no longer exists would leave out a test, or run it next to others.
func TestListsOfTestsNameTests(t *testing.T) {
	lists, err := filepath.Glob("../e2e/tests/*")
	if err != nil || len(lists) != 4 {
		t.Fatalf("%d lists in internal/e2e/tests, %v; want languages, alone, long and slow", len(lists), err)
	}

	var endToEnd, sources strings.Builder
	if err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}

		text, err := os.ReadFile(path)
		sources.Write(text)
		if filepath.Dir(path) == "../../internal/e2e" {
			endToEnd.Write(text)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}

	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}

		named, all := 0, endToEnd.String()
		if filepath.Base(list) == "slow" { // of all packages
			all = sources.String()
		}

		for line := range strings.Lines(string(text)) {
			name, _, _ := strings.Cut(line, "#")
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			named++
			if !strings.Contains(all, "\nfunc "+name+"(t *testing.T)") {
				t.Errorf("%s names %s, which is no test", list, name)
			}
		}

		if named == 0 {
			t.Errorf("%s names no test", list)
		}
	}
}
