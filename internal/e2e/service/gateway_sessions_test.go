package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/service/client"
)

// newSession creates a session of the tiny image.
func newSession(s *harness.Service, project, task string) string {
	s.T.Helper()
	var made api.Session
	h := s.Call("POST", "/v1/sessions",
		api.SessionRequest{Image: "tiny", Labels: api.Labels{Project: project, Task: task}, Limits: api.Limits{Memory: 64 * api.MiB}}, 201, &made)
	if made.ID == "" || h.Get("Location") != "/v1/sessions/"+made.ID {
		s.T.Fatalf("session %+v, location %q", made, h.Get("Location"))
	}
	return made.ID
}

func TestGatewaySessions(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file)
	ann, bob := s.WithKey(keys["ann"]), s.WithKey(keys["bob"])
	id := newSession(ann, "course", "ex1")
	at := "/v1/sessions/" + id

	// Files and processes persist.
	harness.WantVerdict(t, ann.ExecIn(id, "echo one >a; (sleep 600 >/dev/null 2>&1 </dev/null &)"), api.OK)
	res := ann.ExecIn(id, "cat a; until ps -o args | grep -cx 'sleep 600'; do sleep 0.05; done | tail -n 1")
	if string(res.Stdout) != "one\n1\n" || res.Labels != (api.Labels{Project: "course", Task: "ex1"}) {
		t.Errorf("the next exec, of %+v, says %q %q", res.Labels, res.Stdout, res.Stderr)
	}

	content := bytes.Repeat([]byte("\x00\xff binary"), 100_000)
	ann.Call("PUT", at+"/files/d/in.bin", bytes.NewReader(content), 204, nil)
	if got := ann.ReadIn(at + "/files/d/in.bin"); got != string(content) {
		t.Errorf("%d bytes come back of %d", len(got), len(content))
	}

	ann.ExecIn(id, ": >empty")
	if got := ann.ReadIn(at + "/files/empty"); got != "" {
		t.Errorf("an empty file has %q", got)
	}

	var list api.FileList
	ann.Call("GET", at+"/files", nil, 200, &list)
	if len(list.Files) < 4 {
		t.Errorf("files %+v", list)
	}

	ann.Call("DELETE", at+"/files/a", nil, 204, nil)
	ann.Refused("GET", at+"/files/a", nil, 404, api.CodeNotFound)
	ann.Refused("PUT", at+"/files/..%2f..%2fetc%2fpasswd", strings.NewReader("x"), 400, api.CodeBadFile)
	ann.ExecIn(id, "ln -s /etc/passwd link")
	if res, err := ann.Request(t.Context(), "GET", at+"/files/link", nil); err != nil || res.StatusCode < 400 {
		t.Errorf("a link is followed: %v, %v", res, err)
	}

	// Output arrives as it is written.
	stream, err := ann.Request(t.Context(), "POST", at+"/exec",
		api.Exec{Argv: []string{"sh", "-c", "echo 1; until [ -e go ]; do sleep 0.02; done; echo 2; exit 3"}},
		"Accept", "text/event-stream")
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	err = client.ReadEvents(stream.Body, func(e client.Event) error {
		if names = append(names, string(e.Name)); len(names) == 1 {
			ann.Call("PUT", at+"/files/go", strings.NewReader(""), 204, nil)
		}
		if e.Name == "result" {
			var r api.Result
			if err := json.Unmarshal(e.Data, &r); err != nil {
				return err
			}
			harness.WantVerdict(t, r, api.Nonzero)
			if string(r.Stdout) != "1\n2\n" {
				t.Errorf("stdout %q", r.Stdout)
			}
		}
		return nil
	})

	stream.Body.Close()
	if !errors.Is(err, io.ErrUnexpectedEOF) || strings.Join(names, " ") != "stdout stdout result" {
		t.Errorf("events %q, %v", names, err)
	}

	// One session per project and task; and each key has its own.
	var p api.Problem
	ann.Call("POST", "/v1/sessions", api.SessionRequest{Image: "tiny", Labels: api.Labels{Project: "course", Task: "ex1"}}, 409, &p)
	if p.Code != api.CodeConflict || p.Session != id {
		t.Errorf("a second session: %+v", p)
	}

	other := newSession(bob, "course", "ex1")
	for _, path := range []string{"", "/files", "/files/empty"} {
		bob.Refused("GET", at+path, nil, 404, api.CodeNotFound)
	}

	bob.Refused("POST", at+"/exec", api.Exec{Argv: []string{"true"}}, 404, api.CodeNotFound)
	bob.Refused("PUT", at+"/files/x", strings.NewReader("x"), 404, api.CodeNotFound)
	bob.Refused("DELETE", at+"/files/empty", nil, 404, api.CodeNotFound)
	bob.Refused("DELETE", at, nil, 404, api.CodeNotFound)
	if got := bob.ExecIn(other, "ls"); len(got.Stdout) != 0 {
		t.Errorf("another's session has %q", got.Stdout)
	}

	var page api.Page[api.Session]
	bob.Call("GET", "/v1/sessions", nil, 200, &page)
	if len(page.Items) != 1 || page.Items[0].ID != other {
		t.Errorf("bob's sessions %+v", page)
	}

	var now api.Session
	ann.Call("GET", at, nil, 200, &now)
	if now.Execs < 4 || now.Usage.Memory.Value == nil || *now.Usage.Memory.Value == 0 {
		t.Errorf("the session says %+v", now)
	}

	ann.Call("DELETE", at, nil, 204, nil)
	ann.Refused("GET", at, nil, 410, api.CodeSessionEnded)
	ann.Refused("GET", at+"/files/empty", nil, 410, api.CodeSessionEnded)
	bob.Refused("GET", at, nil, 404, api.CodeNotFound)
	newSession(ann, "course", "ex1")
	runs := harness.Pages[struct {
		Project string `json:"project"`
	}](ann, "/v1/history?limit=100&project=course&task=ex1")
	if len(runs) != int(now.Execs) {
		t.Errorf("%d execs are in the history; %d were", len(runs), now.Execs)
	}
}

