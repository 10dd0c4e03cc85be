package limits

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Every code has a party that can cause it, and no other code is listed.
func TestEveryCodeHasAParty(t *testing.T) {
	all := api.CodeInternal.Values()
	for _, code := range all {
		if len(harness.Responsible[code]) == 0 {
			t.Errorf("responsible has no entry for code %s: say which party can cause it", code)
		}
	}

	for code, by := range harness.Responsible {
		if !slices.Contains(all, code) {
			t.Errorf("responsible has %s, which is no code", code)
		}
		if slices.Contains(by, harness.ByAuthor) && len(by) > 1 {
			t.Errorf("code %s is caused by the author and by another party: the caller cannot tell which", code)
		}
	}
}

// A partyFailures counts what a test would report.
type partyFailures struct {
	testing.TB
	n int
}

func (f *partyFailures) Helper()               {}
func (f *partyFailures) Errorf(string, ...any) { f.n++ }

// The control of the checks above: an error that the caller has to fix, and one with an unknown
// code, fail the test; an error of the host and a verdict do not.
func TestAnErrorInsteadOfAVerdictFailsATest(t *testing.T) {
	for code, want := range map[api.Code]int{
		api.CodeNoProgram: 1, api.CodeSessionEnded: 1, api.CodeBadProfile: 1, "a-new-code": 1,
		api.CodeHostMemory: 0, api.CodeStopping: 0, api.CodeAgentGone: 0, "": 0,
	} {
		f := &partyFailures{TB: t}
		var err error
		body := `{"verdict":"ok"}`
		status := http.StatusOK
		if code != "" {
			err = &api.Error{Code: code}
			status, body = http.StatusBadRequest, fmt.Sprintf(`{"status":400,"code":%q}`, code)
		}

		(&harness.Agent{T: f}).WantNoFault(err, nil, nil)
		if f.n != want {
			t.Errorf("code %q of the agent: %d partyFailures; want %d", code, f.n, want)
		}

		for _, path := range []string{"/v1/runs?wait=false", "/execute", "/v1/sessions/x/exec", "/v1/sessions"} {
			f := &partyFailures{TB: t}
			res := &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}
			(&harness.Service{T: f}).WantNoFault("POST", path, res)
			want := want
			if path == "/v1/sessions" { // executes nothing
				want = 0
			}
			if f.n != want {
				t.Errorf("code %q at %s: %d partyFailures; want %d", code, path, f.n, want)
			}
			if text, err := io.ReadAll(res.Body); err != nil || string(text) != body {
				t.Errorf("the test reads %q, %v after the check", text, err)
			}
		}
	}

	for code, want := range map[api.Code]int{api.CodeNoProgram: 0, "a-new-code": 1, api.CodeInternal: 1} {
		f := &partyFailures{TB: t}
		if (&harness.Service{T: f}).WantParty(api.Problem{Code: code, Status: 400}); f.n != want {
			t.Errorf("code %q with status 400: %d partyFailures; want %d", code, f.n, want)
		}
	}
}

