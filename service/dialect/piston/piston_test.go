package piston

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	manifests "github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
)

func TestExchanges(t *testing.T) { dialecttest.Golden(t, Dialect, 70) }

// Every language of the table is one of brig's, which takes the names of its sources for sources, and every language of
// brig's can be asked for by a name.
func TestLanguagesAreThoseOfBrig(t *testing.T) {
	known, err := manifests.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	for _, of := range languages {
		for _, name := range of.brig {
			m, err := known.ByName(name)
			if err != nil {
				t.Errorf("%s: %v", of.id, err)
				continue
			}
			if !m.IsSource(of.file) || of.ext != "" && !m.IsSource("x"+of.ext) {
				t.Errorf("%s: %s or x%s is no source of %s", of.id, of.file, of.ext, name)
			}
			if of.ext != "" && of.ext != path.Ext(of.file) {
				t.Errorf("%s: sources are called %s and *%s", of.id, of.file, of.ext)
			}
		}
	}

	var all []api.Language
	for _, m := range known.All() {
		all = append(all, api.Language{Name: m.Name, Aliases: m.Aliases, Stored: true, Version: m.Version})
	}

	on := dialect.Agent{Languages: all}
	runtimes := runtimesOf(on)
	if len(runtimes) < len(languages) || len(all) < 30 {
		t.Fatalf("%d runtimes of %d languages", len(runtimes), len(all))
	}
	for _, rt := range runtimes {
		if rt.version().String() == "0.0.0" {
			t.Errorf("%s: %q has no number", rt.id, rt.on.Version)
		}
		if found, is := find(runtimes, rt.id, rt.version().String()); !is || found.on.Name != rt.on.Name {
			t.Errorf("%s %s is %s", rt.id, rt.version(), found.on.Name)
		}
		for _, alias := range rt.aliases {
			if _, is := find(runtimes, alias, rt.version().String()); !is {
				t.Errorf("%s, alias %s, is not found", rt.id, alias)
			}
		}
	}
}

// The first number of brig's words is the version.
func TestVersions(t *testing.T) {
	for words, want := range map[string]string{
		"3.13": "3.13.0", "25": "25.0.0", ".NET 10": "10.0.0", "GDC 14.2": "14.2.0", "SQLite 3.46": "3.46.0", "": "0.0.0", "new": "0.0.0",
		"1.2.3.4": "1.2.3", "007.1": "7.1.0", "9999999999999999999999": "999999999.0.0",
	} {
		if got := versionOf(words).String(); got != want {
			t.Errorf("%q is %s; want %s", words, got, want)
		}
	}
}

// Ranges mean what they mean to npm: the answers are those of npm's own semver for 3.13.0.
func TestRanges(t *testing.T) {
	v := versionOf("3.13")
	for wanted, want := range map[string]bool{
		"*": true, "x": true, "X": true, "3": true, "3.x": true, "3.13": true, "3.13.0": true, "3.13.x": true, "=3.13.0": true,
		"v3.13.0": true, "v3": true, "^3.10.0": true, "^3": true, "~3.13": true, "~3.13.0": true, "~3.12": false, "~>3.13": true,
		">=3.10": true, ">= 3.10": true, ">=3.10 <4": true, "> 3.12.9 < 3.14": true, ">3": false, ">3.13": false, "<=3": true,
		"<=3.12": false, "<3.13": false, "3.10 - 3.13": true, "3.10.0 - 3.12.9": false, "3.12 - 4": true, "2 || 3": true,
		"2||3.13.x": true, "2.7.18": false, "3.10.0": false, "latest": false, "   ": true, " 3.13.0 ": true, "!=3.12": false,
		">=3,<4": false, "=>3": false, "=<4": false, "3.13.0-alpha.7": false, ">=3.13.0-0": true, "^3.13.0-alpha": true,
		"3.13.0+build": true, "3.*": true, "x.x.x": true, "<*": false, ">=*": true, "~*": true, "python": false, "3.13.0.1": false,
		"3 13": false, "^ 3": true, "> = 3": false, "3.13.0 || latest": false, "latest || 3": false, "999999999999999999999": false,
		"3..": false, "^^3": false, "1.2.3 - ": false, ">=3.13.0 <3.13.0": false, "=v3.13.0": true, "V3": false, "- 4": false,
		"3 -4": false, "\t3.13.0\n": true, "3.13.0 3.13.0": true, "<3.x": false, ">3.12.x": true, "= 3": true, "3.13.x-alpha": true,
	} {
		if got := v.isIn(wanted); got != want {
			t.Errorf("3.13.0 in %q: %v", wanted, got)
		}
	}

	// Ranges that nobody writes, and that the library reads in another way than npm.
	for wanted, npm := range map[string]bool{
		"^*": true, "^x": true, "1 || ": true, "||": true, "==3": true, "3.*.0": false, "*.13": false, ">*": false, "03.13.0": false,
	} {
		if got := v.isIn(wanted); got == npm {
			t.Errorf("3.13.0 in %q is %v, as in npm: move it above", wanted, got)
		}
	}
}

