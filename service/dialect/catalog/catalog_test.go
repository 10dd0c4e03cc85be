package catalog

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
)

// A reading is what a client makes of a response.
type reading string

const (
	judged reading = "judged" // an answer to the program: it counts
	again  reading = "again"  // the client sends the request again
	failed reading = "failed" // the client reports that the service failed
)

// readers read responses as the usual client of each dialect does.
var readers = map[string]func(dialect.Response) reading{
	// code-judge's own judge_client.py raises for every status but 200, and sends a submission with the reason
	// queue_timeout again. A client that reads the status sends a request again after 503.
	dialect.CodeJudge: func(r dialect.Response) reading {
		var body struct{ Reason *string }
		switch {
		case r.Status == 503 && r.Header["Retry-After"] != "":
			return again
		case r.Status >= 400, json.Unmarshal(r.Body, &body) != nil, body.Reason == nil:
			return failed
		case *body.Reason == "queue_timeout":
			return again
		case *body.Reason == "internal_error", *body.Reason == "invalid_input":
			return failed
		}
		return judged
	},

	// agent-sandbox, k8s_agent_sandbox/connector.py, sends a request again after 500, 502, 503 and 504, and takes every other
	// status from 400 on for an error.
	dialect.AgentSandbox: func(r dialect.Response) reading {
		switch {
		case r.Status == 503 && r.Header["Retry-After"] != "":
			return again
		case r.Status < 300:
			return judged
		}
		return failed
	},

	// E2B's SDKs, src/errors.ts and src/api, have an error of its own for 429, after which a caller may come back, and take
	// everything else that is no 2xx for an error.
	dialect.E2B: func(r dialect.Response) reading {
		switch {
		case r.Status == 429 && r.Header["Retry-After"] != "":
			return again
		case r.Status < 300:
			return judged
		}
		return failed
	},

	// Hydro, packages/hydrojudge/src/sandbox.ts, takes every status but 200 for a failure, and statuses of results that it
	// does not know for an accepted program. Retry-After is of HTTP: the original has nothing to tell a full queue by.
	dialect.GoJudge: func(r dialect.Response) reading {
		var results []struct{ Status string }
		switch {
		case r.Status == 500 && r.Header["Retry-After"] != "":
			return again
		case r.Status >= 400:
			return failed
		case json.Unmarshal(r.Body, &results) == nil && len(results) == 1 && results[0].Status == "Internal Error":
			return failed
		}
		return judged
	},

	// CodeRunner, classes/jobesandbox.php and classes/jobrunner.php. Its "again" is for the student.
	dialect.Jobe: func(r dialect.Response) reading {
		var body struct{ Outcome *int }
		switch {
		case r.Status != 200, json.Unmarshal(r.Body, &body) != nil, body.Outcome == nil:
			return failed
		case *body.Outcome == 21:
			return again
		}
		return judged // also 20
	},

	// judge0-python, src/judge0/clients.py, takes every status from 400 on for a failure, and sends nothing again. A client
	// that reads the status does so after 503.
	dialect.Judge0: func(r dialect.Response) reading {
		switch {
		case r.Status == 503 && r.Header["Retry-After"] != "":
			return again
		case r.Status < 400:
			return judged
		}
		return failed
	},

	// jupyter_server, gateway/gateway_client.py, and JupyterLab's services take every status but 2xx for an error. None
	// sends a request for a kernel again.
	dialect.Jupyter: func(r dialect.Response) reading {
		switch {
		case r.Status == 503 && r.Header["Retry-After"] != "":
			return again
		case r.Status < 300:
			return judged
		}
		return failed
	},

	// client-go, rest/with_retry.go, sends a request again after 429 and 5xx if Retry-After says when. Everything that is
	// no 2xx is an error.
	dialect.Kubernetes: func(r dialect.Response) reading {
		switch {
		case (r.Status == 429 || r.Status >= 500) && r.Header["Retry-After"] != "":
			return again
		case r.Status < 300:
			return judged
		}
		return failed
	},

	// @librechat/agents, src/tools/CodeExecutor.ts, takes every status that is not 2xx for a failure. After 429 it says in how
	// many seconds the tool may be tried again, if the body has both fields, and after 503 that it may be tried again.
	dialect.LibreChat: func(r dialect.Response) reading {
		var body struct {
			Error string
			Wait  int `json:"retry_after_seconds"`
		}
		switch {
		case r.Status == 429 && json.Unmarshal(r.Body, &body) == nil && body.Error == "rate_limited" && body.Wait > 0:
			return again
		case r.Status == 503 && r.Header["Retry-After"] != "":
			return again
		case r.Status < 300:
			return judged
		}
		return failed
	},

	// open-r1, src/open_r1/utils/competitive_programming/piston_client.py, takes nothing but 200 for an answer, and no
	// answer with a message. It sends everything else again; a client that reads the status does so after 503.
	dialect.Piston: func(r dialect.Response) reading {
		var body struct{ Message *string }
		switch {
		case r.Status == 503 && r.Header["Retry-After"] != "":
			return again
		case r.Status < 400 && json.Unmarshal(r.Body, &body) == nil && body.Message == nil:
			return judged
		}
		return failed
	},

	// verl, verl/utils/reward_score/sandbox_fusion/utils.py
	dialect.SandboxFusion: func(r dialect.Response) reading {
		var body struct{ Status string }
		switch {
		case r.Status == 504:
			return again
		case r.Status < 400 && json.Unmarshal(r.Body, &body) == nil && body.Status != "SandboxError":
			return judged
		}
		return failed
	},
}

