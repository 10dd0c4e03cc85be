package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// processAt starts a process of a session, and returns its path.
func processAt(s *harness.Service, session string, ask api.ProcessRequest) string {
	s.T.Helper()
	var made api.Process
	h := s.Call("POST", "/v1/sessions/"+session+"/processes", ask, 201, &made)
	at := "/v1/sessions/" + session + "/processes/" + strconv.Itoa(made.PID)
	if made.State != api.ProcessRunning && made.State != api.ProcessEnded || h.Get("Location") != at {
		s.T.Fatalf("process %+v, location %q", made, h.Get("Location"))
	}
	return at
}

// outputUntil reads output from an offset until it has a text, and returns it and where to read on.
func outputUntil(s *harness.Service, at string, since int64, text string) (all string, next int64) {
	s.T.Helper()
	next = since
	for until := harness.Patience(); !strings.Contains(all, text); {
		var out api.ProcessOutput
		s.Call("GET", fmt.Sprintf("%s/output?since=%d&wait=10s", at, next), nil, 200, &out)
		for _, p := range out.Pieces {
			all += string(p.Data)
		}
		next = out.Next
		if out.Ended && !strings.Contains(all, text) || time.Now().After(until) {
			s.T.Fatalf("the output has no %q: %q", text, all)
		}
	}
	return all, next
}

// endOf waits for the end of a process.
func endOf(s *harness.Service, at string) (p api.Process) {
	s.T.Helper()
	for until := harness.Patience(); ; {
		var out api.ProcessOutput
		s.Call("GET", at+"/output?since=999999999&wait=10s", nil, 200, &out)
		if out.Ended {
			s.Call("GET", at, nil, 200, &p)
			return p
		}
		if time.Now().After(until) {
			s.T.Fatal("it does not end")
		}
	}
}

func sendTo(s *harness.Service, at, text string) {
	s.T.Helper()
	res, err := s.Request(s.T.Context(), "POST", at+"/stdin", strings.NewReader(text), "Content-Type", "application/octet-stream")
	if err != nil {
		s.T.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		s.T.Fatalf("stdin %q: status %d", text, res.StatusCode)
	}
}

