package check_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/check"
)

const done = `{"done": true}` + "\n"

func ended(stdout string) api.Result { return api.Result{Verdict: api.OK, Stdout: api.Bytes(stdout)} }

func TestSecrets(t *testing.T) {
	for _, tt := range []struct {
		line string
		want string // rule; empty: none
	}{
		{`password = "hunter2"`, "password"},
		{`DB_PASSWORD: str = 'hunter2'`, "password"},
		{`const apiKey = "9f8a7b6c5d4e";`, "password"},
		{`config["client_secret"] = "9f8a7b6c5d4e"`, "password"},
		{`{"passwd": "hunter2"}`, "password"},
		{`:password => "hunter2"`, "password"},
		{`password := "hunter2"`, "password"},
		{`if password == "hunter2":`, "password"},
		{`String password = new String("hunter2");`, ""}, // a call, which a search by line does not follow
		{`char *password = "hunter2";`, "password"},
		{`$password = 'hunter2';`, "password"},
		{`connect(password="hunter2")`, "password"},
		{`key = "AKIAIOSFODNN7EXAMPLE"`, "token"},
		{`t = "ghp_0123456789abcdefghijABCDEFGHIJ012345"`, "token"},
		{`-----BEGIN RSA PRIVATE KEY-----`, "private-key"},
		{`-----BEGIN PRIVATE KEY-----`, "private-key"},
		{`url = "postgres://admin:hunter2@db.example.com/x"`, "token"},
		{`k = "sk_live_0123456789abcdefghij"`, "token"},
		{`jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmnop"`, "token"},

		{`password = input("Password: ")`, ""},
		{`password = os.environ["PASSWORD"]`, ""},
		{`password = ""`, ""},
		{`password = "<your password>"`, ""},
		{`password = "changeme"`, ""},
		{`password = "${DB_PASSWORD}"`, ""},
		{`password_prompt = "hunter2"`, ""},
		{`password_field = "pw2"`, ""},
		{`message = "the password is wrong"`, ""},
		{`token = "("`, ""},
		{`secret = "a word"`, ""},
		{`secret = "kept"`, ""},
		{`print("password: ok")`, ""},
		{`url = "https://example.com:8080/a@b"`, ""},
		{`-----BEGIN PUBLIC KEY-----`, ""},
		{`skip = "sk-"`, ""},
	} {
		t.Run(tt.line, func(t *testing.T) {
			found := check.Source("main.x", []byte("// first\n"+tt.line+"\n"))
			got := ""
			for _, f := range found {
				got = f.Rule
				if f.Line != 2 || f.Column < 1 || !f.Severity.AtLeast(api.SeverityError) {
					t.Errorf("%+v", f)
				}
				for _, word := range []string{"hunter2", "9f8a7b6c5d4e", "IOSFODNN7", "0123456789"} {
					if strings.Contains(f.Snippet+f.Message, word) {
						t.Errorf("%+v shows the secret", f)
					}
				}
			}

			if got != tt.want {
				t.Errorf("found %q; want %q", got, tt.want)
			}
		})
	}
}

func TestSecretsOfOneLineAreAllHidden(t *testing.T) {
	line := `eval("x"); password = "hunter2"; api_key = "9f8a7b6c5d4e"`
	run := func(api.Run) (api.Result, error) {
		return ended(`{"rule":"python-eval","line":1,"column":1,"name":"eval"}` + "\n" + done), nil
	}
	found, err := check.Program("python", "main.py", []byte(line), run)
	if err != nil || len(found) != 3 {
		t.Fatalf("%v, %+v; want eval and two secrets", err, found)
	}

	for _, f := range found {
		if strings.Contains(f.Snippet, "hunter2") || strings.Contains(f.Snippet, "9f8a7b") || !strings.Contains(f.Snippet, "***") {
			t.Errorf("%+v shows a secret", f)
		}
	}
}

