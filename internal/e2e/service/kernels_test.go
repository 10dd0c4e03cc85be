package service

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A kernelClient is a client of one kernel.
type kernelClient struct {
	*harness.Service
	path string // of the kernel
}

func newKernel(s *harness.Service, session string, ask api.KernelRequest) kernelClient {
	s.T.Helper()
	var k api.Kernel
	s.Call("POST", "/v1/sessions/"+session+"/kernels", ask, http.StatusCreated, &k)
	if k.State != api.KernelIdle || k.Session != session {
		s.T.Errorf("a new kernel is %+v", k)
	}
	return kernelClient{s, "/v1/sessions/" + session + "/kernels/" + k.ID}
}

// A told is what a client was told of a cell.
type told struct {
	start, end     api.CellEvent
	stdout, stderr string
	outputs        int // events of stdout
	others         []api.CellEvent
}

// text is the plain form of the result.
func (o told) text() string {
	for _, e := range o.others {
		if e.Type == api.CellEventResult {
			var text string
			_ = json.Unmarshal(e.Data["text/plain"], &text)
			return text
		}
	}
	return ""
}

// mistake is the name of the error.
func (o told) mistake() string {
	for _, e := range o.others {
		if e.Type == api.CellEventError {
			return e.Name
		}
	}
	return ""
}

func (k kernelClient) run(code string) told {
	return k.runCell(k.T.Context(), api.Cell{Code: code}, nil)
}

// runCell executes a cell. on, if set, is called with each event as it arrives.
func (k kernelClient) runCell(ctx context.Context, c api.Cell, on func(api.CellEvent)) (o told) {
	k.T.Helper()
	res, err := k.Send(ctx, "POST", k.path+"/execute", c)
	if err != nil {
		k.T.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/x-ndjson" {
		k.T.Fatalf("status %d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e api.CellEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			k.T.Fatalf("%q: %v", lines.Text(), err)
		}
		switch e.Type {
		case api.CellEventStart:
			o.start = e
		case api.CellEventEnd:
			o.end = e
		case api.CellEventStdout:
			o.stdout += e.Text
			o.outputs++
		case api.CellEventStderr:
			o.stderr += e.Text
		case api.CellEventKeepAlive:
		default:
			o.others = append(o.others, e)
		}
		if on != nil {
			on(e)
		}
	}
	return o
}

// words has values with spaces between them.
func words(v ...any) string { return strings.TrimSuffix(fmt.Sprintln(v...), "\n") }

func (k kernelClient) want(what string, got, want any) {
	k.T.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		k.T.Errorf("%s: %v, want %v", what, got, want)
	}
}

func pythonSession(t *testing.T, images ...string) (*harness.Service, map[string]string, string) {
	t.Helper()
	a := harness.StartAgent(t, harness.SharedFlags...)
	for _, image := range append(images, "python") {
		harness.Images.Load(t, a, image)
	}
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file).WithKey(keys["ann"])
	var made api.Session
	s.Call("POST", "/v1/sessions", api.SessionRequest{Language: "python"}, http.StatusCreated, &made)
	return s, keys, made.ID
}

