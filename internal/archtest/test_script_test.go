package archtest

import (
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
		"service/service.go":           "package service\n\nfunc f() {\n\tgo f()\n}\n",
		"internal/e2e/tests/languages": "TestOfALanguage\n",
		"internal/e2e/tests/alone":     "TestAlone # the machine\n",
		"tools/go": `#!/bin/sh
case "$*" in
"list ./...") printf '` + module + `%s\n' api service cmd/brig runtime/plan internal/e2e ;;
*" -c "*) # the end-to-end tests: they list themselves, and fail by their names
	mkdir -p bin
	printf '%s\n' '#!/bin/sh' 'case "$*" in "-test.list "*) printf "%s\n" TestOne TestScripts TestOfALanguage TestAlone TestOfAPackage ;; *$HOW*) exit 1 ;; esac' >bin/e2e.test
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

	for how, want := range map[string]int{
		"none":               0,
		"brig/api":           1,
		"-race*brig/service": 1,
		"brig/cmd":           1,
		"TestOne":            1,
		"TestAlone":          1,
		"TestOfALanguage":    1,
	} {
		c := exec.Command(".ci/test", "pure", "root", "languages")
		c.Dir = dir
		c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BRIG_") }),
			"HOW="+how, "BRIG_TEST_MUST=", "PATH="+filepath.Join(dir, "tools")+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code != want {
			t.Errorf("%s: %v, code %d; want %d\n%s", how, err, code, want, out)
		}
	}
}

// A list of tests with a name that no longer exists would leave out a test, or run it next to others.
func TestListsOfTestsNameTests(t *testing.T) {
	lists, err := filepath.Glob("../e2e/tests/*")
	if err != nil || len(lists) != 3 {
		t.Fatalf("%d lists in internal/e2e/tests, %v; want languages, alone and long", len(lists), err)
	}

	var sources strings.Builder
	files, err := filepath.Glob("../e2e/*_test.go")
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(text)
	}

	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}

		named := 0
		for line := range strings.Lines(string(text)) {
			name, _, _ := strings.Cut(line, "#")
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			named++
			if !strings.Contains(sources.String(), "\nfunc "+name+"(t *testing.T)") {
				t.Errorf("%s names %s, which is no test", list, name)
			}
		}

		if named == 0 {
			t.Errorf("%s names no test", list)
		}
	}
}