// A failure of brig is an answer to a program in no dialect, whatever its code is, and one that is safe to retry is
// retried where the client can do that.
func TestNoFailureIsAnAnswer(t *testing.T) {
	codes := append(api.CodeInternal.Values(), "a-code-of-the-future")
	if len(codes) < 40 {
		t.Fatalf("%d codes", len(codes))
	}

	for _, d := range All() {
		read := readers[d.Name]
		if read == nil {
			t.Errorf("%s: no reader says what its clients make of a response", d.Name)
			continue
		}

		for _, code := range codes {
			p := &api.Problem{Status: 500, Code: code, Detail: "why"}
			r := d.Fail(p, dialect.FailureOf(d.Name, p))
			class, known := dialect.Classes[code]
			switch got := read(r); {
			case got == judged:
				t.Errorf("%s: %s is an answer: %d %s", d.Name, code, r.Status, r.Body)
			case (class == dialect.Retry || !known) != (got == again):
				t.Errorf("%s: %s, of class %q, is read as %s: %d %s", d.Name, code, class, got, r.Status, r.Body)
			}

			for _, route := range d.Routes {
				if route.Fail == nil {
					continue
				}
				r := route.Fail(p, dialect.FailureOf(d.Name, p))
				if bytes.HasPrefix(r.Body, []byte{2}) && bytes.Contains(r.Body, []byte(`{"error":{"code":"`)) {
					continue // the end of a stream of Connect, whose clients read no status but 200
				}
				if r.Status < 400 {
					t.Errorf("%s: %s of %s %s is no failure: %d %s", d.Name, code, route.Method, route.Path, r.Status, r.Body)
				}
			}
		}
	}
}

// The same holds for one run of a batch, whose other runs are answered.
func TestNoFailureOfOneRunIsAnAnswer(t *testing.T) {
	requests := map[string][2]string{ // path and body, with one run that is told alone
		dialect.CodeJudge: {"/judge", `{"type":"python","solution":""}`},
	}
	for _, d := range All() {
		for _, route := range d.Routes {
			if route.Path != requests[d.Name][0] {
				continue
			}
			plan := route.Plan(dialect.Request{Body: []byte(requests[d.Name][1])}, dialecttest.StandardAgent())
			for _, code := range append(api.CodeInternal.Values(), "a-code-of-the-future") {
				part := plan.Batch.Part(0, dialect.Outcome{Problem: &api.Problem{Status: 500, Code: code, Detail: "why"}})
				r := plan.Batch.Tell([][]byte{part})
				class, known := dialect.Classes[code]
				switch got := readers[d.Name](r); {
				case got == judged:
					t.Errorf("%s: %s is an answer: %d %s", d.Name, code, r.Status, r.Body)
				case (class == dialect.Retry || !known) != (got == again):
					t.Errorf("%s: %s, of class %q, is read as %s: %d %s", d.Name, code, class, got, r.Status, r.Body)
				}
			}
			delete(requests, d.Name)
		}
	}
	if len(requests) > 0 {
		t.Errorf("not tried: %v", requests)
	}
}

// Dialects that tell no results of runs.
var withoutVerdicts = []string{dialect.Kubernetes, dialect.Jupyter, dialect.E2B}

// The tables have a word for everything that can happen, in every dialect, and nothing else.
func TestTablesAreComplete(t *testing.T) {
	for _, code := range api.CodeInternal.Values() {
		if dialect.Classes[code] == "" {
			t.Errorf("code %s has no class", code)
		}
	}
	if n := len(api.CodeInternal.Values()); len(dialect.Classes) != n {
		t.Errorf("%d classes of %d codes", len(dialect.Classes), n)
	}

	for _, d := range All() {
		for _, v := range api.Verdicts() {
			if slices.Contains(withoutVerdicts, d.Name) {
				break
			}
			if _, is := dialect.Verdicts[d.Name][v]; !is {
				t.Errorf("%s has no word for the verdict %s", d.Name, v)
			}
		}
		for _, c := range dialect.ClassValues() {
			if dialect.Failures[d.Name][c] == (dialect.Word{}) {
				t.Errorf("%s has no word for failures of the class %s", d.Name, c)
			}
		}
	}
	if len(dialect.Verdicts) != len(All())-len(withoutVerdicts) || len(dialect.Failures) != len(All()) {
		t.Errorf("the tables have words of dialects that there are not")
	}
}

// Names fit into flags and paths, and no path of one dialect hides another or one of brig's own.
func TestCatalogue(t *testing.T) {
	seen := map[string]bool{"v1": true, "execute": true, "metrics": true, "health": true, "docs": true, "openapi.json": true, "mcp": true}
	for _, d := range All() {
		if !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(d.Name) || seen[d.Name] || d.Of == "" || d.Address == "" {
			t.Errorf("%+v", d)
		}
		seen[d.Name] = true

		mux := http.NewServeMux() // it refuses patterns that contradict each other
		for _, r := range d.Routes {
			mux.HandleFunc(r.Method+" "+r.Path, func(http.ResponseWriter, *http.Request) {})
		}
		if found, is := Find(d.Name); !is || found.Name != d.Name {
			t.Errorf("%s is not found", d.Name)
		}
	}
	if _, is := Find("klingon"); is {
		t.Error("klingon is found")
	}
}