// A source without a name has the same name in all findings.
func TestFindingsNameOneFile(t *testing.T) {
	run := func(api.Run) (api.Result, error) {
		return ended(`{"rule":"python-eval","line":2,"column":1,"name":"eval"}` + "\n" + done), nil
	}
	found, err := check.Program("python", "", []byte("password = \"hunter2\"\neval(x)\n"), run)
	if err != nil || len(found) != 2 || found[0].File != "main.py" || found[1].File != "main.py" {
		t.Errorf("%v, %+v; want two findings in main.py", err, found)
	}
}

// A finding about something that cannot work in a sandbox does not refuse the source.
func TestNetworkUseIsInformational(t *testing.T) {
	run := func(api.Run) (api.Result, error) {
		return ended(`{"rule":"network","line":1,"column":1,"name":"socket"}` + "\n" + done), nil
	}
	found, err := check.Program("python", "main.py", []byte("import socket\n"), run)
	if err != nil || len(found) != 1 || found[0].Severity != api.SeverityInfo || check.HasErrors(found) ||
		found[0].Message != "socket needs a network, and a sandbox has none" {
		t.Errorf("%v, %+v", err, found)
	}
}

func TestLargeSourceIsReported(t *testing.T) {
	if found := check.Source("main.py", make([]byte, check.LargeSource)); len(found) != 0 {
		t.Errorf("%+v; want nothing of exactly 1 MiB", found)
	}

	found := check.Source("main.py", make([]byte, check.LargeSource+1))
	if len(found) != 1 || found[0].Rule != "large" || check.HasErrors(found) {
		t.Errorf("%+v; want a warning", found)
	}
	if want := "the source has 1048577 bytes: more than the usual maximum of 1 MiB"; found[0].Message != want {
		t.Errorf("it says %q; want %q", found[0].Message, want)
	}
	if found = check.Source("main.py", make([]byte, 2*check.LargeSource)); !strings.Contains(found[0].Message, " 2097152 bytes:") {
		t.Errorf("it says %q", found[0].Message)
	}
}

func TestEveryCheckerIsInALanguagesImage(t *testing.T) {
	for _, language := range []string{"python", "python-full", "javascript", "typescript", "c", "cpp", "java", "go", "rust", "ruby",
		"ruby-full", "php", "bash", "perl", "lua", "csharp", "fsharp", "vb", "powershell", "mono", "pascal", "haskell", "pypy", "ocaml", "kotlin",
		"scala", "swift", "d", "r", "fortran"} {
		r, ok := check.Plan(language, "", []byte("x"))
		if !ok || r.Language != language || len(r.Files) != 1 || r.Profile == "" || !slices.Contains(r.Argv, "./"+r.Files[0].Name) {
			t.Errorf("%s: %v, %+v", language, ok, r)
		}
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", language, err)
		}
	}

	if _, ok := check.Plan("klingon", "main.kl", []byte("x")); ok {
		t.Error("klingon has a checker")
	}
	if r, ok := check.Plan("python", "-c", []byte("x")); !ok || slices.Contains(r.Argv, "-c") {
		t.Errorf("a source's name is taken for a flag: %q", r.Argv)
	}
	if r, _ := check.Plan("python", "../../etc/passwd", []byte("x")); r.Files[0].Name != "main.py" {
		t.Errorf("source placed as %q", r.Files[0].Name)
	}
}

