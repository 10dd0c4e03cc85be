package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

func TestGatewayRun(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	a.needPython(t)
	s := startService(t, a)

	var res api.Result
	s.call("POST", "/v1/runs", api.Run{Image: "tiny", Argv: []string{"cat"}, Stdin: api.Bytes("\xff\x00bytes"), Labels: api.Labels{Project: "p", Task: "t"}}, 200, &res)
	wantVerdict(t, res, api.OK)
	if string(res.Stdout) != "\xff\x00bytes" {
		t.Errorf("stdout %q", res.Stdout)
	}
	for verdict, script := range map[api.Verdict]string{api.Nonzero: "exit 3", api.Signaled: "kill -SEGV $$", api.WallLimit: "sleep 60"} {
		r := sh(script)
		r.Limits.Wall = slowly(0.5)
		s.call("POST", "/v1/runs", r, 200, &res)
		wantVerdict(t, res, verdict) // whatever a program does is a 200
	}

	var status api.Status
	s.call("GET", "/v1/runs/"+res.Run, nil, 200, &status)
	if status.State != api.Done || status.Result == nil || status.Result.Verdict != res.Verdict || status.Result.Timing.Wall != res.Timing.Wall {
		t.Errorf("the history has %+v of %+v", status, res)
	}
	all := pages[struct {
		Run     string      `json:"run_id"`
		Project string      `json:"project"`
		Verdict api.Verdict `json:"verdict"`
	}](s, "/v1/history?limit=3")
	if len(all) != 4 || all[3].Project != "p" || all[3].Verdict != api.OK {
		t.Errorf("history %+v", all)
	}
	var stats struct{ Runs, Success, Failure int }
	s.call("GET", "/v1/stats", nil, 200, &stats)
	if stats.Runs != 4 || stats.Success != 1 || stats.Failure != 3 {
		t.Errorf("statistics %+v", stats)
	}
	s.call("GET", "/v1/stats?project=p", nil, 200, &stats)
	if stats.Runs != 1 {
		t.Errorf("statistics of a project %+v", stats)
	}
	alerts := pages[struct{ Kind, Text string }](s, "/v1/alerts?limit=10")
	if len(alerts) != 1 || alerts[0].Kind != "segfault" {
		t.Errorf("alerts %+v", alerts)
	}
	if text := s.getText("/metrics"); !strings.Contains(text, `verdict="signaled"} 1`) {
		t.Errorf("metrics %s", text)
	}
	var languages []api.Language
	s.call("GET", "/v1/languages", nil, 200, &languages)
	if !slices.ContainsFunc(languages, func(l api.Language) bool { return l.Name == "python" && l.Stored }) {
		t.Errorf("languages %+v", languages)
	}
}