// API-33: a REPL keeps its variables from one request to the next, an interrupt reaches it, and its end is known
// afterwards. None of that is another key's.
func TestProcesses(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file)
	ann, bob := s.WithKey(keys["ann"]), s.WithKey(keys["bob"])
	var made api.Session
	ann.Call("POST", "/v1/sessions", api.SessionRequest{Language: "python"}, 201, &made)
	id := made.ID
	all := "/v1/sessions/" + id + "/processes"

	// Each line is one write: print makes several, and the prompt, which is on stderr, may come between them.
	const say = `import sys; say = lambda *a: sys.stdout.write(" ".join(map(str, a)) + "\n") and None`
	at := processAt(ann, id, api.ProcessRequest{
		Argv: []string{"python3", "-iqu", "-c", say}, Stdin: api.ProcessStdinOpen, Detach: true, Tag: "repl",
	})
	sendTo(ann, at, "x = 41\nsay('x', x + 1)\n")
	_, next := outputUntil(ann, at, 0, "x 42\n")
	sendTo(ann, at, "say('on'); exec('while True: pass')\n")
	_, next = outputUntil(ann, at, next, "on\n")
	ann.Call("POST", at+"/signal", api.SignalRequest{Signal: "SIGINT"}, 204, nil)
	_, next = outputUntil(ann, at, next, "KeyboardInterrupt")
	sendTo(ann, at, "say('still', x)\n")
	outputUntil(ann, at, next, "still 41\n")

	var list api.Page[api.Process]
	ann.Call("GET", all, nil, 200, &list)
	if len(list.Items) != 1 || list.Items[0].Tag != "repl" || list.Items[0].State != api.ProcessRunning || list.Items[0].OutputOffset < next {
		t.Errorf("processes %+v", list.Items)
	}

	// It belongs to its key, and what means nothing changes nothing.
	for _, path := range []string{all, at, at + "/output", at + "/attach"} {
		bob.Refused("GET", path, nil, 404, api.CodeNotFound)
	}
	bob.Refused("POST", at+"/signal", api.SignalRequest{Signal: "SIGKILL"}, 404, api.CodeNotFound)
	bob.Refused("POST", all, api.ProcessRequest{Argv: []string{"true"}}, 404, api.CodeNotFound)
	for _, tt := range []struct {
		method, path string
		body         any
		status       int
		code         api.Code
	}{
		{"GET", all + "/99", nil, 404, api.CodeNotFound},
		{"GET", all + "/x", nil, 404, api.CodeNotFound},
		{"GET", at + "/attach", nil, 426, api.CodeBadRequest},
		{"GET", at + "/output?since=-1", nil, 400, api.CodeBadRequest},
		{"GET", at + "/output?wait=2h", nil, 400, api.CodeBadRequest},
		{"POST", at + "/signal", api.SignalRequest{Signal: "SIGSEGV"}, 400, api.CodeBadRequest},
		{"POST", at + "/resize", api.TTY{Rows: 3}, 400, api.CodeBadRequest},
		{"POST", all, api.ProcessRequest{Argv: []string{"true"}, Command: "true"}, 400, api.CodeBadRequest},
		{"POST", all, api.ProcessRequest{Argv: []string{"true"}, Stdin: "maybe"}, 400, api.CodeBadRequest},
		{"POST", all, api.ProcessRequest{Argv: []string{"true"}, TTY: &api.TTY{}, Stdin: api.ProcessStdinNone}, 400, api.CodeBadRequest},
		{"POST", all, api.ProcessRequest{Argv: []string{"true"}, Tag: strings.Repeat("x", 201)}, 400, api.CodeBadRequest},
		{"POST", all, api.ProcessRequest{}, 400, api.CodeBadRequest},
	} {
		ann.Refused(tt.method, tt.path, tt.body, tt.status, tt.code)
	}

	ann.Call("POST", at+"/stdin?eof=true", strings.NewReader("1\n"), 204, nil)
	if p := endOf(ann, at); p.Result == nil || p.Result.Verdict != api.OK || p.State != api.ProcessEnded || p.Ended == "" {
		t.Errorf("ended %+v", p)
	}
	ann.Refused("POST", at+"/stdin", strings.NewReader("1"), 409, api.CodeConflict)
	ann.Refused("POST", at+"/signal", api.SignalRequest{Signal: "SIGINT"}, 409, api.CodeConflict)

	// A terminal, whose size changes; a command; what has no stdin; what cannot start.
	tty := processAt(ann, id, api.ProcessRequest{Command: "read a; stty size", TTY: &api.TTY{Rows: 20, Cols: 70}, Detach: true})
	ann.Call("POST", tty+"/resize", api.TTY{Rows: 33, Cols: 99}, 204, nil)
	sendTo(ann, tty, "\n")
	outputUntil(ann, tty, 0, "33 99\r\n")
	none := processAt(ann, id, api.ProcessRequest{Command: "cat; echo end >&2", Detach: true})
	var out api.ProcessOutput
	endOf(ann, none)
	ann.Call("GET", none+"/output", nil, 200, &out)
	if len(out.Pieces) != 1 || out.Pieces[0].Stream != api.ProcessStderr || string(out.Pieces[0].Data) != "end\n" || !out.Ended {
		t.Errorf("output %+v", out)
	}
	ann.Refused("POST", none+"/stdin", strings.NewReader("1"), 409, api.CodeConflict)

	// The end of the session is the end of its processes.
	last := processAt(ann, id, api.ProcessRequest{Command: "sleep 1000", Detach: true})
	ann.Call("DELETE", "/v1/sessions/"+id, nil, 204, nil)
	ann.Refused("GET", last, nil, 410, api.CodeSessionEnded)
}

// An attacher is a client of the WebSocket of a process, with brig's subprotocol.
type attacher struct {
	*socketClient
	events []map[string]json.RawMessage
	text   string // stdout and stderr
}

func attachTo(t *testing.T, s *harness.Service, key, path string) (*attacher, int) {
	t.Helper()
	c, status := openSocket(t, s, key, path, "brig.exec.v1")
	return &attacher{socketClient: c}, status
}

// wait reads until a text is there; empty: until the server closes, and then returns the reason.
func (c *attacher) wait(text string) (reason string) {
	c.t.Helper()
	for text == "" || !strings.Contains(c.text, text) {
		_, message, err := c.conn.Read(c.ctx)
		var closed websocket.CloseError
		switch {
		case errors.As(err, &closed) && text == "":
			return fmt.Sprintf("%d %s", closed.Code, closed.Reason)
		case err != nil:
			c.t.Fatalf("%v before %q; text %q, events %v", err, text, c.text, c.events)
		case message[0] == 1 || message[0] == 2:
			c.text += string(message[1:])
		case message[0] == 6:
			var e map[string]json.RawMessage
			if err := json.Unmarshal(message[1:], &e); err != nil {
				c.t.Fatal(err)
			}
			c.events = append(c.events, e)
		}
	}
	return ""
}

