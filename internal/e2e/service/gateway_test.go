package service

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func TestGatewayRun(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	s := harness.StartService(t, a)

	var res api.Result
	s.Call("POST", "/v1/runs",
		api.Run{Image: "tiny", Argv: []string{"cat"}, Stdin: api.Bytes("\xff\x00bytes"), Labels: api.Labels{Project: "p", Task: "t"}}, 200, &res)
	harness.WantVerdict(t, res, api.OK)
	if string(res.Stdout) != "\xff\x00bytes" {
		t.Errorf("stdout %q", res.Stdout)
	}

	for verdict, script := range map[api.Verdict]string{api.Nonzero: "exit 3", api.Signaled: "kill -SEGV $$", api.WallLimit: "sleep 60"} {
		r := harness.Sh(script)
		if verdict == api.WallLimit {
			r.Limits.Wall = harness.Slowly(0.5)
		}
		s.Call("POST", "/v1/runs", r, 200, &res)
		harness.WantVerdict(t, res, verdict) // whatever a program does is a 200
	}

	var status api.Status
	s.Call("GET", "/v1/runs/"+res.Run, nil, 200, &status)
	if status.State != api.Done || status.Result == nil || status.Result.Verdict != res.Verdict ||
		status.Result.Timing.Wall != res.Timing.Wall {
		t.Errorf("the history has %+v of %+v", status, res)
	}

	all := harness.Pages[struct {
		Run     string      `json:"run_id"`
		Project string      `json:"project"`
		Verdict api.Verdict `json:"verdict"`
	}](s, "/v1/history?limit=3")
	if len(all) != 4 || all[3].Project != "p" || all[3].Verdict != api.OK {
		t.Errorf("history %+v", all)
	}

	var stats struct{ Runs, Success, Failure int }
	s.Call("GET", "/v1/stats", nil, 200, &stats)
	if stats.Runs != 4 || stats.Success != 1 || stats.Failure != 3 {
		t.Errorf("statistics %+v", stats)
	}

	s.Call("GET", "/v1/stats?project=p", nil, 200, &stats)
	if stats.Runs != 1 {
		t.Errorf("statistics of a project %+v", stats)
	}

	alerts := harness.Pages[struct{ Kind, Text string }](s, "/v1/alerts?limit=10")
	if len(alerts) != 1 || alerts[0].Kind != "segfault" {
		t.Errorf("alerts %+v", alerts)
	}
	if text := s.GetText("/metrics"); !strings.Contains(text, `verdict="signaled"} 1`) {
		t.Errorf("metrics %s", text)
	}

	var languages []api.Language
	s.Call("GET", "/v1/languages", nil, 200, &languages)
	if !slices.ContainsFunc(languages, func(l api.Language) bool { return l.Name == "python" && l.Stored }) {
		t.Errorf("languages %+v", languages)
	}
}

// Events arrive as they happen; a client that reconnects gets the rest.
func TestGatewayEvents(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	id := s.StartDetached(harness.Sh(`for i in 1 2 3; do echo $i; sleep 0.1; done; echo e >&2; printf '\303'; sleep 0.1; printf '\251'`))
	var first []harness.StreamEvent
	s.Listen(id, "", func(e harness.StreamEvent) bool {
		if e.Name != "usage" {
			first = append(first, e)
		}
		return len(first) < 3
	})

	if len(first) != 3 || first[0].Name != "queued" || first[1].Name != "started" || first[2].Name != "stdout" {
		t.Fatalf("first events %v", first)
	}

	out, names := "", []string{}
	add := func(e harness.StreamEvent) bool {
		var piece struct{ Data api.Bytes }
		if err := json.Unmarshal(e.Data, &piece); err != nil {
			t.Error(err)
		}

		switch e.Name {
		case "usage":
		case "stdout":
			out += string(piece.Data)
			if strings.Contains(string(e.Data), "base64") {
				t.Errorf("half a character: %s", e.Data)
			}
		default:
			names = append(names, e.Name)
		}

		return true
	}

	add(first[2])
	s.Listen(id, first[2].Id, add)
	if out != "1\n2\n3\né" || !slices.Equal(names, []string{"stderr", "result"}) {
		t.Errorf("output %q, other events %q", out, names)
	}

	names = nil
	last := ""
	s.Listen(id, "", func(e harness.StreamEvent) bool { // long after: all of it again
		last = e.Id
		return add(e)
	})
	if len(names) != 4 {
		t.Errorf("events afterwards %q", names)
	}
	if st := s.WaitDone(id); st.Result == nil || string(st.Result.Stdout) != "1\n2\n3\né" {
		t.Errorf("%+v", st)
	}

	s.Call("GET", "/v1/runs/"+id+"/events", nil, 204, nil, "Last-Event-ID", last)
	s.Refused("GET", "/v1/runs/"+id+"/events", nil, 400, api.CodeBadRequest, "Last-Event-ID", "x")

	busy := s.StartDetached(harness.Sh("while :; do :; done"))
	used := false
	s.Listen(busy, "", func(e harness.StreamEvent) bool {
		var now api.LiveUsage
		if e.Name != "usage" {
			return true
		}
		if err := json.Unmarshal(e.Data, &now); err != nil || now.CPU.Value == nil {
			t.Errorf("usage %s, %v", e.Data, err)
			return false
		}
		if used = *now.CPU.Value >= 1e6 && now.Wall >= 1e6; !used { // it may not have got a processor yet
			return true
		}

		var st api.Status
		s.Call("GET", "/v1/runs/"+busy, nil, 200, &st)
		if st.State != api.Running || st.Usage == nil {
			t.Errorf("%+v", st)
		}
		return false
	})

	if !used {
		t.Error("no event tells the time that the program has used")
	}
	s.Call("DELETE", "/v1/runs/"+busy, nil, 200, nil)

	tests := harness.Sh("cat")
	for i := range 3 {
		tests.Tests = append(tests.Tests, api.Test{ID: fmt.Sprint(i), Stdin: api.Bytes("x")})
	}

	names = nil
	s.Listen(s.StartDetached(tests), "", func(e harness.StreamEvent) bool {
		if e.Name != "usage" {
			names = append(names, e.Name)
		}
		return true
	})

	if want := []string{"queued", "started", "test", "test", "test", "result"}; !slices.Equal(names, want) {
		t.Errorf("a run with tests has the names %q; want %q", names, want)
	}

	// The usage of tests covers all of them, including the one that has ended.
	tests = harness.Sh(`test "$(cat)" = x || while :; do :; done`)
	tests.Tests = tests.Tests[:0]
	for _, stdin := range []string{"x", "y"} {
		tests.Tests = append(tests.Tests, api.Test{Stdin: api.Bytes(stdin)})
	}

	busy = s.StartDetached(tests)
	var now api.LiveUsage
	s.Listen(busy, "", func(e harness.StreamEvent) bool {
		if e.Name != "usage" {
			return true
		}
		if err := json.Unmarshal(e.Data, &now); err != nil {
			t.Error(err)
		}
		return now.CPU.Value == nil || *now.CPU.Value < 1e6
	})

	var st api.Status
	s.Call("GET", "/v1/runs/"+busy, nil, 200, &st)
	if st.State != api.Running || st.Usage == nil || st.Usage.Wall < 1e6 || now.Memory.Value == nil || *now.Memory.Value == 0 {
		t.Errorf("%+v, usage %+v", st, now)
	}

	s.Call("DELETE", "/v1/runs/"+busy, nil, 200, nil)
}