// An exec whose session is deleted meanwhile is answered, with what it wrote, and is in the
// history.
func TestGatewayExecOfADeletedSession(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.LaunchService(t, a, filepath.Join(a.Dir, "gateway"))
	id := newSession(s, "p", "t")
	answered := harness.LongExec(t, client.New(s.Url, ""), id)
	s.Call("DELETE", "/v1/sessions/"+id, nil, 204, nil)
	harness.WantSessionEnded(t, <-answered, "it was deleted")
	runs := harness.Pages[struct {
		ID      string      `json:"run_id"`
		Verdict api.Verdict `json:"verdict"`
	}](s, "/v1/history?limit=100&project=p&verdict=canceled")
	if len(runs) != 1 || runs[0].Verdict != api.Canceled {
		t.Fatalf("the history has %+v", runs)
	}

	var kept api.Status
	s.Call("GET", "/v1/runs/"+runs[0].ID, nil, 200, &kept)
	if kept.Result == nil {
		t.Fatalf("the run is kept as %+v", kept)
	}

	harness.WantSessionEnded(t, *kept.Result, "it was deleted")
}

// A session is not idle while one of its execs waits for a slot.
func TestGatewayExecWaitsLongerThanIdle(t *testing.T) {
	a := harness.StartAgent(t, "--group", "daemon", "--slots", "1")
	s := harness.StartService(t, a)
	var made api.Session
	other := harness.Sh("sleep 600")
	other.Limits.Memory = 64 * api.MiB
	first := s.StartDetached(other)
	waitLoad(s, 1)
	idle := harness.Slow(4 * time.Second)
	s.Call("POST", "/v1/sessions",
		api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 64 * api.MiB}, Idle: api.Duration(idle)}, 201, &made)
	waits := postAsync(s, "/v1/sessions/"+made.ID+"/exec", api.Exec{Argv: []string{"sh", "-c", "echo here"}})
	var h struct{ Queued int }
	harness.Eventually(t, "the exec to wait", func() bool { s.Call("GET", "/health", nil, 200, &h); return h.Queued == 1 })
	time.Sleep(idle + time.Second)
	s.Call("DELETE", "/v1/runs/"+first, nil, 200, nil)
	if res := (<-waits).result; string(res.Stdout) != "here\n" || res.Timing.Queued < int64(idle) {
		t.Errorf("after %v in the queue: %s, %q", time.Duration(res.Timing.Queued), res.Verdict, res.Stdout)
	}

	harness.WantVerdict(t, *s.WaitDone(first).Result, api.Canceled)
	harness.Eventually(t, "the session to be idle", func() bool {
		_, err := a.Session(t.Context(), made.ID)
		return err != nil
	})
}