// The behaviours that simple clients rely on.
func TestGatewayExecute(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	a.needPython(t)
	s := startService(t, a)
	type answer struct {
		Status        string
		Result, Value *string
		Error         *string
		Stdout        string
		ExitCode      int `json:"exit_code"`
		Timeout       bool
		Files         map[string]any
		Run           string `json:"run_id"`
	}
	text := func(s string) *string { return &s }
	for _, tt := range []struct {
		name string
		body string
		want answer
	}{
		{"an expression printed", `{"code":"print(2+2)"}`, answer{Status: "success", Result: text("4"), Stdout: "4\n"}},
		{"a last bare expression", `{"code":"x = 20\nx + 22"}`, answer{Status: "success", Result: text(""), Value: text("42")}},
		{"an unknown name", `{"code":"print(x)"}`, answer{Status: "error", Error: text("NameError: name 'x' is not defined"), ExitCode: 1}},
		{"a syntax error", `{"code":"def f(:"}`, answer{Status: "error", Error: text("SyntaxError: invalid syntax"), ExitCode: 1}},
		{"an exit code", `{"code":"import sys; sys.exit(7)"}`, answer{Status: "error", Error: text("the program ended with exit code 7"), ExitCode: 7}},
		{"an exception in a last expression", `{"code":"[].pop()"}`, answer{Status: "error", Error: text("IndexError: pop from empty list"), ExitCode: 1}},
		{"a repr that fails", `{"code":"class A:\n  def __repr__(self): raise ValueError('no')\nA()"}`, answer{Status: "error", Error: text("ValueError: no"), ExitCode: 1}},
		{"main's own names", `{"code":"import dataclasses, pickle, sys, os\n@dataclasses.dataclass\nclass P:\n  a: int\nif __name__ == '__main__':\n  print(pickle.loads(pickle.dumps(P(1))), sys.argv, os.path.basename(__file__))"}`,
			answer{Status: "success", Result: text("P(a=1) ['main.py'] main.py"), Stdout: "P(a=1) ['main.py'] main.py\n"}},
		{"stdin, files and env", `{"code":"import os\nprint(input(), open('d.txt').read(), os.environ['A'])","stdin":"in\n","files":{"d.txt":"file"},"env":{"A":"b"}}`,
			answer{Status: "success", Result: text("in file b"), Stdout: "in file b\n"}},
		{"files written", `{"code":"n = open('a.bin','wb').write(bytes([255,0])); m = open('b.txt','w').write('hi')"}`,
			answer{Status: "success", Result: text(""), Files: map[string]any{"a.bin": map[string]any{"content": "/wA=", "encoding": "base64"}, "b.txt": "hi"}}},
		{"no room for the value", `{"code":"f = open('big', 'wb', 0)\ntry:\n  while True: n = f.write(bytes(1 << 20))\nexcept OSError: print('full')\n5"}`,
			answer{Status: "success", Result: text("full"), Stdout: "full\n"}},
		{"a directory in its place", `{"code":"import os\nos.mkdir('.brig-value')\n5"}`, answer{Status: "success", Result: text("")}},
		{"its own open and repr", `{"code":"import builtins\nbuiltins.open = builtins.repr = None\n5"}`, answer{Status: "success", Result: text(""), Value: text("5")}},
		{"an exception after stdout was closed", `{"code":"import sys\nsys.stdout.close()\n[].pop()"}`, answer{Status: "error", Error: text("IndexError: pop from empty list"), ExitCode: 1}},
		{"a value after stdout's descriptor was closed", `{"code":"import os\nprint('a', flush=True)\nos.close(1)\n7"}`, answer{Status: "success", Result: text("a"), Stdout: "a\n", Value: text("7")}},
		{"a repr of an odd class", `{"code":"class S(str):\n  def __getitem__(self, i): return 5\nclass A:\n  def __repr__(self): return S('odd')\nA()"}`, answer{Status: "success", Result: text(""), Value: text("odd")}},
		{"another language's alias", `{"code":"print(1)","language":"py"}`, answer{Status: "success", Result: text("1"), Stdout: "1\n"}},
	} {
		var got answer
		s.call("POST", "/execute", tt.body, 200, &got)
		if got.Run == "" {
			t.Errorf("%s: no run id", tt.name)
		}
		got.Run = ""
		if tt.want.Files == nil {
			tt.want.Files = map[string]any{}
		}
		g, w := marshal(t, got), marshal(t, tt.want)
		if g != w {
			t.Errorf("%s:\n%s; want\n%s", tt.name, g, w)
		}
	}
	var failed answer
	s.call("POST", "/execute", `{"code":"def f():\n  return [][1]\nf()"}`, 200, &failed)
	explain := exec.Command(binary(t, "brig"), "explain", failed.Run)
	explain.Env = append(os.Environ(), "BRIG_URL="+s.url)
	said, err := explain.CombinedOutput()
	for _, want := range []string{"nonzero", "main.py:2", "IndexError (value)", "hint"} {
		if err != nil || !strings.Contains(string(said), want) {
			t.Errorf("brig explain: %v, %s; want %q", err, said, want)
		}
	}
	var interrupted answer
	s.call("POST", "/execute", `{"code":"raise KeyboardInterrupt"}`, 200, &interrupted)
	if e := interrupted.Error; interrupted.ExitCode != 130 || e == nil || strings.Contains(*e, "brig-") {
		t.Errorf("after KeyboardInterrupt: %s", marshal(t, interrupted))
	}
	var late answer
	s.call("POST", "/execute", `{"code":"while True: pass","timeout_seconds":0.5}`, 200, &late)
	if late.Status != "error" || !late.Timeout || late.ExitCode != 124 || late.Result != nil {
		t.Errorf("after a timeout: %s", marshal(t, late))
	}
	s.refused("POST", "/execute", `{"code":"1","requirements":["numpy"]}`, 422, api.CodeUnsupported)
	s.refused("POST", "/execute", `{"code":"1","language":"cobol"}`, 404, api.CodeNoLanguage)
	s.refused("POST", "/execute", `{"code":"1","timeout_seconds":1e5}`, 400, api.CodeAboveCeiling)
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What the agent allows only to root is not available through the service, although it was root
// when it started.
func TestGatewayIsNotRoot(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	s := startService(t, a)
	rules, err := exec.Command(binary(t, "brig"), "profile", "show", "strict", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	r := sh("true")
	r.ProfileRules = rules
	wantVerdict(t, a.run(t, r), api.OK) // this test is root
	for range 3 {
		s.refused("POST", "/v1/runs", r, 403, api.CodeForbidden)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Uid:\t62187\t62187\t62187\t62187", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("the service is not %q:\n%s", want, status)
		}
	}
}

// Events arrive as they happen; a client that reconnects gets the rest.
func TestGatewayEvents(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	s := startService(t, a)
	id := s.startDetached(sh(`for i in 1 2 3; do echo $i; sleep 0.1; done; echo e >&2; printf '\303'; sleep 0.1; printf '\251'`))
	var first []streamEvent
	s.listen(id, "", func(e streamEvent) bool {
		if e.name != "usage" {
			first = append(first, e)
		}
		return len(first) < 3
	})
	if len(first) != 3 || first[0].name != "queued" || first[1].name != "started" || first[2].name != "stdout" {
		t.Fatalf("first events %v", first)
	}
	out, names := "", []string{}
	add := func(e streamEvent) bool {
		var piece struct{ Data api.Bytes }
		if err := json.Unmarshal(e.data, &piece); err != nil {
			t.Error(err)
		}
		switch e.name {
		case "usage":
		case "stdout":
			out += string(piece.Data)
			if strings.Contains(string(e.data), "base64") {
				t.Errorf("half a character: %s", e.data)
			}
		default:
			names = append(names, e.name)
		}
		return true
	}
	add(first[2])
	s.listen(id, first[2].id, add)
	if out != "1\n2\n3\né" || !slices.Equal(names, []string{"stderr", "result"}) {
		t.Errorf("output %q, other events %q", out, names)
	}
	names = nil
	last := ""
	s.listen(id, "", func(e streamEvent) bool { // long after: all of it again
		last = e.id
		return add(e)
	})
	if len(names) != 4 {
		t.Errorf("events afterwards %q", names)
	}
	if st := s.waitDone(id); st.Result == nil || string(st.Result.Stdout) != "1\n2\n3\né" {
		t.Errorf("%+v", st)
	}
	s.call("GET", "/v1/runs/"+id+"/events", nil, 204, nil, "Last-Event-ID", last)
	s.refused("GET", "/v1/runs/"+id+"/events", nil, 400, api.CodeBadRequest, "Last-Event-ID", "x")

	busy := s.startDetached(sh("while :; do :; done"))
	s.listen(busy, "", func(e streamEvent) bool {
		var now api.LiveUsage
		if e.name != "usage" {
			return true
		}
		if err := json.Unmarshal(e.data, &now); err != nil || now.CPU.Value == nil || *now.CPU.Value < 1e6 || now.Wall < 1e6 {
			t.Errorf("usage %s, %v", e.data, err)
		}
		var st api.Status
		s.call("GET", "/v1/runs/"+busy, nil, 200, &st)
		if st.State != api.Running || st.Usage == nil {
			t.Errorf("%+v", st)
		}
		return false
	})
	s.call("DELETE", "/v1/runs/"+busy, nil, 200, nil)

	tests := sh("cat")
	for i := range 3 {
		tests.Tests = append(tests.Tests, api.Test{ID: fmt.Sprint(i), Stdin: api.Bytes("x")})
	}
	names = nil
	s.listen(s.startDetached(tests), "", func(e streamEvent) bool {
		if e.name != "usage" {
			names = append(names, e.name)
		}
		return true
	})
	if want := []string{"queued", "started", "test", "test", "test", "result"}; !slices.Equal(names, want) {
		t.Errorf("a run with tests has the names %q; want %q", names, want)
	}

	// The usage of tests covers all of them, including the one that has ended.
	tests = sh(`test "$(cat)" = x || while :; do :; done`)
	tests.Tests = tests.Tests[:0]
	for _, stdin := range []string{"x", "y"} {
		tests.Tests = append(tests.Tests, api.Test{Stdin: api.Bytes(stdin)})
	}
	busy = s.startDetached(tests)
	var now api.LiveUsage
	s.listen(busy, "", func(e streamEvent) bool {
		if e.name != "usage" {
			return true
		}
		if err := json.Unmarshal(e.data, &now); err != nil {
			t.Error(err)
		}
		return now.CPU.Value == nil || *now.CPU.Value < 1e6
	})
	var st api.Status
	s.call("GET", "/v1/runs/"+busy, nil, 200, &st)
	if st.State != api.Running || st.Usage == nil || st.Usage.Wall < 1e6 || now.Memory.Value == nil || *now.Memory.Value == 0 {
		t.Errorf("%+v, usage %+v", st, now)
	}
	s.call("DELETE", "/v1/runs/"+busy, nil, 200, nil)
}

// 100 MB of output arrive byte for byte as events, however slowly the client reads. One response
// carries the first 16 MiB of a stream and says so; the verdict is of the whole run.
func TestGatewayLargeOutput(t *testing.T) {
	a := startAgent(t, append(slices.Clone(sharedFlags), "--max-output", "128M")...)
	s := startService(t, a)
	blocks := rounds(100)
	r := sh(fmt.Sprintf(`i=0; while [ $i -lt %d ]; do cat block; i=$((i+1)); done`, blocks))
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i*i>>8 + i)
	}
	r.Files = []api.File{{Name: "block", Content: block}}
	r.Limits.Output = 128 * api.MiB
	sum := sha256.New()
	for range blocks {
		sum.Write(block)
	}
	want := fmt.Sprintf("%x", sum.Sum(nil))

	part := r
	part.Argv = []string{"sh", "-c", "i=0; while [ $i -lt 32 ]; do cat block; i=$((i+1)); done"}
	for _, tt := range []struct {
		limit     api.Size
		verdict   api.Verdict
		want      api.Size
		truncated bool
	}{
		{33 * api.MiB, api.OK, 16 * api.MiB, true},
		{17 * api.MiB, api.OutputLimit, 16 * api.MiB, true},
		{15 * api.MiB, api.OutputLimit, 15 * api.MiB, true},
	} {
		part.Limits.Output = tt.limit
		var res api.Result
		s.call("POST", "/v1/runs", part, 200, &res)
		wantVerdict(t, res, tt.verdict)
		if !bytes.Equal(res.Stdout, bytes.Repeat(block, 16)[:tt.want]) || res.StdoutTruncated != tt.truncated {
			t.Errorf("limit %s: %d bytes, truncated %v; want the first %s, truncated %v", tt.limit, len(res.Stdout), res.StdoutTruncated, tt.want, tt.truncated)
		}
	}
	id := s.startDetached(r)
	got, total, n := sha256.New(), 0, 0
	s.listen(id, "", func(e streamEvent) bool {
		switch e.name {
		case "stdout":
			var piece struct{ Data api.Bytes }
			if err := json.Unmarshal(e.data, &piece); err != nil {
				t.Error(err)
			}
			got.Write(piece.Data)
			total += len(piece.Data)
			if n++; n%400 == 0 {
				time.Sleep(20 * time.Millisecond)
			}
		case "gap":
			t.Errorf("%s, though somebody reads", e.data)
		}
		return true
	})
	if fmt.Sprintf("%x", got.Sum(nil)) != want {
		t.Errorf("as events: %d bytes, another content", total)
	}
}