// Clients come and go: a process that is detached goes on, tells what is lost, and is taken over; one that is not ends
// with its last client.
func TestAttach(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file)
	ann := s.WithKey(keys["ann"])
	id := newSession(ann, "course", "processes")
	sh := func(script string, detach bool) string {
		return processAt(ann, id, api.ProcessRequest{Command: script, Stdin: api.ProcessStdinOpen, Detach: detach})
	}

	at := sh("trap 'echo hit' INT; echo up; while :; do read line && echo got $line; test \"$line\" = quit && exit 5; done", true)
	first, _ := attachTo(t, s, keys["ann"], at+"/attach")
	first.wait("up\n")
	first.send("\x00one\n")
	first.wait("got one\n")
	first.conn.CloseNow()

	sendTo(ann, at, "two\n")
	outputUntil(ann, at, 0, "got two\n")
	var p api.Process
	for until := harness.Patience(); ; time.Sleep(10 * time.Millisecond) {
		if ann.Call("GET", at, nil, 200, &p); !p.Attached {
			break
		}
		if time.Now().After(until) {
			t.Fatal("a client that has left is still attached")
		}
	}

	second, _ := attachTo(t, s, keys["ann"], at+"/attach?since=3")
	second.wait("got two\n")
	if second.text != "got one\ngot two\n" || string(second.events[0]["started"]) != fmt.Sprintf(`{"pid":%d}`, p.PID) ||
		string(second.events[1]["offset"]) != "3" {
		t.Errorf("since 3: %q, events %s", second.text, second.events)
	}
	if _, status := attachTo(t, s, keys["ann"], at+"/attach"); status != http.StatusConflict {
		t.Errorf("a second client: status %d; want 409", status)
	}
	if _, status := attachTo(t, s, keys["bob"], at+"/attach?takeover=true"); status != http.StatusNotFound {
		t.Errorf("another key: status %d; want 404", status)
	}

	if _, status := openSocket(t, s, keys["ann"], at+"/attach?takeover=true", "", "Origin", "https://evil.example"); status != 403 {
		t.Errorf("a page of another origin: status %d; want 403", status)
	}

	third, _ := attachTo(t, s, keys["ann"], at+"/attach?takeover=true")
	if reason := second.wait(""); reason != "4001 taken over" {
		t.Errorf("who was taken over: closed %q", reason)
	}
	third.wait("got two\n")
	third.send("\x05SIGINT")
	third.wait("hit\n")
	third.send("\x00three\n")
	third.wait("got three\n")
	third.send("\x00quit\n")
	if reason := third.wait(""); reason != "1000 exit code 5" {
		t.Errorf("closed %q", reason)
	}
	last := third.events[len(third.events)-1]
	var res api.Result
	if err := json.Unmarshal(last["result"], &res); err != nil || res.ExitCode != 5 {
		t.Errorf("the last event is %s", last)
	}

	// After its end it can be read as before.
	late, _ := attachTo(t, s, keys["ann"], at+"/attach")
	if reason := late.wait(""); reason != "1000 exit code 5" || !strings.HasPrefix(late.text, "up\n") {
		t.Errorf("after the end: closed %q, %q", reason, late.text)
	}

	// More than is kept: the first bytes are lost, and who reads is told.
	flood := sh("seq 1 1000000; echo last; read a", true) // 6,888,896 bytes
	outputUntil(ann, flood, 6_888_896, "last\n")
	gap, _ := attachTo(t, s, keys["ann"], flood+"/attach?since=7")
	gap.wait("last\n")
	var lost int64
	for _, e := range gap.events {
		if g := e["gap"]; g != nil {
			n, err := strconv.ParseInt(string(g), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			lost += n
		}
	}
	const total = 6_888_896 + 5
	if got := int64(len(gap.text)); got != 4<<20 || lost != total-7-4<<20 || !strings.HasSuffix(gap.text, "\n1000000\nlast\n") {
		t.Errorf("%d bytes arrived, %d are told as lost", got, lost)
	}

	// Without detach, the last client takes the program with it. One who is slow loses nothing.
	alone := sh("seq 1 1000000; echo last; read a", false)
	slow, _ := attachTo(t, s, keys["ann"], alone+"/attach")
	time.Sleep(300 * time.Millisecond) // it reads nothing at first: the program waits for it
	slow.wait("last\n")
	if len(slow.text) != total {
		t.Errorf("a slow client got %d bytes of %d", len(slow.text), total)
	}
	slow.conn.CloseNow()
	if p := endOf(ann, alone); p.Result == nil || p.Result.Verdict != api.Canceled {
		t.Errorf("without its client: %+v", p)
	}

	// A kubectl-like client gets stdout, stderr and the status.
	k := sh("echo out; echo err >&2; cat; exit 7", true)
	c, _ := openSocket(t, s, keys["ann"], k+"/attach", "v5.channel.k8s.io")
	c.wait("out\n")
	c.send("\x00x\n")
	c.wait("x\n")
	c.send("\xff\x00") // the end of stdin
	if c.end(); c.shown[2].String() != "err\n" || !strings.Contains(c.shown[3].String(), `"7"`) {
		t.Errorf("stderr %q, status %q", c.shown[2].String(), c.shown[3].String())
	}

	// The socket of an exec has signals and events as well.
	e, _ := attachTo(t, s, keys["ann"], "/v1/sessions/"+id+"/exec?command=sh&command=-c&command="+
		"trap+%27echo+hit%3B+exit+3%27+INT%3B+echo+up%3B+while+%3A%3B+do+sleep+0.1%3B+done")
	e.wait("up\n")
	e.send("\x05SIGINT")
	e.wait("hit\n")
	if reason := e.wait(""); reason != "1000 exit code 3" || e.events[0]["started"] == nil || e.events[len(e.events)-1]["result"] == nil {
		t.Errorf("closed %q, events %s", reason, e.events)
	}
}