// Contents are read as Node reads them: the wanted ones are Node's.
func TestEncodings(t *testing.T) {
	for given, want := range map[string]string{
		"aGk=": "hi", "aGk": "hi", "a G\nk=": "hi", "YQ==YWI=": "a", "YQ=YWI=": "a", "Y*Q==": "a", "-_-_": "\xfb\xff\xbf", "a": "",
		"ab": "i", "abc": "i\xb7", "====": "", "aGVsbG8=!!": "hello", "YWJj YWJj": "abcabc", "é": "", "=YQ==": "", "": "",
	} {
		if got := string(decodeBase64(given)); got != want {
			t.Errorf("base64 %q is %q; want %q", given, got, want)
		}
	}
	for given, want := range map[string]string{
		"6869": "hi", "686": "h", "zz": "", "68zz69": "h", "6 8": "", "": "", "ABcd": "\xab\xcd", "68 69": "h", "6": "",
	} {
		if got := string(decodeHex(given)); got != want {
			t.Errorf("hex %q is %q; want %q", given, got, want)
		}
	}
	for given, want := range map[string]string{
		`"a\u00e9"`: "aé", `1e21`: "1e+21", `1.0`: "1", `0.1`: "0.1", `1e-7`: "1e-7", `-0`: "0", `123456789012345680000`: "123456789012345680000",
		`1.5e300`: "1.5e+300", `5e-324`: "5e-324", `0.000001`: "0.000001", `1e999`: "Infinity", `-1e999`: "-Infinity", `true`: "true",
		`null`: "null", ``: "undefined", `-12`: "-12",
	} {
		if got := asText(json.RawMessage(given)); got != want {
			t.Errorf("%s as a text is %q; want %q", given, got, want)
		}
	}
}

// What a message repeats of a request is short, and no half a character.
func TestShown(t *testing.T) {
	long := strings.Repeat("é", 1000)
	body := []byte(`{"language":"` + long + `","version":"x` + long + `","files":[]}`)
	p := planExecute(dialect.Request{Body: body}, dialecttest.StandardAgent())
	if p.Answer == nil || p.Answer.Status != 400 || len(p.Answer.Body) > 1000 || strings.Contains(string(p.Answer.Body), "\uFFFD") ||
		!strings.Contains(string(p.Answer.Body), "runtime is unknown") {
		t.Errorf("%+v", p.Answer)
	}
}