// DELETE ends a run, and so does a caller that hangs up.
func TestGatewayCancel(t *testing.T) {
	a := startAgent(t, append(sharedFlags, "--slots", "1")...)
	s := startService(t, a)
	running := s.startDetached(sh("echo on; sleep 60"))
	s.listen(running, "", func(e streamEvent) bool { return e.name != "stdout" })
	waiting := s.startDetached(sh("echo never"))
	s.call("DELETE", "/v1/runs/"+waiting, nil, 200, nil)
	if st := s.waitDone(waiting); st.Result == nil || st.Result.Verdict != api.Canceled {
		t.Errorf("one that waited: %+v", st)
	}
	s.call("DELETE", "/v1/runs/"+running, nil, 200, nil)
	if st := s.waitDone(running); st.Result == nil || st.Result.Verdict != api.Canceled || string(st.Result.Stdout) != "on\n" {
		t.Errorf("one under way: %+v", st)
	}
	s.call("DELETE", "/v1/runs/"+running, nil, 200, nil)

	for range 20 {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		body := `{"image":"tiny","argv":["sleep","60"]}`
		fmt.Fprintf(c, "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		time.Sleep(5 * time.Millisecond)
		c.Close()
	}
	var res api.Result
	s.call("POST", "/v1/runs", sh("echo free"), 200, &res)
	wantVerdict(t, res, api.OK)
	for deadline := patience(); ; time.Sleep(10 * time.Millisecond) {
		var h struct{ Load, Queued int }
		s.call("GET", "/health", nil, 200, &h)
		if h.Load == 0 && h.Queued == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: %+v", h)
		}
	}
}