// A message of any size is input: kubectl cp sends 32 KiB and a byte at a time.
func TestLongMessages(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	file, keys := harness.KeysFile(t, a.Dir, "ann")
	s := harness.StartService(t, a, "--keys", file)
	ann := s.WithKey(keys["ann"])
	id := newSession(ann, "course", "messages")
	for name, path := range map[string]string{
		"an exec":   "/v1/sessions/" + id + "/exec?command=wc&command=-c&stdin=true",
		"a process": processAt(ann, id, api.ProcessRequest{Argv: []string{"wc", "-c"}, Stdin: "open"}) + "/attach",
	} {
		c, _ := openSocket(t, s, keys["ann"], path, "v5.channel.k8s.io")
		sum := 0
		for _, n := range []int{1, 32 << 10, 1 << 20, 100_000} {
			c.send("\x00" + strings.Repeat("x", n))
			sum += n
		}
		c.send("\xff\x00")
		if c.end(); strings.TrimSpace(c.shown[1].String()) != strconv.Itoa(sum) {
			t.Errorf("%s: %q of %d bytes have arrived", name, c.shown[1].String(), sum)
		}
	}
}

// API-34: after kill -9 of the service its processes end with their connections, and the next service knows none of them. A
// service that stops ends them, too.
func TestProcessesEndWithTheService(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	for name, stop := range map[string]func(s *harness.Service){
		"killed":  func(s *harness.Service) { _ = s.Cmd.Process.Kill(); <-s.Done },
		"stopped": func(s *harness.Service) { s.Stop() },
	} {
		s := harness.StartService(t, a)
		id := newSession(s, "course", name)
		at := processAt(s, id, api.ProcessRequest{Command: "echo up; sleep 1000", Detach: true})
		outputUntil(s, at, 0, "up\n")
		stop(s)

		next := harness.StartService(t, a)
		harness.Eventually(t, "the sessions of the earlier service to end", func() bool {
			all, err := a.Sessions(t.Context())
			return err == nil && len(all) == 0
		})
		res, err := next.Send(t.Context(), "GET", at, nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 404 && res.StatusCode != 410 {
			t.Errorf("%s: the next service answers %d", name, res.StatusCode)
		}
		next.Stop()
	}
}

// 40 processes of a key leave two slots to its runs; one more than a session may have is refused.
func TestProcessesHoldNoSlot(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	var all []string
	var ids []string
	for i := range 40 {
		if i%api.SessionResidents == 0 {
			ids = append(ids, newSession(s, "course", "slots "+strconv.Itoa(i)))
		}
		all = append(all, processAt(s, ids[len(ids)-1], api.ProcessRequest{Command: "read a; echo got $a", Stdin: "open", Detach: true}))
	}
	for range 4 {
		var res api.Result
		s.Call("POST", "/v1/runs", api.Run{Image: "tiny", Argv: []string{"true"}}, 200, &res)
		harness.WantVerdict(t, res, api.OK)
		harness.WantVerdict(t, s.ExecIn(ids[0], "true"), api.OK)
	}
	s.Refused("POST", "/v1/sessions/"+ids[0]+"/processes", api.ProcessRequest{Argv: []string{"true"}}, 429, api.CodeSessionBusy)
	for i, at := range all {
		sendTo(s, at, strconv.Itoa(i)+"\n")
		outputUntil(s, at, 0, "got "+strconv.Itoa(i)+"\n")
		if p := endOf(s, at); p.Result == nil || p.Result.Verdict != api.OK {
			t.Errorf("%+v", p)
		}
	}
}