// CMP-20: a fault in a program is a verdict: neither what a compiler was made to leave nor the
// content of an executable file becomes an error of the caller.
func TestHostileProgramsGetAVerdict(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "1")
	for _, tt := range []struct{ name, script, says string }{
		{"no right to execute it", "echo '#!/bin/sh' >main", "not a program"},
		{"an archive", "printf '!<arch>\\n' >main", "not a program"},
		{"an interpreter that is not there", "printf '#!/no/such\\n' >main; chmod +x main", "interpreter does not exist"},
		{"an interpreter that is a directory", "printf '#!/bin\\n' >main; chmod +x main", "permission denied"},
		{"an interpreter that is itself", "printf '#!/box/main\\n' >main; chmod +x main", "cannot be executed"},
		{"no format of a program", "echo hello >main; chmod +x main", "exec format error"},
		{"nothing at all in it", ": >main; chmod +x main", "exec format error"},
		{"it does not fit", "head -c 3000000 /dev/zero >main; chmod +x main", "limit of scratch"},
		{"it is larger than any may be", "head -c 70000000 /dev/zero >main; chmod +x main", "main: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, tests := range [][]api.Test{nil, {{ID: "1"}, {ID: "2"}, {ID: "3"}}} {
				r := harness.CompiledRun(harness.Uncached(t, "mkdir lib; : >lib/x\n"+tt.script+"\necho a warning >&2; exit 0"))
				r.Tests, r.Limits.Scratch, r.CompileLimits.Scratch = tests, 2*api.MiB, 128*api.MiB

				for range 2 { // the second time from the cache, where there is one
					res := a.MustRun(t, r)
					harness.WantVerdict(t, res, api.CompileError)
					if res.Stage != api.StageCompile || res.Compile != nil || !strings.HasPrefix(string(res.Stderr), "a warning\nbrig: ") ||
						!strings.Contains(string(res.Stderr), tt.says) {
						t.Errorf("stage %s, compilation %+v, stderr %q; want %q after the compiler's words", res.Stage, res.Compile, res.Stderr, tt.says)
					}
					if len(tests) > 0 && (res.Summary == nil || res.Summary.Verdict != api.CompileError || res.Summary.Tests != 3) {
						t.Errorf("summary %+v", res.Summary)
					}
					if res.Usage.CPU.Value == nil || res.Limits.Output != 4*api.KiB || res.Host.Image == "" {
						t.Errorf("usage %+v, limits %+v, host %+v: not the compiler's", res.Usage, res.Limits, res.Host)
					}
				}
			}
		})
	}

	// Without a compiler the file is executed as a shell would execute it.
	exe := func(content string) api.Run {
		return api.Run{Image: "tiny", Argv: []string{"./x"}, Files: []api.File{{Name: "x", Content: api.Bytes(content), Executable: true}}}
	}
	for content, code := range map[string]int{"hello": 126, "#!/no/such\n": 127, "#!/bin\n": 126, "": 126} {
		res := a.MustRun(t, exe(content))
		harness.WantVerdict(t, res, api.Nonzero)
		if res.ExitCode != code || !strings.HasPrefix(string(res.Stderr), "brig: ./x exists, but cannot be executed: ") {
			t.Errorf("%q: exit code %d, stderr %q; want %d and why", content, res.ExitCode, res.Stderr, code)
		}
	}

	r := exe("hello")
	r.Argv[0] = "/box/../box/x" // the same file under another name
	harness.WantVerdict(t, a.MustRun(t, r), api.Nonzero)
	harness.WantVerdict(t, a.MustRun(t, exe("#!/bin/sh\nexit 0\n")), api.OK)
}

