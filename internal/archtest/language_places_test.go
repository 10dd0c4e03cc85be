package archtest

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// Each language is in each of these files, or a first program in it has no diagnosis, no check or no test. A variant
// (python-full) has those of its language.
func TestEveryLanguageIsEverywhere(t *testing.T) {
	places := []struct {
		file, form string // in the form, NAME is the language
		without    string // languages that need not be there
	}{
		{"docs/languages.md", "(?m)^\\| `?NAME`? ", ""},
		{"docs/diagnosis.md", `\bNAME\b`, ""},
		{"internal/e2e/harness/languages_table.go", `"NAME"`, ""},
		{"judge/diagnose/explain_test.go", `\bNAME\b`, ""},
		{"judge/check/plan.go", `"NAME"`, "sql"}, // a statement is right or wrong by the tables of a database
	}

	manifests, err := os.ReadDir("../../rootfs/languages")
	if err != nil {
		t.Fatal(err)
	}

	languages := 0
	for _, m := range manifests {
		name, ok := strings.CutSuffix(m.Name(), ".yaml")
		if !ok || strings.HasSuffix(name, "-full") {
			continue
		}

		languages++
		if _, err := os.Stat("../../judge/diagnose/testdata/" + name + ".txtar"); err != nil {
			t.Errorf("the language %s: %v: write failing programs there, and record their output (CONTRIBUTING.md)", name, err)
		}
		for _, p := range places {
			if p.without != name && !inFile(t, p.file, strings.ReplaceAll(p.form, "NAME", regexp.QuoteMeta(name))) {
				t.Errorf("the language %s is not in %s", name, p.file)
			}
		}
	}

	if languages < 25 {
		t.Errorf("%d languages: the manifests are not where they were", languages)
	}
}

// Each protocol of checkers is in the table of the documents and in the lists of the tests that run checkers: what a
// submission prints must not make a checker fail, and a checker's words must not be forged.
func TestEveryProtocolIsEverywhere(t *testing.T) {
	names := map[api.Protocol]string{} // of the constants
	text, err := os.ReadFile("../../api/checker.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(Protocol\w+)\s+Protocol = "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		names[api.Protocol(m[2])] = m[1]
	}

	for _, p := range api.Protocol("").Values() {
		if names[p] == "" {
			t.Fatalf("api/checker.go has no constant of %q", p)
		}
		if !inFile(t, "docs/judging.md", "(?m)^\\| `"+string(p)+"` \\|") {
			t.Errorf("the protocol %s is not in the table of docs/judging.md", p)
		}
		if p == api.ProtocolNone || p == api.ProtocolPython { // the first judges nothing, the second is a program of ours
			continue
		}
		for _, file := range []string{"checkers_test.go", "checker_fault_test.go", "hostile_grading_test.go"} {
			if !inFile(t, path.Join("internal/e2e/grading", file), "api\\."+names[p]+`\b`) {
				t.Errorf("the protocol %s is not in internal/e2e/grading/%s", p, file)
			}
		}
	}
}

func inFile(t *testing.T, file, form string) bool {
	t.Helper()
	text, err := os.ReadFile(path.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(form).Match(text)
}
