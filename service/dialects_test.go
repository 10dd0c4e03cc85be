package service

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/catalog"
)

func withDialects(change ...func(*Config)) func(*Config) {
	return func(c *Config) {
		c.Dialects = catalog.All()
		for _, f := range change {
			f(c)
		}
	}
}

// ask sends a request, of JSON unless a header says otherwise, and returns the response.
func ask(t *testing.T, method, url, body string, header ...string) (status int, text string, got http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}

	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

const hello = `{"code":"hello","language":"python","unknown":1}`

func TestDialect(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"}, auth.Key{Name: "root", Admin: true})
	web := serveFake(t, echoAgent(), withDialects(func(c *Config) { c.Keys = keys; c.MaxBody = 2 * api.MiB }))
	ann := as["ann"]
	at := web.URL + "/sandboxfusion"

	for _, tt := range []struct {
		name   string
		method string
		path   string
		body   string
		header []string
		status int
		says   string
	}{
		{"a run", "POST", "/run_code", hello, ann, 200, `"stdout":"hello"`},
		{"no key", "POST", "/run_code", hello, nil, 401, `{"detail":"this service needs a key`},
		{"a wrong key", "POST", "/run_code", hello, []string{"Authorization", "Bearer brig_x"}, 401, `{"detail":"this key is not known`},
		{"ping needs no key", "GET", "/v1/ping", "", nil, 200, `"pong"`},
		{"a bad request", "POST", "/run_code", `{}`, ann, 422, `"loc":["body","code"]`},
		{"a failure of brig", "POST", "/run_code", `{"code":"gone","language":"python"}`, ann, 504, `{"detail":"brig could not`},
		{"an unknown path", "POST", "/run_jupyter", `{}`, ann, 404, `{"detail":"Not Found"}`},
		{"the root", "GET", "/", ``, ann, 404, `{"detail":"Not Found"}`},
		{"a wrong method", "GET", "/run_code", "", ann, 405, `{"detail":"Method Not Allowed"}`},
		{"a foreign page", "POST", "/run_code", hello, append([]string{"Origin", "https://evil.example"}, ann...), 403,
			`{"detail":"a web page of`},
		{"a foreign page's ping", "GET", "/v1/ping", "", []string{"Origin", "https://evil.example"}, 403, `{"detail":"a web page of`},
		{"a form of a page", "POST", "/run_code", hello, append([]string{"Content-Type", "text/plain"}, ann...), 422, `send application/json`},
		{"compressed", "POST", "/run_code", hello, append([]string{"Content-Encoding", "gzip"}, ann...), 422, `compressed`},
		{"too large", "POST", "/run_code", strings.Repeat(" ", 3<<20), ann, 413, `{"detail":"the request is larger than`},
		{"a large one", "POST", "/run_code", `{"code":"` + strings.Repeat("y", 300<<10) + `","language":"python"}`, ann, 200, `yyy`},
		{"nothing else of the service", "GET", "/health", "", ann, 404, `Not Found`},
	} {
		status, text, header := ask(t, tt.method, at+tt.path, tt.body, tt.header...)
		if status != tt.status || !strings.Contains(text, tt.says) || strings.Contains(text, "/secret") ||
			header.Get("Content-Type") != "application/json" || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %.300s, %v\nwant %d %s", tt.name, status, text, header, tt.status, tt.says)
		}
	}

	if _, _, header := ask(t, "GET", at+"/run_code", "", ann...); header.Get("Allow") != "POST" {
		t.Errorf("%v", header)
	}

	// The history has the runs of the key, and by which dialect each came.
	var page api.Page[api.Record]
	if send(t, web, "GET", "/v1/history", "", &page, ann...); len(page.Items) != 3 {
		t.Fatalf("%+v", page)
	}
	for _, r := range page.Items {
		if r.Dialect != dialect.SandboxFusion || r.Owner != "ann" || r.Project != dialect.SandboxFusion {
			t.Errorf("%+v", r)
		}
	}
	if send(t, web, "GET", "/v1/history", "", &page, as["bob"]...); len(page.Items) != 0 {
		t.Errorf("%+v", page)
	}
	send(t, web, "POST", "/v1/runs", `{"language":"python","source":"x"}`, nil, as["bob"]...)
	if send(t, web, "GET", "/v1/history", "", &page, as["bob"]...); len(page.Items) != 1 || page.Items[0].Dialect != "" {
		t.Errorf("%+v", page)
	}

	_, metrics, _ := ask(t, "GET", web.URL+"/metrics", "", as["root"]...)
	for _, line := range []string{
		`brig_dialect_responses_total{dialect="sandboxfusion",status="200"} 3`,
		`brig_dialect_responses_total{dialect="sandboxfusion",status="504"} 1`,
		`brig_dialect_unknown_fields_total{dialect="sandboxfusion"} 1`,
		`brig_runs_total{language="python",verdict="ok"} 3`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("/metrics lacks %s", line)
		}
	}
}

// Without --dialect there is none.
func TestDialectsAreOff(t *testing.T) {
	web := serveFake(t, echoAgent(), nil)
	if status, text, _ := ask(t, "POST", web.URL+"/sandboxfusion/run_code", hello); status != 404 || !strings.Contains(text, `"not-found"`) {
		t.Errorf("%d %s", status, text)
	}
}