// A Python kernel keeps its variables, shows values, and tells of errors; print is one event; a call is answered.
func TestPythonKernel(t *testing.T) {
	s, keys, session := pythonSession(t)
	k := newKernel(s, session, api.KernelRequest{Cwd: "/tmp", Env: map[string]string{"A": "b"}})

	first := k.run("x = 20")
	k.want("first", words(first.start.Count, first.end.Status, first.start.Restarted, len(first.others)), "1 ok false 0")
	second := k.run("import os\nprint('a', x, 'ö')\n(x + 1, os.getcwd(), os.environ['A'])")
	k.want("second", words(second.start.Count, second.text()), "2 (21, '/tmp', 'b')")
	k.want("print", fmt.Sprintf("%d %q", second.outputs, second.stdout), `1 "a 20 ö\n"`)

	failed := k.run("def f(): raise ValueError('no')\nf()")
	k.want("error", words(failed.mistake(), failed.end.Status), "ValueError error")
	if lines := strings.Join(failed.others[0].Traceback, "\n"); !strings.Contains(lines, `File "<cell 3>", line 2`) ||
		strings.Contains(lines, "<string>") {
		t.Errorf("traceback %s", lines)
	}

	k.want("await", k.run("import asyncio\nawait asyncio.sleep(0)\n'done'").text(), "'done'")
	k.want("a command", k.run("!echo hi; echo oh >&2").stdout, "hi\n")
	k.want("input", k.run("input()").mistake(), "OSError")
	html := k.run("class A:\n  def _repr_html_(self): return '<b>'\nA()").others[0].Data["text/html"]
	k.want("html", string(html), `"\u003cb\u003e"`)
	k.want("environment of a cell", k.runCell(t.Context(), api.Cell{Code: "os.environ['C']", Env: map[string]string{"C": "d"}},
		nil).text(), "'d'")
	k.want("environment after it", k.run("os.environ.get('C')").text(), "")
	k.want("silent", len(k.runCell(t.Context(), api.Cell{Code: "5", Silent: true}, nil).others), 0)

	sum := k.runCell(t.Context(), api.Cell{Code: "ask('add', 1, b=2) + x"}, func(e api.CellEvent) {
		if e.Type == api.CellEventAsk {
			k.want("ask", words(e.Name, string(e.Args), string(e.Named)), `add [1] {"b":2}`)
			k.Call("POST", k.path+"/answer", api.KernelAnswer{ID: e.ID, Value: json.RawMessage("3")}, http.StatusNoContent, nil)
			k.Refused("POST", k.path+"/answer", api.KernelAnswer{ID: e.ID}, http.StatusNotFound, api.CodeNotFound)
		}
	})
	k.want("answer", sum.text(), "23")

	// Another key finds nothing.
	bob := s.WithKey(keys["bob"])
	for _, path := range []string{"", "/execute", "/interrupt", "/restart", "/answer"} {
		method, body := "POST", any(api.Cell{Code: "x"})
		if path == "" {
			method, body = "GET", nil
		}
		bob.Refused(method, k.path+path, body, http.StatusNotFound, api.CodeNotFound)
	}
	bob.Refused("DELETE", k.path, nil, http.StatusNotFound, api.CodeNotFound)
	var page api.Page[api.Kernel]
	k.Call("GET", "/v1/sessions/"+session+"/kernels", nil, http.StatusOK, &page)
	k.want("kernels", len(page.Items), 1)

	k.Refused("POST", "/v1/sessions/"+session+"/kernels", api.KernelRequest{Language: "cobol"}, http.StatusBadRequest, api.CodeBadRequest)
	k.Refused("POST", "/v1/sessions/"+session+"/kernels", api.KernelRequest{Language: api.KernelJavaScript},
		http.StatusUnprocessableEntity, api.CodeNoProgram)
	k.Refused("POST", "/v1/sessions/"+session+"/kernels", api.KernelRequest{Cwd: "/nowhere"}, http.StatusBadRequest, api.CodeBadRequest)

	k.Call("DELETE", k.path, nil, http.StatusNoContent, nil)
	k.Refused("GET", k.path, nil, http.StatusNotFound, api.CodeNotFound)
}

// Kernels of the other languages keep their variables, and are interrupted.
func TestKernelsOfOtherLanguages(t *testing.T) {
	s, _, _ := pythonSession(t, "node", "bash")
	for language, test := range map[api.KernelLanguage][3]string{
		api.KernelJavaScript: {"let x = 1", "console.log('begun'); while (true) {}", "let y = 2; console.log(x + await y)"},
		api.KernelBash:       {"x=1; cd /tmp", "echo begun; sleep 1000", "echo $((x + 2)); [ $PWD = /tmp ]"},
	} {
		var made api.Session
		s.Call("POST", "/v1/sessions", api.SessionRequest{Language: string(language)}, http.StatusCreated, &made)
		k := newKernel(s, made.ID, api.KernelRequest{Language: language})
		k.run(test[0])
		k.hangUp(test[1])
		o := k.run(test[2])
		k.want(string(language), words(o.stdout, o.end.Status, o.start.Restarted), "3\n ok false")
	}
}

// hangUp executes a cell, and leaves when it has written something.
func (k kernelClient) hangUp(code string) {
	k.T.Helper()
	ctx, cancel := context.WithCancel(k.T.Context())
	defer cancel()
	k.runCell(ctx, api.Cell{Code: code}, func(e api.CellEvent) {
		if e.Type == api.CellEventStdout {
			cancel()
		}
	})
}