// CMP-20: a service answers such a program with 200, and its history records it.
func TestGatewayHasAVerdictOfEveryProgram(t *testing.T) {
	a := harness.StartCompiler(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	for _, tests := range [][]api.Test{nil, {{Stdin: []byte("1")}, {Stdin: []byte("2")}}} {
		r := harness.CompiledRun(harness.Uncached(t, "mkdir lib; : >lib/x\nprintf '#!/no/such\\n' >main; chmod +x main"))
		r.Tests, r.Labels = tests, api.Labels{Project: "contest"}
		var res api.Result
		s.Call("POST", "/v1/runs", r, 200, &res)
		harness.WantVerdict(t, res, api.CompileError)
		if d := res.Diagnosis; d == nil || !strings.Contains(d.Message, "interpreter does not exist") {
			t.Errorf("diagnosis %+v; want why", d)
		}
	}

	all := harness.Pages[struct {
		Verdict api.Verdict `json:"verdict"`
	}](s, "/v1/history?project=contest")
	if len(all) != 2 || all[0].Verdict != api.CompileError {
		t.Errorf("the history has %+v; want both", all)
	}
}

// CMP-20: the same holds for a program that is too large, of a language with a compiler or without,
// over /v1/runs and /execute, and the history records it. A file sent along with it is the caller's
// to fix.
func TestAProgramThatIsTooLargeGetsAVerdict(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"made.yaml": harness.ShellCompiler,
		"plain.yaml": "name: plain\nimage: tiny\nsource_file: main.sh\nrun: [/bin/sh, '{source}']\nextensions: " +
			"[plain]\nlimits: {scratch: 8M}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	a := harness.StartAgent(t, append([]string{"--languages", dir}, harness.SharedFlags...)...)
	s := harness.StartService(t, a)
	large := "#" + strings.Repeat("x", 12<<20)
	runs := 0
	for _, language := range []string{"plain", "made"} {
		for _, limits := range []api.Limits{{Scratch: 4 * api.MiB}, {Memory: 14 * api.MiB}} {
			for _, tests := range [][]api.Test{nil, {{Stdin: []byte("1")}, {Stdin: []byte("2")}}} {
				r := api.Run{Language: language, Source: api.Bytes(large), Limits: limits, Tests: tests, Labels: api.Labels{Project: "large"}}
				if language == "made" {
					r.CompileLimits = limits
				}
				var res api.Result
				s.Call("POST", "/v1/runs", r, 200, &res)
				harness.WantVerdict(t, res, api.CompileError)
				runs++
				if res.Stage != api.StageCompile || !strings.Contains(string(res.Stderr), "is too large") || res.Usage.CPU.Value != nil ||
					(res.Summary != nil) != (tests != nil) {
					t.Errorf("%s, %+v: stage %s, stderr %q, usage %+v, summary %+v", language, limits, res.Stage, res.Stderr, res.Usage.CPU, res.Summary)
				}
			}
		}
	}

	var done api.Executed
	s.Call("POST", "/execute", map[string]any{"language": "plain", "code": large}, 200, &done)
	if done.Verdict != api.CompileError {
		t.Errorf("/execute: %+v", done)
	}

	all := harness.Pages[struct {
		Verdict api.Verdict `json:"verdict"`
	}](s, "/v1/history?project=large")
	for _, one := range all {
		if one.Verdict != api.CompileError {
			t.Errorf("the history has %+v", one)
		}
	}

	if len(all) != runs {
		t.Errorf("the history has %d; want %d", len(all), runs)
	}

	for _, limits := range []api.Limits{{Scratch: 4 * api.MiB}, {Memory: 14 * api.MiB}} {
		s.Refused("POST", "/v1/runs",
			api.Run{Language: "plain", Source: api.Bytes("exit"), Files: []api.File{{Name: "x", Content: api.Bytes(large)}},
				Limits: limits}, 400, api.CodeBadFile)
	}
}

// CMP-20: the same holds for an empty program, over every interface: judges receive such
// submissions.
func TestAnEmptyProgramGetsAVerdict(t *testing.T) {
	a := harness.StartCompiler(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	for _, body := range []string{
		`{"language":"made","source":""}`, `{"language":"made","source":{"base64":""},"source_name":"x.made"}`,
		`{"language":"made","source":"","tests":[{"expected":"1"},{"expected":"2"}]}`,
	} {
		var res api.Result
		s.Call("POST", "/v1/runs", body, 200, &res)
		harness.WantVerdict(t, res, api.CompileError)
		if strings.Contains(body, "tests") && (res.Summary == nil || res.Summary.Tests != 2 || res.Summary.Accepted != 0) {
			t.Errorf("summary %+v", res.Summary)
		}
	}

	var done api.Executed
	s.Call("POST", "/execute", `{"language":"made","code":""}`, 200, &done)
	if done.Verdict != api.CompileError {
		t.Errorf("/execute: %+v", done)
	}

	var one api.Session
	s.Call("POST", "/v1/sessions", `{"language":"made","limits":{"memory":"32M"}}`, 201, &one)
	var res api.Result
	s.Call("POST", "/v1/sessions/"+one.ID+"/exec", `{"source":""}`, 200, &res)
	harness.WantVerdict(t, res, api.CompileError)
	for _, none := range []string{`{"language":"made"}`, `{"language":"made","source":null}`} {
		s.Refused("POST", "/v1/runs", none, 400, api.CodeBadRequest)
	}
}

// CMP-20: the same holds for an exec of a session, also of a file that is already in the session,
// however it got there.
func TestHostileProgramsOfASessionGetAVerdict(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "1")
	s, err := a.CreateSession(t.Context(), api.SessionRequest{Language: "made"})
	if err != nil {
		t.Fatal(err)
	}

	res, err := a.Exec(t.Context(), s.ID, api.Exec{Source: api.Bytes(harness.Uncached(t, "mkdir lib; : >lib/x\n: >main"))})
	if err != nil {
		t.Fatal(err)
	}

	harness.WantVerdict(t, res, api.CompileError)
	if res.Stage != api.StageCompile || !strings.Contains(string(res.Stderr), "not a program") {
		t.Errorf("stage %s, stderr %q", res.Stage, res.Stderr)
	}

	for script, code := range map[string]int{"rm -rf x; printf '#!/no/such\n' >x; chmod +x x": 127, "rm -f x; ln -s x x": 126,
		"rm -f x; echo >x": 126} {
		for _, argv := range [][]string{{"sh", "-c", script}, {"./x"}} {
			if res, err = a.Exec(t.Context(), s.ID, api.Exec{Argv: argv}); err != nil {
				t.Fatalf("%s: %v: %v", script, argv, err)
			}
		}
		if res.Verdict != api.Nonzero || res.ExitCode != code {
			t.Errorf("%s: %s, exit code %d; want %d", script, res.Verdict, res.ExitCode, code)
		}
	}

	_, err = a.Client.Exec(t.Context(), s.ID, api.Exec{Argv: []string{"./none"}})
	harness.WantCode(t, err, api.CodeNoProgram)
}

// CMP-20: whatever the bytes of a program are, it ends with a verdict.
func TestHostileDamagedProgramsGetAVerdict(t *testing.T) {
	a := harness.StartCompiler(t, "--slots", "1")
	whole := harness.CompileC(t, "x", `int main(void) { return 0; }`)
	random := rand.New(rand.NewPCG(1, 20))
	harness.WantVerdict(t, a.MustRun(t, api.Run{Image: "tiny", Argv: []string{"./x"}, Files: []api.File{whole}}), api.OK)
	ends := map[api.Verdict]int{}
	for i := range harness.Rounds(120) {
		file := whole
		file.Content = slices.Clone(whole.Content)
		for range 1 + random.IntN(4) {
			file.Content[random.IntN(64+4*56)] = byte(random.UintN(256)) // of the ELF and the program headers
		}

		if random.IntN(4) == 0 {
			file.Content = file.Content[:random.IntN(4096)]
		}

		r := api.Run{Image: "tiny", Argv: []string{"./x"}, Files: []api.File{file}, Collect: api.Collect{None: true},
			Limits: api.Limits{Wall: harness.Slowly(2), Memory: 32 * api.MiB}}
		if i%3 == 0 { // as an artifact
			r = harness.CompiledRun("mkdir lib; : >lib/x; cat data.bin >main; chmod +x main")
			file.Name = "data.bin"
			r.Files, r.Limits = []api.File{file}, api.Limits{Wall: harness.Slowly(2), Memory: 32 * api.MiB}
		}

		ends[a.MustRun(t, r).Verdict]++
	}

	t.Log(fmt.Sprint(ends))
	if ends[api.CompileError] == 0 || ends[api.Nonzero] == 0 || ends[api.OK]+ends[api.Signaled] == 0 {
		t.Errorf("ends %v; want programs that start and programs that do not, of both kinds", ends)
	}
}
