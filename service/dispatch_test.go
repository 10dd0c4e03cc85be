package service

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/runs"
)

// However often the agent is busy, a run starts once.
func TestRunStartsOnce(t *testing.T) {
	const digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			say(w, 200, struct{}{})
		}
	})

	tries := 0
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		if tries++; tries < 4 {
			deny(w, 503, api.Fail(api.CodeBusy, "all slots are busy"))
			return
		}
		say(w, 200, map[string]string{"verdict": "ok"})
	})

	web := serveFake(t, mux, nil)
	if s := send(t, web, "PUT", "/v1/blobs/"+digest, "", nil); s != 204 {
		t.Fatal(s)
	}

	var status struct {
		Run string `json:"run_id"`
	}

	if s := send(t, web, "POST", "/v1/runs?wait=false",
		fmt.Sprintf(`{"image":"tiny","argv":["cat"],"stdin_blob":%q}`, digest), &status); s != 202 {
		t.Fatal(s)
	}

	res, err := web.Client().Get(web.URL + "/v1/runs/" + status.Run + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	text, err := io.ReadAll(res.Body)
	if err != nil || strings.Count(string(text), "event: started") != 1 || !strings.Contains(string(text), "event: result") || tries != 4 {
		t.Errorf("after %d tries: %v\n%s", tries, err, text)
	}
	if got := res.Header.Get("Content-Security-Policy"); got != "frame-ancestors 'none'" {
		t.Errorf("foreign pages may frame this one: %q", got)
	}
}

// A run that is canceled while the agent makes memory available for it has the verdict canceled in
// the history, although the agent then answers that it is stopping.
func TestCanceledBeforeItBegins(t *testing.T) {
	said := `{"code":"stopping","message":"canceled while a cell was being made","retry_safe":true}`
	head := make([]byte, api.FrameHeader)
	api.PutFrameHeader(head, api.FrameFailure, len(said))
	testCanceled(t, string(head)+said, "the run never started")
}

// A run whose connection to the agent breaks after it was canceled is no failure of the agent.
func TestCanceledBeforeTheConnectionBreaks(t *testing.T) {
	testCanceled(t, "", "the run was canceled, and no client waited for its measurements")
}

// testCanceled cancels a run of an agent that says its last words only then, and closes the connection.
func testCanceled(t *testing.T, lastWords, why string) {
	t.Helper()
	mux := http.NewServeMux()
	begun := make(chan struct{})
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}

		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()

		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: brig-stream/1\r\n\r\n")
		close(begun)
		_, _ = io.Copy(io.Discard, rw) // until the client disconnects
		_, _ = io.WriteString(c, lastWords)
	})

	web := serveFake(t, mux, nil)
	var status struct {
		Run string `json:"run_id"`
	}

	if s := send(t, web, "POST", "/v1/runs?wait=false", `{"image":"tiny","argv":["true"]}`, &status); s != 202 {
		t.Fatal(s)
	}

	<-begun
	if s := send(t, web, "DELETE", "/v1/runs/"+status.Run, "", nil); s != 200 {
		t.Fatal(s)
	}

	res, err := web.Client().Get(web.URL + "/v1/runs/" + status.Run + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	text, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(text), `"verdict":"canceled"`) || !strings.Contains(string(text), why) {
		t.Errorf("%v\n%s", err, text)
	}

	var page struct {
		Items []struct{ Verdict api.Verdict }
	}

	if s := send(t, web, "GET", "/v1/history", "", &page); s != 200 || len(page.Items) != 1 || page.Items[0].Verdict != api.Canceled {
		t.Errorf("history: %d, %+v", s, page)
	}
}

// A caller that disconnects cancels its run if that has begun, and the record says so.
func TestDisconnectCancelsARunThatHasBegun(t *testing.T) {
	mux := http.NewServeMux()
	begun := make(chan struct{})
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		close(begun)
		<-r.Context().Done()
	})

	web := serveFake(t, mux, nil)
	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", web.URL+"/v1/runs", strings.NewReader(`{"image":"tiny","argv":["true"]}`))
	if err != nil {
		t.Fatal(err)
	}

	req.Header.Set("Content-Type", "application/json")
	go func() { <-begun; hangUp() }()
	if _, err := web.Client().Do(req); err == nil {
		t.Fatal("an answer to a caller that left")
	}

	var page struct {
		Items []struct {
			Run string `json:"run_id"`
		}
	}

	for end := time.Now().Add(time.Minute); len(page.Items) == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		send(t, web, "GET", "/v1/history", "", &page)
	}

	if len(page.Items) != 1 {
		t.Fatalf("history: %+v", page)
	}

	var status api.Status
	if s := send(t, web, "GET", "/v1/runs/"+page.Items[0].Run, "", &status); s != 200 || status.Result == nil ||
		status.Result.Verdict != api.Canceled ||
		status.Result.Usage.CPU.Source != "the run was canceled, and no client waited for its measurements" {
		t.Errorf("%d, %+v", s, status.Result)
	}
}

// A client that reads events already has the program's output; a compiler's output is in the
// result.
func TestACompilersOutputStaysInTheResult(t *testing.T) {
	for stage, want := range map[api.Stage]string{api.StageRun: "heard", api.StageCompile: "main.c:1: error"} {
		out, errs := runs.NewTeeStream(func(api.Bytes) {}), runs.NewTeeStream(func(api.Bytes) {})
		if stage == api.StageRun {
			if _, err := errs.Write([]byte("heard")); err != nil {
				t.Fatal(err)
			}
		}
		res := api.Result{Stage: stage, Stderr: api.Bytes("main.c:1: error")}
		runs.FinishStreams(&res, out, errs)
		if string(res.Stderr) != want {
			t.Errorf("stage %s: %q; want %q", stage, res.Stderr, want)
		}
	}
}