// The parsed program may have taken over the parser: its output can be anything.
func TestReadBelievesLittle(t *testing.T) {
	source := []byte("first\nsecond line\n")
	for name, tt := range map[string]struct {
		stdout string
		rules  []string
	}{
		"a finding":             {`{"rule":"python-eval","line":2,"column":3,"name":"eval"}` + "\n" + done, []string{"python-eval"}},
		"an unknown rule":       {`{"rule":"harmless","line":1,"column":1,"name":"x"}` + "\n" + done, nil},
		"no JSON":               {"hello\n" + done, nil},
		"cut off":               {`{"rule":"python-eval","line":2,"column":3,"name":"eval"}` + "\n", []string{"not-checked", "python-eval"}},
		"nothing":               {"", []string{"not-checked"}},
		"more after the end":    {done + "more\n", []string{"not-checked"}},
		"a secret is not its":   {`{"rule":"private-key","line":1,"column":1,"name":"x"}` + "\n" + done, nil},
		"numbers of no line":    {`{"rule":"syntax","line":999999999,"column":-4,"name":"bad"}` + "\n" + done, []string{"syntax"}},
		"numbers that are none": {`{"rule":"syntax","line":1e400,"column":"x"}` + "\n" + done, nil},
		"a name of escapes":     {`{"rule":"syntax","line":1,"column":1,"name":"\u001b[31m\u202e\u0000\nx"}` + "\n" + done, []string{"syntax"}},
	} {
		t.Run(name, func(t *testing.T) {
			var rules []string
			for _, f := range check.Read("python", "main.py", source, ended(tt.stdout)) {
				rules = append(rules, f.Rule)
				checkFinding(t, f, source)
			}
			slices.Sort(rules)
			if !slices.Equal(rules, tt.rules) {
				t.Errorf("rules %q; want %q", rules, tt.rules)
			}
		})
	}
}

func TestReadIsLimitedAndSorted(t *testing.T) {
	source := []byte(strings.Repeat("eval(x)\n", 5000))
	var b strings.Builder
	for i := 5000; i > 0; i-- {
		rule := "python-import"
		if i == 4321 {
			rule = "python-eval"
		}
		fmt.Fprintf(&b, `{"rule":%q,"line":%d,"column":1,"name":%q}`+"\n", rule, i, strings.Repeat("n", 2000))
	}

	found := check.Read("python", "main.py", source, ended(b.String()+done))
	if len(found) != check.MaxFindings {
		t.Errorf("%d findings; want %d", len(found), check.MaxFindings)
	}
	if !slices.IsSortedFunc(found, func(a, b api.Finding) int { return a.Line - b.Line }) {
		t.Error("they are not in the order of the source")
	}
	if !check.HasErrors(found) {
		t.Error("the one that weighs most was dropped")
	}
}

func TestFailedCheckIsAFinding(t *testing.T) {
	for _, r := range []api.Result{
		{Verdict: api.MemoryLimit}, {Verdict: api.WallLimit}, {Verdict: api.Signaled, SignalName: "SIGSEGV"},
		{Verdict: api.Nonzero, ExitCode: 1, Stderr: api.Bytes("Traceback")},
	} {
		found := check.Read("python", "main.py", []byte("x"), r)
		if len(found) != 1 || found[0].Rule != "not-checked" || !check.HasErrors(found) {
			t.Errorf("%s: %+v; want not-checked, which is not let pass", r.Verdict, found)
		}
	}

	boom := errors.New("no agent")
	if _, err := check.Program("python", "main.py", []byte("x"),
		func(api.Run) (api.Result, error) { return api.Result{}, boom }); !errors.Is(err, boom) {
		t.Errorf("%v; want the run's own error", err)
	}
}