// Whatever ends a cell, the next one is executed, and is told whether the variables are lost.
func TestKernelsSurviveTheirCells(t *testing.T) {
	s, _, session := pythonSession(t)
	k := newKernel(s, session, api.KernelRequest{})
	k.run("x = 1")

	k.hangUp("print('begun')\nwhile True: pass")
	begun := time.Now()
	after := k.run("x")
	k.want("after a hang-up", words(after.text(), after.start.Restarted), "1 false")
	if took := time.Since(begun); took > harness.Slow(3*time.Second) {
		t.Errorf("the cell after a hang-up took %s", took)
	}

	late := k.runCell(t.Context(), api.Cell{Code: "import time\ntime.sleep(1000)", Timeout: api.Duration(200 * time.Millisecond)}, nil)
	k.want("timeout", words(late.end.Status, late.end.Restarted, late.mistake()), "timeout false KeyboardInterrupt")
	k.want("after a timeout", k.run("x").text(), "1")

	stopped := k.runCell(t.Context(), api.Cell{Code: "print(1)\nwhile True: pass"}, func(e api.CellEvent) {
		if e.Type == api.CellEventStdout {
			k.Call("POST", k.path+"/interrupt", nil, http.StatusNoContent, nil)
		}
	})
	k.want("interrupt", words(stopped.end.Status, stopped.end.Restarted), "interrupted false")

	// A cell that catches the signal loses its interpreter.
	k.hangUp("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('begun')\nwhile True: pass")
	fresh := k.run("'x' in globals()")
	k.want("after a cell that ignores SIGINT", words(fresh.text(), fresh.start.Restarted, fresh.start.Count), "False true 1")

	died := k.run("x = 1\nimport os\nos._exit(7)")
	k.want("the end of the interpreter", words(died.end.Status, died.end.Restarted, died.mistake()), "died true died")
	if !strings.Contains(died.others[0].Value, "exit status 7") {
		t.Errorf("%q", died.others[0].Value)
	}
	fresh = k.run("'x' in globals()")
	k.want("after that", words(fresh.text(), fresh.start.Restarted), "False true")
	k.want("and then", k.run("1").start.Restarted, false)

	k.run("x = 1")
	k.Call("POST", k.path+"/restart", nil, http.StatusOK, nil)
	k.want("restart", k.run("'x' in globals()").text(), "False")
}

// Hostile cells end their own kernel at most.
func TestHostileKernels(t *testing.T) {
	s, _, session := pythonSession(t)
	k, other := newKernel(s, session, api.KernelRequest{}), newKernel(s, session, api.KernelRequest{})
	other.run("x = 1")
	const forge = "import os\nfd = max(int(n) for n in os.listdir('/proc/self/fd')" +
		" if int(n) < 200 and os.path.exists('/proc/self/fd/' + n))\n" +
		"def say(s): os.write(fd, b'%d\\n%s' % (len(s), s))\n"

	k.run(forge)
	for body, want := range map[string]string{
		`{"type":"end","status":"ok"}`: "BadEvent ok",
		`{"type":"result","data":{"a":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}}`: "BadEvent ok",
		`{"type":"done","cell":999,"status":"ok"}`:                                                 " ok",
		`{"type":"ready"}`:                     " ok",
		`{"type":"result","data":{"a":1e999}}`: "BadEvent ok",
	} {
		o := k.run(fmt.Sprintf("say(%q.encode())", body))
		k.want(body[:min(40, len(body))], o.mistake()+" "+string(o.end.Status), want)
	}

	// The forged end of a cell ends what its client is told, and the next cell waits for the program.
	o := k.run("say(b'{\"type\":\"done\",\"cell\":7,\"status\":\"ok\"}')\nimport time\ntime.sleep(0.3)\ny = 5")
	k.want("forged end", o.end.Status, "ok")
	k.want("after it", k.run("y").text(), "5")

	o = k.run("os.write(fd, b'garbage')\nimport time\ntime.sleep(1000)")
	k.want("no events", words(o.end.Status, o.end.Restarted), "died true")

	o = k.run("import os\nwhile True:\n  try: os.fork()\n  except OSError: os._exit(1)")
	if !slices.Contains([]api.CellStatus{api.CellDied, api.CellOK, api.CellError}, o.end.Status) {
		t.Errorf("a fork bomb: %+v", o.end)
	}
	k.want("another kernel after a fork bomb", other.run("x").text(), "1")
	k.want("the kernel after its fork bomb", k.run("1 + 1").text(), "2")

	// The service goes on: a kernel ends with its session.
	s.Call("DELETE", "/v1/sessions/"+session, nil, http.StatusNoContent, nil)
	k.Refused("POST", k.path+"/execute", api.Cell{Code: "1"}, http.StatusGone, api.CodeSessionEnded)
}
