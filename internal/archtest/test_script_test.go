package archtest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// .ci/test ends with 0 if all tiers pass, also where some of them run next to the others, and
// with 1 if a test of any part fails, unless all else is well and it passes alone, when it is run again. CI asks
// nothing else of it. The go of this test runs nothing; a call fails whose arguments have the word that the case names.
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
		"api/api.go":                        "package api\n",
		"agent/agent.go":                    "package agent\n\nfunc f() {\n\tgo f()\n}\n",
		"internal/e2e/limits/main_test.go":  "package limits\n",
		"internal/e2e/service/main_test.go": "package service\n",
		"internal/e2e/tests/languages":      "TestOfALanguage\n",
		"internal/e2e/tests/alone":          "TestAlone # the machine\n",
		"internal/e2e/tests/slow":           "TestSlow # it takes minutes\n",
		"tools/id":                          "#!/bin/sh\necho $WHO\n",
		"tools/go": `#!/bin/sh
case "$*" in
"list ./...") printf '` + module + `%s\n' api agent cmd/brig runtime/plan internal/e2e ;;
*" -c "*) # the end-to-end tests: they list themselves, and fail by their names, in their folder alone
	test() { # FOLDER TEST...
		folder=$1
		shift
		printf '%s\n' '#!/bin/sh' 'case "$*" in "-test.list "*) printf "%s\n" '"$*"' ;;' \
			'*$HOW*) case $PWD in */internal/e2e/'"$folder"') echo "$SAID"; exit 1 ;; esac ;; esac' >"bin/e2e/$folder.test"
		chmod +x "bin/e2e/$folder.test"
	}
	test limits TestOne TestAlone TestSlow TestOfAPackage
	test service TestScripts TestOfALanguage TestTwo TestOfAnotherPackage TestAlone ;;
*$HOW*) echo "$SAID"; exit 1 ;;
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

	// Each run takes seconds. As root each part runs in groups of its own, which takes still longer: two cases show that
	// these pass the outcome on.
	whoever := strconv.Itoa(os.Getuid())
	const user = "1000"
	const (
		one     = "--- FAIL: TestTwo (0.01s)\n    two_test.go:1: no\nFAIL"
		byGo    = "\nFAIL\t" + module + "service\t0.1s\nFAIL"
		passed  = "./internal/e2e/service/TestTwo failed beside others, and passed alone"
		another = "--- FAIL: TestOther (0.01s)\n"
	)
	for _, tt := range []struct {
		how  string // which command fails
		said string // what it prints
		tier string
		who  string // what id prints
		code int
		told string // what the script's output has
	}{
		{"none", "", "root languages", user, 0, ""},
		{"none", "", "languages", whoever, 0, ""},
		{"-race*brig/agent", "", "pure", user, 1, ""},
		{"brig/cmd", "", "root", user, 1, ""},
		{"TestOne", "", "root", user, 1, ""},
		{"TestAlone", "", "root", user, 1, ""},
		{"TestOfALanguage", "", "languages", whoever, 1, ""},
		{"-skip*TestSlow*brig/api", "", "pure", user, 1, ""},
		{"-test.run*TestSlow", "", "root", user, 0, ""},

		// A test that failed is run again, by a command without -test.v.
		{"-test.v*TestTwo", one, "root", user, 0, passed},
		{"-test.v*TestTwo", another + one, "root", user, 0, passed},
		{"TestTwo", one, "root", user, 1, "./internal/e2e/service/TestTwo FAILED twice"},
		{"-skip*brig/api", one + byGo, "pure root", user, 0, module + "service/TestTwo failed beside others"},
		{"-test.v*TestTwo", another + "--- FAIL: TestA (0s)\n--- FAIL: TestB (0s)\n--- FAIL: TestC (0s)\n" +
			"--- FAIL: TestD (0s)\n" + one, "root", user, 1, "6 tests failed, and at most 5 are run again"},

		// Not if that is not all.
		{"-test.v*TestTwo", one + "\nmounts are left", "root", user, 1, ""},
		{"-test.v*TestTwo", "--- FAIL: TestTwo (0.01s)\npanic: no\nFAIL", "root", user, 1, ""},
		{"-test.v*TestTwo", "WARNING: DATA RACE\n" + one, "root", user, 1, ""},
		{"-test.v*TestTwo", "FAIL", "root", user, 1, ""},
		{"-skip*brig/api", one + byGo + "\nFAIL\t" + module + "api [build failed]\nFAIL", "pure", user, 1, ""},
		{"-skip*brig/api", "--- FAIL: TestTwo (0.01s)\nexit status 2" + byGo, "pure", user, 1, ""},
	} {
		c := exec.Command(".ci/test", strings.Fields(tt.tier)...)
		c.Dir = dir
		c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BRIG_") }),
			"HOW="+tt.how, "SAID="+tt.said, "WHO="+tt.who, "BRIG_TEST_MUST=",
			"PATH="+filepath.Join(dir, "tools")+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.told) {
			t.Errorf("%s, %q: %v, code %d; want %d, %q\n%s", tt.how, tt.said, err, code, tt.code, tt.told, out)
		}
	}
}

// A list of tests with a name that no longer exists would leave out a test, or run it next to others; a list of what a
// machine leaves out would no longer leave out what it means.
func TestListsOfTestsNameTests(t *testing.T) {
	const endToEnd = "internal/e2e/"
	where := map[string][]string{ // where the tests of a list are, by its path below internal/e2e
		"tests/languages": {endToEnd}, "tests/alone": {endToEnd}, "tests/long": {endToEnd}, "tests/slow": {""},
		"v2/left-out": {endToEnd}, "v2/qemu-tests": {endToEnd}, "v2/quick-tests": {endToEnd},
		"v2/quick-left-out": {"cgroups/", "runtime/"},
	}

	for _, list := range listsOfTests(t) {
		if where[list] == nil {
			t.Errorf("internal/e2e/%s: nothing says where its tests are", list)
		}
	}

	sources := map[string]string{}
	if err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}

		text, err := os.ReadFile(path)
		sources[strings.TrimPrefix(path, "../../")] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}

	for list, folders := range where {
		text, err := os.ReadFile("../e2e/" + list)
		if err != nil {
			t.Error(err)
			continue
		}

		var all strings.Builder
		for file, source := range sources {
			if slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(file, folder) }) {
				all.WriteString(source)
			}
		}

		named := namesInList(string(text))
		if len(named) == 0 {
			t.Errorf("%s names no test", list)
		}
		for _, name := range named {
			if !strings.Contains(all.String(), "\nfunc "+name+"(t *testing.T)") {
				t.Errorf("%s names %s, which is no test of %s", list, name, strings.Join(folders, ", "))
			}
		}
	}
}

// listsOfTests are the paths, below internal/e2e, of the files that are lists of tests: each line begins with the name
// of one.
func listsOfTests(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../e2e/*/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}

	var lists []string
	isList := regexp.MustCompile(`^(#.*\n|\n)*Test[A-Z]\w*[$/ \n]`)
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || filepath.Ext(file) != "" {
			continue
		}

		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if isList.Match(text) {
			lists = append(lists, strings.TrimPrefix(file, "../e2e/"))
		}
	}

	return lists
}