// API-14: another key can neither see, cancel nor use what belongs to a key.
func TestGatewayKeys(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	file, keys := keysFile(t, a.dir, "ann", "bob", "root!")
	s := startService(t, a, "--keys", file)
	ann, bob, root := s.withKey(keys["ann"]), s.withKey(keys["bob"]), s.withKey(keys["root"])

	for _, wrong := range []*service{s, s.withKey("brig_wrong"), s.withKey(keys["ann"] + "x")} {
		for _, path := range []string{"/v1/history", "/v1/languages", "/v1/stats"} {
			if h := wrong.refused("GET", path, nil, 401, api.CodeUnauthorized); h.Get("WWW-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
		}
		wrong.refused("POST", "/v1/runs", sh("true"), 401, api.CodeUnauthorized)
		wrong.refused("POST", "/execute", `{"code":"1"}`, 401, api.CodeUnauthorized)
	}
	s.call("GET", "/health", nil, 200, nil)

	id := ann.startDetached(sh("echo secret; sleep 60"))
	done := ann.startDetached(sh("echo past"))
	ann.waitDone(done)
	for _, path := range []string{id, done, "aaaaaaaaaaaaaaaaaaaaaaaa"} {
		bob.refused("GET", "/v1/runs/"+path, nil, 404, api.CodeNotFound)
		bob.refused("GET", "/v1/runs/"+path+"/events", nil, 404, api.CodeNotFound)
		bob.refused("DELETE", "/v1/runs/"+path, nil, 404, api.CodeNotFound)
	}
	var st api.Status
	if ann.call("GET", "/v1/runs/"+id, nil, 200, &st); st.State == api.Done {
		t.Error("another key has ended the run")
	}
	ann.call("DELETE", "/v1/runs/"+id, nil, 200, nil)
	ann.waitDone(id)

	content := "shared input"
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	uses := api.Run{Image: "tiny", Argv: []string{"cat"}, StdinBlob: digest}
	ann.call("PUT", "/v1/blobs/"+digest, strings.NewReader(content), 204, nil)
	ann.call("HEAD", "/v1/blobs/"+digest, nil, 204, nil)
	bob.call("HEAD", "/v1/blobs/"+digest, nil, 404, nil)
	bob.refused("POST", "/v1/runs", uses, 404, api.CodeNoBlob)
	bob.refused("PUT", "/v1/blobs/"+digest, strings.NewReader("a guess"), 400, api.CodeBadRequest)
	bob.refused("POST", "/v1/runs", uses, 404, api.CodeNoBlob)
	var res api.Result
	ann.call("POST", "/v1/runs", uses, 200, &res)
	if string(res.Stdout) != content {
		t.Errorf("stdout %q", res.Stdout)
	}
	ann.call("POST", "/v1/runs?wait=false", uses, 202, &st)
	if st := ann.waitDone(st.Run); st.Result == nil || string(st.Result.Stdout) != content {
		t.Errorf("not waited for: %+v", st)
	}

	type entry struct{ Owner string }
	if all := pages[entry](bob, "/v1/history?limit=100"); len(all) != 0 {
		t.Errorf("bob's history %+v", all)
	}
	if all := pages[entry](ann, "/v1/history?limit=100"); len(all) != 4 {
		t.Errorf("ann's history %+v; run %s was cancelled, %s done\n%s", all, id, done, s.log)
	}
	bob.refused("GET", "/v1/history?all=true", nil, 403, api.CodeForbidden)
	bob.refused("GET", "/v1/stats?all=true", nil, 403, api.CodeForbidden)
	bob.refused("GET", "/v1/runs/"+st.Run, nil, 404, api.CodeNotFound)
	bob.refused("GET", "/v1/runs/"+st.Run+"?all=true", nil, 403, api.CodeForbidden)
	root.refused("GET", "/v1/runs/"+st.Run, nil, 404, api.CodeNotFound)
	root.call("GET", "/v1/runs/"+st.Run+"?all=true", nil, 200, nil)
	bob.refused("GET", "/metrics", nil, 403, api.CodeForbidden)
	root.getText("/metrics")
	if all := pages[entry](root, "/v1/history?limit=100&all=true"); len(all) != 4 {
		t.Errorf("everyone's history %+v", all)
	}
}
