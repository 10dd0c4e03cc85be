package service

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// The documentation is a page of this service, and everything it loads comes from here as well: a
// browser on an isolated network shows it.
func TestDocumentationIsServedFromHere(t *testing.T) {
	web := serveFake(t, http.NewServeMux(), nil)
	for _, path := range []string{"/docs", "/docs/"} { // both lead to the page
		s, text, header := getPage(t, web, path)
		if s != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/html") || !strings.Contains(text, "<html") ||
			!strings.Contains(text, `"/openapi.json"`) {
			t.Fatalf("%s: %d of type %s: %.300s", path, s, header.Get("Content-Type"), text)
		}
	}

	_, text, _ := getPage(t, web, "/docs/")
	var kinds []string
	for _, m := range regexp.MustCompile(`<(script|link|img|iframe)\b[^>]*?\b(?:src|href)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		kinds = append(kinds, m[1])
		if !strings.HasPrefix(m[2], "/") || strings.HasPrefix(m[2], "//") {
			t.Errorf("the page loads %s from elsewhere", m[0])
			continue
		}
		if s, asset, header := getPage(t, web, m[2]); s != 200 || len(asset) < 100 || strings.HasPrefix(header.Get("Content-Type"), "text/html") {
			t.Errorf("the page loads %s: %d, %d bytes of type %s", m[2], s, len(asset), header.Get("Content-Type"))
		}
	}

	if !slices.Contains(kinds, "script") || !slices.Contains(kinds, "link") {
		t.Errorf("the page loads %v; want scripts and a style", kinds)
	}
	if !regexp.MustCompile(`validatorUrl: (null|"none")`).MatchString(text) {
		t.Error("the page asks a foreign service whether the description is right")
	}

	s, text, header := getPage(t, web, "/openapi.json")
	var doc struct {
		OpenAPI string
		Paths   map[string]any
	}

	if err := json.Unmarshal([]byte(text), &doc); s != 200 || err != nil || doc.OpenAPI != "3.1.0" || doc.Paths["/execute"] == nil ||
		!strings.Contains(header.Get("Content-Type"), "json") {
		t.Errorf("/openapi.json: %d of type %s, %v: %.300s", s, header.Get("Content-Type"), err, text)
	}
}

// A page that does not exist in the documentation is refused like any other path.
func TestDocumentationHasNoSuchPage(t *testing.T) {
	web := serveFake(t, http.NewServeMux(), nil)
	for _, path := range []string{"/docs/whatever", "/docs/a/b.js"} {
		s, text, header := getPage(t, web, path)
		var p api.Problem
		if err := json.Unmarshal([]byte(text), &p); s != 404 || err != nil || p.Code != api.CodeNotFound ||
			header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d of type %s, %v: %.300s", path, s, header.Get("Content-Type"), err, text)
		}
	}
}

// /execute reports when the request came, in UTC, and how long the program took.
func TestExecuteReportsTimes(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		say(w, 200, api.Result{Verdict: api.OK, Timing: api.Timing{Wall: int64(1500 * time.Millisecond)}})
	})
	web := serveFake(t, mux, nil)
	before := time.Now()
	var x struct {
		Timestamp string  `json:"timestamp"`
		Took      float64 `json:"execution_time"`
	}

	if s := send(t, web, "POST", "/execute", `{"code":"x","language":"bash"}`, &x); s != 200 {
		t.Fatal(s)
	}

	at, err := time.Parse(time.RFC3339, x.Timestamp)
	if err != nil || !strings.HasSuffix(x.Timestamp, "Z") || at.Before(before.Truncate(0)) || at.After(time.Now()) {
		t.Errorf("timestamp %q, %v; want now, in UTC", x.Timestamp, err)
	}
	if x.Took != 1.5 {
		t.Errorf("execution_time %v; want 1.5", x.Took)
	}
}

// The output of a program on both streams is in the run's status when only the history has the run.
func TestStreamsOfAPastRun(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		say(w, 200, api.Result{Verdict: api.Nonzero, Stage: api.StageRun, ExitCode: 3, Stdout: api.Bytes("out\n"),
			Stderr: api.Bytes("err \xff\n"), StderrTruncated: true})
	})
	web := serveFake(t, mux, nil)
	var res api.Result
	if s := send(t, web, "POST", "/v1/runs", simple, &res); s != 200 {
		t.Fatal(s)
	}

	var st api.Status
	if s := send(t, web, "GET", "/v1/runs/"+res.Run, "", &st); s != 200 || st.Result == nil {
		t.Fatalf("%d, %+v", s, st)
	}
	if r := st.Result; r.ExitCode != 3 || string(r.Stdout) != "out\n" || r.StdoutTruncated ||
		string(r.Stderr) != "err \xff\n" || !r.StderrTruncated {
		t.Errorf("kept: exit code %d, stdout %q cut %v, stderr %q cut %v", r.ExitCode, r.Stdout, r.StdoutTruncated, r.Stderr, r.StderrTruncated)
	}
}

// check=enforce refuses the code of /execute as it does a run's, and nothing of it is executed.
func TestExecuteRefusesWhatACheckFinds(t *testing.T) {
	mux := http.NewServeMux()
	var did []string
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		var run api.Run
		if err := json.NewDecoder(r.Body).Decode(&run); err != nil {
			t.Error(err)
		}
		res := api.Result{Verdict: api.OK, Stage: api.StageRun, Stdout: api.Bytes("ran\n")}
		what := "run"
		if len(run.Argv) > 0 { // a check, which starts the parser
			what, res.Stdout = "check", api.Bytes(`{"rule":"python-eval","line":1,"column":1,"name":"eval"}`+"\n"+`{"done":true}`+"\n")
		}
		did = append(did, what)
		say(w, 200, res)
	})

	web := serveFake(t, mux, nil)
	const body = `{"code":"eval(input())"}`
	var p api.Problem
	if s := send(t, web, "POST", "/execute?check=enforce", body, &p); s != 422 || p.Code != api.CodeCheckRefused || len(p.Findings) != 1 ||
		p.Findings[0].Rule != "python-eval" || p.RetrySafe {
		t.Errorf("enforced: %d, %+v", s, p)
	}
	if !slices.Equal(did, []string{"check"}) {
		t.Errorf("the agent was asked for %v; want a check alone", did)
	}

	var x api.Executed
	if s := send(t, web, "POST", "/execute?check=warn", body, &x); s != 200 || x.Status != "success" || len(x.Findings) != 1 {
		t.Errorf("warned: %d, %+v", s, x)
	}
	if s := send(t, web, "POST", "/execute", body, &x); s != 200 || len(did) != 4 {
		t.Errorf("without a check: %d, %v", s, did)
	}

	var found api.Checked
	if s := send(t, web, "POST", "/v1/check", `{"language":"python","source":"eval(input())"}`, &found); s != 200 ||
		len(found.Findings) != 1 || !found.Refused {
		t.Errorf("checked alone: %d, %+v", s, found)
	}
}

// Each code of the agent has its own status for the caller, and Retry-After if a retry can help.
func TestCodesOfTheAgentAreReported(t *testing.T) {
	const runs, sessions, exec = "/v1/runs", "/v1/sessions", "/v1/sessions/s1/exec"
	const mkdir = "/v1/sessions/s1/fs/mkdir?path=/x"
	f := new(fakeSessions)
	mux := f.mux()
	var says *api.Error
	answer := func(w http.ResponseWriter, r *http.Request) { deny(w, 418, says) } // only the code matters, not the status
	mux.HandleFunc("POST "+runs, answer)
	mux.HandleFunc("POST /v1/sessions/{id}/exec", answer)
	mux.HandleFunc("POST /v1/sessions/{id}/fs/mkdir", answer)
	agent := http.NewServeMux()
	agent.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if says != nil && r.Method == "POST" && r.URL.Path == sessions {
			answer(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})

	agent.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: 4}) })
	web := serveFake(t, agent, func(c *Config) { c.Wait = 50 * time.Millisecond }) // a session waits for room
	if s := send(t, web, "POST", sessions, `{"image":"tiny"}`, nil); s != 201 {
		t.Fatal(s)
	}

	for _, tt := range []struct {
		code   api.Code
		path   string
		status int
		again  bool // with Retry-After
	}{
		{api.CodeBadRequest, runs, 400, false},
		{api.CodeTooLarge, runs, 413, false},
		{api.CodeBadLimits, runs, 400, false},
		{api.CodeAboveCeiling, runs, 400, false},
		{api.CodeBadFile, runs, 400, false},
		{api.CodeNoLanguage, runs, 404, false},
		{api.CodeNoImage, runs, 404, false},
		{api.CodeBadImage, runs, 500, false}, // no client can send one through the service
		{api.CodeNoBlob, runs, 404, false},
		{api.CodeNoProfile, runs, 404, false},
		{api.CodeBadProfile, runs, 400, false},
		{api.CodeForbidden, runs, 403, false},
		{api.CodeNotFound, runs, 404, false},
		{api.CodeFileDenied, mkdir, 403, false},
		{api.CodeFileConflict, mkdir, 409, false},
		{api.CodeNoSpace, mkdir, 507, false},
		{api.CodeBadVolume, sessions, 422, false},
		{api.CodeNoProgram, runs, 422, false},
		{api.CodeBadProgram, runs, 422, false},
		{api.CodeUnsupported, runs, 422, false},
		{api.CodeBusy, sessions, 503, true},
		{api.CodeSessionBusy, exec, 429, true},
		{api.CodeSessionsFull, sessions, 429, true},
		{api.CodeOverloaded, sessions, 503, true},
		{api.CodeHostMemory, runs, 503, true},
		{api.CodeHostExhausted, runs, 503, true},
		{api.CodeSetupTimeout, runs, 503, true},
		{api.CodeStopping, runs, 503, true},
		{api.CodeInternal, runs, 500, false},
		{api.CodeAgentGone, runs, 502, false},
		{api.CodeAgentUnreachable, runs, 503, true},
		{api.CodeSessionEnded, exec, 410, false}, // must be last: the session has ended then
	} {
		says = api.Fail(tt.code, "as it is")
		body := simple
		if tt.path == exec {
			body = `{"argv":["true"]}`
		} else if tt.path == sessions {
			body = `{"image":"tiny"}`
		}

		var p api.Problem
		s := send(t, web, "POST", tt.path, body, &p)
		if s != tt.status || p.Status != tt.status || p.Code != tt.code || !p.RetrySafe || p.Detail == "" ||
			p.Title != http.StatusText(tt.status) || (p.RetryAfter > 0) != tt.again {
			t.Errorf("%s: %d, %+v; want %d, to come again %v", tt.code, s, p, tt.status, tt.again)
		}
	}
}