// Sessions end with the service; those of a killed service are ended by the next.
func TestGatewaySessionsEnd(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	live := func() int {
		t.Helper()
		all, err := a.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}

	data := filepath.Join(a.Dir, "gateway")
	s := harness.LaunchService(t, a, data)
	newSession(s, "", "")
	newSession(s, "", "") // without a project and task there is no limit of one
	if n := live(); n != 2 {
		t.Fatalf("%d sessions", n)
	}

	_ = s.Cmd.Process.Kill()
	<-s.Done
	if n := live(); n != 2 {
		t.Fatalf("%d sessions after the service was killed", n)
	}

	s = harness.LaunchService(t, a, data)
	harness.Eventually(t, "the sessions of the killed service to end", func() bool { return live() == 0 })
	newSession(s, "p", "t")
	s.Stop()
	if n := live(); n != 0 {
		t.Errorf("%d sessions after the service has stopped", n)
	}

	s = harness.LaunchService(t, a, data)
	id := newSession(s, "p", "t")
	if err := a.DeleteSession(t.Context(), id); err != nil {
		t.Fatal(err)
	}

	s.Refused("POST", "/v1/sessions/"+id+"/exec", api.Exec{Argv: []string{"true"}}, 410, api.CodeSessionEnded)
	newSession(s, "p", "t") // the ended session no longer counts
	s.Refused("POST", "/v1/sessions", `{"image":"tiny","lifetime":1}`, 400, api.CodeBadRequest)
	s.Refused("POST", "/v1/sessions", `{"image":"none"}`, 404, api.CodeNoImage)
	s.Refused("POST", "/v1/sessions", fmt.Sprintf(`{"image":"tiny","life":%q}`, "1000h"), 400, api.CodeAboveCeiling)
}

// A key that takes all the sessions it can get leaves some to others. A session that ended by
// itself no longer counts for any key, whichever key asks first.
func TestGatewaySessionsLeaveSomeToOtherKeys(t *testing.T) {
	a := harness.StartAgent(t, append([]string{"--sessions", "4"}, harness.SharedFlags...)...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob", "eve")
	s := harness.StartService(t, a, "--keys", file, "--wait", "1s") // for the limit of a key, too
	ann, bob, eve := s.WithKey(keys["ann"]), s.WithKey(keys["bob"]), s.WithKey(keys["eve"])
	had := []string{newSession(ann, "p", ""), newSession(ann, "q", "")}
	ask := api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 64 * api.MiB}}
	ann.Refused("POST", "/v1/sessions", ask, 429, api.CodeSessionsFull)
	newSession(bob, "p", "")
	bob.Refused("POST", "/v1/sessions", ask, 429, api.CodeSessionsFull)
	newSession(eve, "p", "")
	for _, id := range had {
		ann.Call("DELETE", "/v1/sessions/"+id, nil, 204, nil)
	}

	if err := a.DeleteSession(t.Context(), sessionsOf(eve)[0].ID); err != nil { // as if it had ended after its idle time
		t.Fatal(err)
	}

	newSession(bob, "q", "")
}

// sessionsOf lists the key's sessions, as the service last knew them.
func sessionsOf(s *harness.Service) []api.Session {
	s.T.Helper()
	var page api.Page[api.Session]
	s.Call("GET", "/v1/sessions", nil, 200, &page)
	return page.Items
}
