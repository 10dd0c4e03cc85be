package jobe

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	manifests "github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
)

func TestExchanges(t *testing.T) { dialecttest.Golden(t, Dialect, 50) }

// Every language of the table is one of brig's, which accepts its flags and the name of its source.
func TestLanguagesAreThoseOfBrig(t *testing.T) {
	known, err := manifests.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	seen := 0
	for _, l := range languages {
		for _, name := range l.brig {
			seen++
			m, err := known.ByName(name)
			if err != nil {
				t.Errorf("%s: %v", l.id, err)
				continue
			}
			if _, err := m.ChooseFlags(l.flags); err != nil {
				t.Errorf("%s: %v", l.id, err)
			}
			free := api.FreeFlags{}
			if l.linked {
				free.Compile, free.Link = []string{"-x"}, []string{"-lm"}
			}
			if l.interpreted {
				free.Run = []string{"-x"}
			}
			if err := m.CheckFreeFlags(free); err != nil {
				t.Errorf("%s: %v", l.id, err)
			}
			if !m.IsSource(l.name("")) {
				t.Errorf("%s: %s is no source of %s", l.id, l.name(""), name)
			}
			if l.checked != (len(m.Compile) == 0 && len(m.Syntax) > 0 && l.id != "nodejs") {
				t.Errorf("%s: checked is %v", l.id, l.checked)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d languages", seen)
	}
}

// The class of a Java source is found as the original finds it.
func TestNameOfJava(t *testing.T) {
	java := languages[slices.IndexFunc(languages, func(l language) bool { return l.id == "java" })]
	for source, want := range map[string]string{
		"public class A { public static void main(String[] a) {} }":                             "A.java",
		"import x;\npublic  class A extends B {\n int i;\n static public void main( String x[]": "A.java",
		"class A { public static void main(String[] a) {} }":                                    "prog.java",
		"public class A { public static int main(String[] a) {} }":                              "prog.java",
		"": "prog.java",
		"public class A { public static void main(String[] a){}} public class B { public static void main(String[] a){}}": "prog.java",
	} {
		if got := java.name(source); got != want {
			t.Errorf("%q is %s, want %s", source, got, want)
		}
	}
}

// An id that is an MD5 is that of its content, in whatever case it is written.
func TestAnIDOfAContentIsItsMD5(t *testing.T) {
	for id, want := range map[string]int{
		"5d41402abc4b2a76b9719d911017c592": 204, "5D41402ABC4B2A76B9719D911017C592": 204, "5d41402abc4b2a76b9719d911017c593": 400,
		"5d41402abc4b2a76b9719d911017c59": 204, "zd41402abc4b2a76b9719d911017c592": 204, strings.Repeat("a", 65): 404, "": 404,
	} {
		p := planPut(dialect.Request{Path: map[string]string{"id": id}, Body: []byte(`{"file_contents":"aGVsbG8="}`)}, dialect.Agent{})
		if p.Answer.Status != want || (len(p.Answer.Keep) == 1) != (want == 204) {
			t.Errorf("%s: %d %s, keeps %v", id, p.Answer.Status, p.Answer.Body, p.Answer.Keep)
		}
	}
}

// As much of a stream is told as streamsize says.
func TestStreamsAreCut(t *testing.T) {
	c := languages[0]
	res := api.Result{Verdict: api.OK, Stdout: api.Bytes(strings.Repeat("x", 3000)), Stderr: api.Bytes("abc")}
	if a := tell(res, c, 2000); len(a.Stdout) != 2000 || a.Stderr != "abc" || a.Outcome != 12 {
		t.Errorf("%+v", a)
	}
	if a := tell(res, c, 0); a.Stdout+a.Stderr != "" || a.Outcome != 15 {
		t.Errorf("%+v", a)
	}
}

// What is planned is a run that brig accepts as valid, unless its files are out of bounds, and every request gets a plan
// that is a run or an answer.
func FuzzRuns(f *testing.F) {
	for _, body := range []string{
		`{"run_spec":{"language_id":"c","sourcecode":"x","parameters":{"cputime":1e-9,"memorylimit":"7","compileargs":["-std=c89"]}}}`,
		`{"run_spec":{"language_id":"PYTHON3","sourcecode":1,"input":null,"file_list":[["randomid0129798","a"],["aaaaaaaa","a",1]]}}`,
		`{"run_spec":{"language_id":"java","sourcecode":"\ud800","sourcefilename":"é.java","parameters":{"runargs":["'a' \\\"b"]}}}`,
		`{"run_spec":{"language_id":"php","sourcecode":"","file_list":[[1,2],"x",{}],"parameters":[]}}`, `[]`, ` {}`, `null`, "\xff",
	} {
		f.Add([]byte(body))
	}

	on := dialecttest.StandardAgent()
	f.Fuzz(func(t *testing.T, body []byte) {
		p := planRun(dialect.Request{Body: body}, on)
		if p.Answer != nil {
			if !json.Valid(p.Answer.Body) || p.Answer.Status == 200 && !bytes.Contains(body, []byte("OVERLOAD")) {
				t.Fatalf("%q is answered with %d %s", body, p.Answer.Status, p.Answer.Body)
			}
			return
		}

		run := p.Runs[0]
		if err := run.Validate(); err != nil && !api.HasCode(err, api.CodeBadFile, api.CodeTooLarge) {
			t.Fatalf("%q is not valid: %v", body, err)
		}
		if err := run.Limits.Within(on.Ceiling); err != nil || run.Limits.CPU <= 0 || run.Limits.Memory <= 0 {
			t.Fatalf("%q: %+v, %v", body, run.Limits, err)
		}

		told := p.Tell([]api.Result{{Verdict: api.OK, Stage: api.StageRun, Stdout: api.Bytes("\xff<")}})
		if told.Status != 200 || !json.Valid(told.Body) {
			t.Fatalf("%q is told as %d %s", body, told.Status, told.Body)
		}
	})
}