func TestCompilersErrorsAreFindings(t *testing.T) {
	said := "main.c: In function ‘main’:\nmain.c:2:5: error: expected ‘;’ before ‘}’ token\nmain.c:1:10: fatal " +
		"error: own.h: No such file or directory\n/usr/include/x.h:3:1: error: expected ‘}’\n"
	found := check.Read("c", "main.c", []byte("#include <own.h>\nint x\n"),
		api.Result{Verdict: api.Nonzero, ExitCode: 1, Stderr: api.Bytes(said)})
	if len(found) != 3 {
		t.Fatalf("%+v", found)
	}

	b, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{`"severity":"warning","rule":"import"`, `"line":1,"column":10`, `"severity":"error","rule":"syntax"`,
		`"line":2,"column":5,"snippet":"int x"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s lacks %s", b, want)
		}
	}

	found = check.Read("c", "main.c", []byte("x"), api.Result{Verdict: api.Nonzero, ExitCode: 4, Stderr: api.Bytes("gcc: internal error\n")})
	if len(found) != 1 || found[0].Message != "gcc: internal error" {
		t.Errorf("%+v; want the compiler's last words", found)
	}
}

func TestJavaPublicClassNamesItsFile(t *testing.T) {
	source := []byte("// public class Not\npublic final class Hello {\n\tint n = 3\n}\n")
	r, ok := check.Plan("java", "t.java", source)
	if !ok || r.Files[0].Name != "Hello.java" || !slices.Contains(r.Argv, "./Hello.java") {
		t.Fatalf("%v, placed as %q, checked by %q", ok, r.Files[0].Name, r.Argv)
	}
	found := check.Read("java", "t.java", source,
		api.Result{Verdict: api.Nonzero, ExitCode: 1,
			Stderr: api.Bytes("./Hello.java:3: error: ';' expected\n\tint n = 3\n\t         ^\n1 error\n")})
	if len(found) != 1 || found[0].File != "t.java" || found[0].Line != 3 || found[0].Rule != "syntax" {
		t.Errorf("%+v; want the error in t.java, as it is called", found)
	}
}

func checkFinding(t *testing.T, f api.Finding, source []byte) {
	t.Helper()
	lines := strings.Count(string(source), "\n") + 1
	switch {
	case f.Rule == "" || f.Message == "" || f.File == "" || f.Severity == "":
		t.Errorf("%+v lacks something", f)
	case f.Line < 0 || f.Line > lines || f.Column < 0 || f.Line == 0 && f.Column != 0:
		t.Errorf("%+v is nowhere in %d lines", f, lines)
	case len(f.Message) > 300 || len(f.Snippet) > 160 || !utf8.ValidString(f.Message+f.Snippet):
		t.Errorf("%+v is not bounded", f)
	case strings.ContainsAny(f.Message+f.Snippet, "\n\r\t\x00\x1b"):
		t.Errorf("%+v is not one line of text", f)
	}
}

// FuzzRead: whatever a checker prints and whatever the source is, findings are bounded, have known
// rules, and refer to the source.
func FuzzRead(f *testing.F) {
	f.Add("python", "eval(x)\npassword = 'hunter2'\n", `{"rule":"python-eval","line":1,"column":1,"name":"eval"}`+"\n"+done, "")
	f.Add("c", "int x", "", "main.c:1:5: error: expected ‘;’ before ‘}’ token\n")
	f.Add("typescript", "\x00\xff", done, "x")
	f.Fuzz(func(t *testing.T, language, source, stdout, stderr string) {
		found, err := check.Program(language, "main.x", []byte(source), func(r api.Run) (api.Result, error) {
			if err := r.Validate(); err != nil {
				t.Errorf("plan: %v", err)
			}
			return api.Result{Verdict: api.Nonzero, ExitCode: 1, Stdout: api.Bytes(stdout), Stderr: api.Bytes(stderr)}, nil
		})
		if err != nil || len(found) > check.MaxFindings {
			t.Errorf("%v, %d findings", err, len(found))
		}
		for _, one := range found {
			checkFinding(t, one, []byte(source))
		}
	})
}

// A Perl source can end its own parser with success: the rest of the source must not pass.
func TestParserEndedBySourceIsNotChecked(t *testing.T) {
	source := []byte("BEGIN { exit 0 }\nif (1) {\n")
	for _, tt := range []struct {
		verdict api.Verdict
		stderr  string
		want    string
	}{
		{api.OK, "", "not-checked"},
		{api.OK, "./main.pl syntax OK\nmore", "not-checked"},
		{api.OK, "other.pl syntax OK\n", "not-checked"},
		{api.OK, "./main.pl syntax OK\n", ""},
		{api.OK, "a warning\n./main.pl syntax OK\n", ""},
		{api.Nonzero, "", "compile"},
	} {
		found := check.Read("perl", "main.pl", source, api.Result{Verdict: tt.verdict, Stderr: api.Bytes(tt.stderr)})
		var got []string
		for _, f := range found {
			got = append(got, f.Rule)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s, %q: found %v; want %q", tt.verdict, tt.stderr, got, tt.want)
		}
	}
}