// namesInList are the names of the tests in a list, without those of their subtests.
func namesInList(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			name, _, _ := strings.Cut(words[0], "/")
			names = append(names, strings.TrimSuffix(name, "$"))
		}
	}
	return names
}

// What make test leaves out of a test make test-long must run: each test with a share of its cases, or fewer
// repetitions, is in its list.
func TestWhatIsLeftOutRunsInMakeTestLong(t *testing.T) {
	list, err := os.ReadFile("../e2e/tests/long")
	if err != nil {
		t.Fatal(err)
	}

	files, err := filepath.Glob("../e2e/*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}

	test := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	shares := regexp.MustCompile(`\bharness\.(LeftOut|NewShare|Soak|Long)\(`)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		for _, part := range strings.Split(string(text), "\nfunc Test")[1:] {
			name := test.FindStringSubmatch("func Test" + part)[1]
			body, _, _ := strings.Cut(part, "\n}\n")
			if !shares.MatchString(body) {
				continue
			}
			found++
			if !regexp.MustCompile(`(?m)^` + name + `( |$)`).Match(list) {
				t.Errorf("%s leaves out something, and internal/e2e/tests/long does not name it", name)
			}
		}
	}

	if found < 10 {
		t.Errorf("only %d tests leave out something", found)
	}
}