// What is planned is a run that brig accepts as valid, unless its files or arguments are out of bounds, and every
// request gets a plan that is a run or a refusal.
func FuzzExecute(f *testing.F) {
	for _, body := range []string{
		`{"language":"py","version":"*","files":[{"content":"x"},{"name":"/a/../b","content":"eA","encoding":"base64"}],"args":[1e9,null]}`,
		`{"language":"c++","version":"^14","files":[{"name":"a","content":"x"},{"content":"f","encoding":"hex"},{"name":"a.cpp","content":""}],
		"run_timeout":1e-9,"compile_memory_limit":-1,"stdin":"\ud800"}`,
		`{"language":"java","version":">=2 <99 || 1 - 2","files":[{"name":"..","content":"x"}],"run_memory_limit":1e999}`,
		`{"language":1,"version":[],"files":{}}`, `[]`, ` {}`, `null`, "\xff", `{"language":"",`, ``,
	} {
		f.Add([]byte(body))
	}

	on := dialecttest.StandardAgent()
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, plan := range []func(dialect.Request, dialect.Agent) dialect.Plan{planInstall, planUninstall} {
			if p := plan(dialect.Request{Body: body}, on); p.Answer == nil || !json.Valid(p.Answer.Body) {
				t.Fatalf("%q: %+v", body, p)
			}
		}

		p := planExecute(dialect.Request{Body: body}, on)
		if p.Answer != nil {
			if !json.Valid(p.Answer.Body) || p.Answer.Status != 400 {
				t.Fatalf("%q is answered with %d %s", body, p.Answer.Status, p.Answer.Body)
			}
			return
		}

		run := p.Runs[0]
		if err := run.Validate(); err != nil && !api.HasCode(err, api.CodeBadFile, api.CodeTooLarge, api.CodeBadRequest) {
			t.Fatalf("%q is not valid: %v", body, err)
		}
		if _, stored := on.Find(run.Language); !stored || run.Limits.Wall <= 0 || run.Limits.Memory <= 0 ||
			run.Limits.Within(on.Ceiling) != nil || run.CompileLimits.Within(on.Ceiling) != nil {
			t.Fatalf("%q: %+v", body, run)
		}

		told := p.TellInOrder([]api.Result{{Verdict: api.OK, Stage: api.StageRun, Stdout: api.Bytes("\xff<")}}, make([]dialect.Order, 1))
		if told.Status != 200 || !json.Valid(told.Body) {
			t.Fatalf("%q is told as %d %s", body, told.Status, told.Body)
		}
	})
}

// Whatever a program did, an answer has either a code or a signal, and no success but that of the verdict ok.
func TestAnEndHasACodeOrASignal(t *testing.T) {
	rt := runtimesOf(dialecttest.StandardAgent())[0]
	for _, verdict := range api.Verdicts() {
		for _, at := range []api.Stage{api.StageCompile, api.StageRun} {
			for _, res := range []api.Result{
				{}, {ExitCode: 1}, {ExitCode: -1, Signal: 9, SignalName: "SIGKILL"}, {ExitCode: -1}, {StderrTruncated: true},
				{ExitCode: -1, Signal: 31, Denial: new(api.Denial)}, {LimitsHit: []string{api.HitCPU, api.HitMemory}},
			} {
				res.Verdict, res.Stage = verdict, at
				var a answer
				r := tell(res, nil, rt)
				if verdict == api.Canceled {
					if r.Status != 500 {
						t.Errorf("%s: %d %s", verdict, r.Status, r.Body)
					}
					continue
				}

				if err := json.Unmarshal(r.Body, &a); err != nil || r.Status != 200 {
					t.Fatalf("%d %s, %v", r.Status, r.Body, err)
				}
				success := a.Run.Code != nil && *a.Run.Code == 0
				if (a.Run.Code == nil) == (a.Run.Signal == nil) || success != (verdict == api.OK) || success != (a.Run.Status == nil) ||
					success != (a.Run.Message == nil) || a.Run.Signal != nil && *a.Run.Signal == "" {
					t.Errorf("%s %+v: %s", verdict, res, r.Body)
				}
			}
		}
	}
}

// The names of real-time signals are those of the original.
func TestSignalNames(t *testing.T) {
	for n, want := range map[int]string{9: "SIGKILL", 31: "SIGSYS", 34: "SIGRTMIN", 35: "SIGRTMIN+1", 49: "SIGRTMIN+15", 50: "SIGRTMAX-14",
		63: "SIGRTMAX-1", 64: "SIGRTMAX", 32: "SIG32"} {
		if got := signalName(n); got != want {
			t.Errorf("%d is %s; want %s", n, got, want)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	on := dialecttest.StandardAgent()
	body := []byte(`{"language":"python","version":"3.x","files":[{"name":"main.py","content":"print(1)"}],"stdin":"1","run_timeout":1000}`)
	for b.Loop() {
		if p := planExecute(dialect.Request{Body: body}, on); p.Answer != nil {
			b.Fatal(string(p.Answer.Body))
		}
	}
}