// A service whose agent never answered does not know its languages, and does not say that there are none.
func TestADialectWaitsForTheLanguages(t *testing.T) {
	agent := http.NewServeMux()
	agent.HandleFunc("GET /v1/languages", func(w http.ResponseWriter, r *http.Request) {
		deny(w, 500, api.Fail(api.CodeInternal, "not yet"))
	})
	web := serveFake(t, agent, withDialects())
	if status, text, _ := ask(t, "POST", web.URL+"/sandboxfusion/run_code", hello); status != 504 {
		t.Errorf("%d %s", status, text)
	}
}

// A client of a dialect that hangs up ends its run.
func TestAHangUpCancelsARunOfADialect(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	agent := http.NewServeMux()
	agent.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(begun)
		<-r.Context().Done()
		close(ended)
	})
	web := serveFake(t, agent, withDialects())

	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", web.URL+"/sandboxfusion/run_code", strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")

	answered := make(chan error)
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			res.Body.Close()
		}
		answered <- err
	}()

	<-begun
	hangUp()
	<-ended
	if err := <-answered; err == nil {
		t.Error("the request was answered")
	}

	var page api.Page[api.Record]
	for len(page.Items) == 0 && t.Context().Err() == nil { // the run is recorded after its client has left
		send(t, web, "GET", "/v1/history", "", &page)
	}
	if page.Items[0].Verdict != api.Canceled || page.Items[0].Dialect != dialect.SandboxFusion {
		t.Errorf("%+v", page.Items)
	}
}

// A full queue is told so that clients try again, and never as an answer.
func TestAFullQueueInADialect(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	agent := http.NewServeMux()
	agent.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: 1}) })
	agent.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-end
		say(w, 200, api.Result{Verdict: api.OK})
	})
	web := serveFake(t, agent, withDialects(func(c *Config) { c.QueuePlaces = 0 }))

	first := make(chan int)
	go func() {
		res, err := http.Post(web.URL+"/sandboxfusion/run_code", "application/json", strings.NewReader(hello))
		if err != nil {
			first <- 0
			return
		}
		res.Body.Close()
		first <- res.StatusCode
	}()

	<-begun
	status, text, header := ask(t, "POST", web.URL+"/sandboxfusion/run_code", hello)
	if status != 504 || header.Get("Retry-After") == "" {
		t.Errorf("%d %s, %v", status, text, header)
	}
	close(end)
	if status := <-first; status != 200 {
		t.Errorf("the first request: %d", status)
	}
}

// A plan's header of a key is taken as well as Authorization, and no other header is.
func TestKeysInHeadersOfADialect(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"})
	token := strings.TrimPrefix(as["ann"][1], "Bearer ")
	d := dialect.Dialect{Name: "d", KeyHeaders: []string{"X-Auth-Token"},
		Routes: []dialect.Route{{Method: "GET", Path: "/files/{id}", Plan: func(q dialect.Request, _ dialect.Agent) dialect.Plan {
			return dialect.Refuse(dialect.Response{Status: 200, Body: []byte(q.Path["id"] + q.Query["x"][0])})
		}}},
		Fail: func(p *api.Problem, _ dialect.Word) dialect.Response { return dialect.Response{Status: p.Status} },
	}
	web := serveFake(t, echoAgent(), func(c *Config) { c.Keys, c.Dialects = keys, []dialect.Dialect{d} })

	for _, tt := range []struct {
		header []string
		status int
	}{
		{as["ann"], 200}, {[]string{"X-Auth-Token", token}, 200}, {[]string{"X-Auth-Token", "x"}, 401}, {nil, 401},
		{[]string{"X-API-Key", token}, 401},
		{[]string{"Authorization", "Basic x", "X-Auth-Token", token}, 200},
	} {
		if status, text, _ := ask(t, "GET", web.URL+"/d/files/7?x=8", "", tt.header...); status != tt.status || status == 200 && text != "78" {
			t.Errorf("%v: %d %s", tt.header, status, text)
		}
	}
}

// A dialect with a listener of its own answers at the root there, and nothing else of the service does. All listeners
// have one limit of connections, and end together.
func TestADialectWithAListenerOfItsOwn(t *testing.T) {
	web := serveFake(t, echoAgent(), func(c *Config) { c.MaxConns = 1 })
	g := web.Config.Handler.(*Gateway)
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}

	d, _ := catalog.Find(dialect.SandboxFusion)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- g.Serve(ctx, own, DialectListener{other, d}) }()

	over := func(network, address string) *http.Client {
		return &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			}}}
	}
	for _, tt := range []struct {
		client *http.Client
		path   string
		status int
	}{
		{over("unix", other.Addr().String()), "/run_code", 200},
		{over("unix", other.Addr().String()), "/sandboxfusion/run_code", 404},
		{over("unix", other.Addr().String()), "/v1/runs", 404},
		{over("tcp", own.Addr().String()), "/run_code", 404},
		{over("tcp", own.Addr().String()), "/sandboxfusion/run_code", 404},
	} {
		var res *http.Response
		for { // the limit of one connection counts the one before until the server has noticed its end
			if res, err = tt.client.Post("http://localhost"+tt.path, "application/json", strings.NewReader(hello)); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode == tt.status || res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests {
				break
			}
			res.Body.Close()
		}

		var body any
		if err := json.NewDecoder(res.Body).Decode(&body); err != nil || res.StatusCode != tt.status {
			t.Errorf("%s: %d %v, %v; want %d", tt.path, res.StatusCode, body, err, tt.status)
		}
		res.Body.Close()
	}

	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("unix", other.Addr().String()); err == nil {
		t.Error("the dialect is still served")
	}
}