// 100 MB of output arrive byte for byte as events, however slowly the client reads. One response
// carries the first 16 MiB of a stream and says so; the verdict is of the whole run.
func TestGatewayLargeOutput(t *testing.T) {
	a := harness.StartAgent(t, append(slices.Clone(harness.SharedFlags), "--max-output", "128M", "--max-wall", "10m", "--max-cpu", "10m")...)
	s := harness.StartService(t, a)
	blocks := harness.Rounds(40) // more than the service keeps of a run
	if harness.Long() {
		blocks = 100
	}
	r := harness.Sh(fmt.Sprintf(`i=0; while [ $i -lt %d ]; do cat block; i=$((i+1)); done`, blocks))
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i*i>>8 + i)
	}

	r.Files = []api.File{{Name: "block", Content: block}}
	r.Limits = api.Limits{Output: 128 * api.MiB, Wall: harness.Slowly(200)}
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
		s.Call("POST", "/v1/runs", part, 200, &res)
		harness.WantVerdict(t, res, tt.verdict)
		if !bytes.Equal(res.Stdout, bytes.Repeat(block, 16)[:tt.want]) || res.StdoutTruncated != tt.truncated {
			t.Errorf("limit %s: %d bytes, truncated %v; want the first %s, truncated %v", tt.limit, len(res.Stdout),
				res.StdoutTruncated, tt.want, tt.truncated)
		}
	}

	id := s.StartDetached(r)
	got, total, n := sha256.New(), 0, 0
	s.Listen(id, "", func(e harness.StreamEvent) bool {
		switch e.Name {
		case "stdout":
			var piece struct{ Data api.Bytes }
			if err := json.Unmarshal(e.Data, &piece); err != nil {
				t.Error(err)
			}
			got.Write(piece.Data)
			total += len(piece.Data)
			if n++; n%400 == 0 {
				time.Sleep(20 * time.Millisecond)
			}
		case "gap":
			t.Errorf("%s, though somebody reads", e.Data)
		}

		return true
	})

	if fmt.Sprintf("%x", got.Sum(nil)) != want {
		t.Errorf("as events: %d bytes, another content", total)
	}
}

// DELETE ends a run, and so does a caller that hangs up.
func TestGatewayCancel(t *testing.T) {
	a := harness.StartAgent(t, append(harness.SharedFlags, "--slots", "1")...)
	s := harness.StartService(t, a)
	running := s.StartDetached(harness.Sh("echo on; sleep 60"))
	s.Listen(running, "", func(e harness.StreamEvent) bool { return e.Name != "stdout" })
	waiting := s.StartDetached(harness.Sh("echo never"))
	s.Call("DELETE", "/v1/runs/"+waiting, nil, 200, nil)
	if st := s.WaitDone(waiting); st.Result == nil || st.Result.Verdict != api.Canceled {
		t.Errorf("one that waited: %+v", st)
	}

	s.Call("DELETE", "/v1/runs/"+running, nil, 200, nil)
	if st := s.WaitDone(running); st.Result == nil || st.Result.Verdict != api.Canceled || string(st.Result.Stdout) != "on\n" {
		t.Errorf("one under way: %+v", st)
	}

	s.Call("DELETE", "/v1/runs/"+running, nil, 200, nil)

	for range 20 {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.Url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		body := `{"image":"tiny","argv":["sleep","60"]}`
		fmt.Fprintf(c, "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
			"Content-Length: %d\r\n\r\n%s", len(body),
			body)
		time.Sleep(5 * time.Millisecond)
		c.Close()
	}

	var res api.Result
	s.Call("POST", "/v1/runs", harness.Sh("echo free"), 200, &res)
	harness.WantVerdict(t, res, api.OK)
	for deadline := harness.Patience(); ; time.Sleep(10 * time.Millisecond) {
		var h struct{ Load, Queued int }
		s.Call("GET", "/health", nil, 200, &h)
		if h.Load == 0 && h.Queued == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: %+v", h)
		}
	}
}
