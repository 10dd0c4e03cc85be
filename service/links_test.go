package service

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/client"
	"github.com/brig-sandbox/brig/service/history"
)

// linkedTests is a request of a program with three tests, of which it passes those that expect its source.
func linkedTests(source string) string {
	return `{"language":"python","source":"` + source + `","labels":{"project":"class","task":"t1"},"tests":[
		{"id":"sample","stdin":"hidden-input-1","expected":"` + source + `"},{"id":"secret","stdin":"hidden-input-2","expected":"hidden-output"},
		{"id":"last","stdin":"hidden-input-3","expected":"` + source + `"}]}`
}

// A link shows the outcome of its run to who has the token, and what its maker chose; no input, expected output, label or
// output, whatever is chosen.
func TestALinkShowsWhatItsMakerChose(t *testing.T) {
	web, as := serveRejudges(t, t.TempDir())
	var res api.Result
	if s := send(t, web, "POST", "/v1/runs", linkedTests("program-text"), &res, as["ann"]...); s != 200 {
		t.Fatal(s)
	}

	for _, tt := range []struct {
		body string
		want api.LinkedRun
	}{
		{`{}`, api.LinkedRun{Verdict: api.OK, Answer: api.WrongAnswer}},
		{`{"show":["first_failed"],"title":"Exercise 3"}`,
			api.LinkedRun{Verdict: api.OK, Answer: api.WrongAnswer, Title: "Exercise 3", FirstFailed: "secret", FirstFailedOutcome: "W"}},
		{`{"show":["tests"]}`, api.LinkedRun{Verdict: api.OK, Answer: api.WrongAnswer, Tests: 3, Accepted: 2, Outcomes: "AWA"}},
		{`{"show":["score"]}`, api.LinkedRun{Verdict: api.OK, Answer: api.WrongAnswer}}, // these tests have no score
		{`{"show":["source"],"lives":"1h"}`, api.LinkedRun{Verdict: api.OK, Answer: api.WrongAnswer, Language: "python",
			Source: api.Bytes("program-text")}},
	} {
		var made api.RunLink
		if s := send(t, web, "POST", "/v1/runs/"+res.Run+"/links", tt.body, &made, as["ann"]...); s != 201 {
			t.Fatalf("%s: %d", tt.body, s)
		}
		life := api.LinkLife
		if strings.Contains(tt.body, "1h") {
			life = time.Hour
		}
		if len(made.Token) != 43 || made.Path != "/ui/link/"+made.Token || made.Expires.Sub(made.Created) != life || made.Run != res.Run {
			t.Errorf("%s: %+v", tt.body, made)
		}

		var got api.LinkedRun
		if s := send(t, web, "GET", "/v1/links/"+made.Token, "", &got); s != 200 {
			t.Fatalf("%s: %d", tt.body, s)
		}
		want := tt.want
		want.State, want.Created, want.Expires = api.Done, got.Created, made.Expires
		if a, b := asJSON(t, got), asJSON(t, want); a != b || got.Created.IsZero() {
			t.Errorf("%s:\n%s\nwant\n%s", tt.body, a, b)
		}

		status, text, header := getPage(t, web, "/v1/links/"+made.Token)
		if header.Get("Referrer-Policy") != "no-referrer" || header.Get("Cache-Control") != "no-store" || status != 200 {
			t.Errorf("%d, %v", status, header)
		}
		for _, secret := range []string{"hidden", "class", "t1", "ann", res.Run, "sha256"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: the link shows %q: %s", tt.body, secret, text)
			}
		}
	}

	var page api.Page[api.RunLink]
	if s := send(t, web, "GET", "/v1/runs/"+res.Run+"/links", "", &page, as["ann"]...); s != 200 || len(page.Items) != 5 {
		t.Fatalf("%d, %+v", s, page)
	}
	for _, l := range page.Items {
		if l.Token != "" || l.Path != "" {
			t.Errorf("a list has the token of %s", l.ID)
		}
	}
	for body, says := range map[string]string{
		`{"show":["stdin"]}`: "can show", `{"show":["tests","tests"]}`: "twice", `{"lives":"9000h"}`: "8784h", `{"lives":"1ms"}`: "from 1s",
		`{"title":"` + strings.Repeat("x", 201) + `"}`: "201 bytes", `{"shows":[]}`: "shows",
	} {
		var p api.Problem
		if s := send(t, web, "POST", "/v1/runs/"+res.Run+"/links", body, &p, as["ann"]...); s != 400 || !strings.Contains(p.Detail, says) {
			t.Errorf("%.60s: %d %s; want %s", body, s, p.Detail, says)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// No other key makes, lists or revokes a link of a run, not even one that reads the history of all keys.
func TestLinksAreOfTheOwner(t *testing.T) {
	web, as := serveRejudges(t, t.TempDir())
	var res api.Result
	send(t, web, "POST", "/v1/runs", linkedTests("a"), &res, as["ann"]...)
	var made api.RunLink
	if s := send(t, web, "POST", "/v1/runs/"+res.Run+"/links", "{}", &made, as["ann"]...); s != 201 {
		t.Fatal(s)
	}

	links := "/v1/runs/" + res.Run + "/links"
	for _, key := range []string{"bob", "root"} {
		for method, path := range map[string]string{"POST": links, "GET": links, "DELETE": links + "/" + made.ID} {
			if s := send(t, web, method, path, "{}", nil, as[key]...); s != 404 {
				t.Errorf("%s %s by %s: %d", method, path, key, s)
			}
		}
	}
	for method, path := range map[string]string{"POST": links, "GET": links, "DELETE": links + "/" + made.ID} {
		if s := send(t, web, method, path, "{}", nil); s != 401 {
			t.Errorf("%s %s without a key: %d", method, path, s)
		}
	}
	if s := send(t, web, "GET", "/v1/links/"+made.Token, "", nil); s != 200 {
		t.Errorf("the link was ended by another key: %d", s)
	}

	// The token is no key, and opens no other run.
	for _, path := range []string{"/v1/runs/" + res.Run, links, "/v1/history"} {
		if s := send(t, web, "GET", path, "", nil, "Authorization", "Bearer "+made.Token); s != 401 {
			t.Errorf("%s with the token as a key: %d", path, s)
		}
	}
}

// Tokens that open nothing are all alike, whether they never did, were revoked, have expired, or their run has gone; and
// many tries are refused without harm to those who have a token.
func TestNoTokenIsGuessed(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	web := serveFake(t, echo(t), func(c *Config) { c.Keys, c.KeepRequests = keys, true })
	var res api.Result
	send(t, web, "POST", "/v1/runs", linkedTests("a"), &res, as["ann"]...)
	link := func(body string) (made api.RunLink) {
		t.Helper()
		if s := send(t, web, "POST", "/v1/runs/"+res.Run+"/links", body, &made, as["ann"]...); s != 201 {
			t.Fatal(s)
		}
		return made
	}
	good, revoked, short := link("{}"), link("{}"), link(`{"lives":"1s"}`)
	if good.Token == revoked.Token || good.Token == short.Token {
		t.Fatal("two links have one token")
	}
	if s := send(t, web, "DELETE", "/v1/runs/"+res.Run+"/links/"+revoked.ID, "", nil, as["ann"]...); s != 204 {
		t.Fatal(s)
	}
	if s := send(t, web, "DELETE", "/v1/runs/"+res.Run+"/links/"+revoked.ID, "", nil, as["ann"]...); s != 404 {
		t.Errorf("revoked twice: %d", s)
	}
	time.Sleep(time.Until(short.Expires) + 10*time.Millisecond)

	said := map[string]bool{}
	for _, token := range []string{revoked.Token, short.Token, good.ID, res.Run, good.Token[:42], good.Token + "A",
		strings.ToLower(good.Token), strings.Repeat("A", 43), "x", "%00", "..%2f" + good.Token} {
		var p api.Problem
		if s := send(t, web, "GET", "/v1/links/"+token, "", &p); s != 404 {
			t.Errorf("%s: %d", token, s)
		}
		said[p.Detail] = true
	}
	if len(said) != 1 {
		t.Errorf("the answers differ: %v", said)
	}

	refused := false
	for range 400 {
		res, err := web.Client().Get(web.URL + "/v1/links/" + strings.Repeat("B", 43))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		refused = refused || res.StatusCode == http.StatusTooManyRequests
	}
	if !refused {
		t.Error("400 guesses at once were all answered")
	}
	if s := send(t, web, "GET", "/v1/links/"+good.Token, "", nil); s != 200 {
		t.Errorf("guesses of others keep the one out who has the token: %d", s)
	}

	// One link is not read without end, either; another one is not concerned.
	other, last := link("{}"), 0
	for range 40 {
		res, err := web.Client().Get(web.URL + "/v1/links/" + good.Token)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		last = max(last, res.StatusCode)
	}
	if s := send(t, web, "GET", "/v1/links/"+other.Token, "", nil); last != 429 || s != 200 {
		t.Errorf("40 reads of one link: %d; of another one: %d", last, s)
	}
}

// What is stored does not open a link. Links last over a restart, and end with the run in the history, and with the key.
func TestLinksInTheHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history.db")
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	var made api.RunLink
	first, err := history.Open(t.Context(), file, history.RetentionLimits{})
	if err != nil {
		t.Fatal(err)
	}
	web := serveFake(t, echo(t), func(c *Config) { c.Keys, c.History = keys, first })
	var res api.Result
	send(t, web, "POST", "/v1/runs", linkedTests("a"), &res, as["ann"]...)
	if s := send(t, web, "POST", "/v1/runs/"+res.Run+"/links", `{"show":["tests"]}`, &made, as["ann"]...); s != 201 {
		t.Fatal(s)
	}
	web.Close()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), made.Token) || !strings.Contains(string(text), made.ID) {
		t.Errorf("the token is in the file, or the link is not: %v", err)
	}

	second, err := history.Open(t.Context(), file, history.RetentionLimits{Runs: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	web = serveFake(t, echo(t), func(c *Config) { c.Keys, c.History = keys, second })
	var got api.LinkedRun
	if s := send(t, web, "GET", "/v1/links/"+made.Token, "", &got); s != 200 || got.Outcomes != "AWA" {
		t.Fatalf("after a restart: %d, %+v", s, got)
	}

	for range 3 { // more than the history keeps
		send(t, web, "POST", "/v1/runs", linkedTests("b"), nil, as["ann"]...)
	}
	g := web.Config.Handler.(*Gateway)
	until := time.Now().Add(10 * time.Second)
	for s := 0; s != 404; s = send(t, web, "GET", "/v1/links/"+made.Token, "", nil) {
		if time.Now().After(until) {
			t.Fatalf("its run has gone, and the link still answers %d", s)
		}
		g.runs.Active.EndEventLogs()
		time.Sleep(time.Second)
	}

	only, _ := keysOf(t, auth.Key{Name: "bob"})
	without := serveFake(t, echo(t), func(c *Config) { c.Keys, c.History = only, second })
	if s := send(t, without, "GET", "/v1/links/"+made.Token, "", nil); s != 404 {
		t.Errorf("its key was removed, and the link answers %d", s)
	}
}

// While a run waits its link says how many come before it; then that it runs, and then the outcome.
func TestALinkShowsThePlaceInTheQueue(t *testing.T) {
	begun, end := make(chan struct{}, 10), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: 1}) })
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-end
		answerRun(w, r, api.Result{Verdict: api.Nonzero, ExitCode: 1})
	})
	web := serveFake(t, mux, nil)
	release := sync.OnceFunc(func() { close(end) })
	t.Cleanup(release)

	c := client.New(web.URL, "")
	var links []api.RunLink
	for i := range 3 {
		s, err := c.Begin(t.Context(), api.Run{Image: "tiny", Argv: []string{"true"}})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			<-begun
		}
		l, err := c.LinkRun(t.Context(), s.Run, api.RunLinkRequest{})
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}

	see := func(i int) api.LinkedRun {
		t.Helper()
		seen, err := client.New(web.URL, "").LinkedRun(t.Context(), links[i].Token)
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	until := time.Now().Add(10 * time.Second)
	for seen := see(2); seen.Ahead == nil || *seen.Ahead != 1; seen = see(2) {
		if time.Now().After(until) {
			t.Fatalf("%+v; want one before it", seen)
		}
		time.Sleep(time.Second)
	}
	if s := see(0); s.State != api.Running || s.Ahead != nil || s.Verdict != "" {
		t.Errorf("the first: %+v", s)
	}
	if s := see(1); s.State != api.Queued || s.Ahead == nil || *s.Ahead != 0 {
		t.Errorf("the second: %+v", s)
	}

	release()
	for seen := see(2); seen.State != api.Done; seen = see(2) {
		if time.Now().After(until) {
			t.Fatalf("%+v; want its end", seen)
		}
		time.Sleep(time.Second)
	}
	if s := see(2); s.Verdict != api.Nonzero || s.Ahead != nil {
		t.Errorf("at the end: %+v", s)
	}

	all, err := c.RunLinks(t.Context(), links[2].Run)
	if err != nil || len(all.Items) != 1 || all.Items[0].ID != links[2].ID {
		t.Errorf("%+v, %v", all, err)
	}
	if err := c.RevokeLink(t.Context(), links[2].Run, links[2].ID); err != nil {
		t.Error(err)
	}
	_, err = c.LinkedRun(t.Context(), links[2].Token)
	if p, is := errors.AsType[*api.Problem](err); !is || p.Code != api.CodeNotFound {
		t.Errorf("a revoked link: %v", err)
	}
}

// The link of a run that a rejudge has replaced shows the outcome that counts.
func TestALinkFollowsARejudge(t *testing.T) {
	web, as := serveRejudges(t, t.TempDir())
	putSum(t, web, as["ann"], "3", "wrong")
	var res api.Result
	send(t, web, "POST", "/v1/runs", `{"problem":"sum","language":"python","source":"3"}`, &res, as["ann"]...)
	var made api.RunLink
	send(t, web, "POST", "/v1/runs/"+res.Run+"/links", `{"show":["tests","source"]}`, &made, as["ann"]...)
	see := func() (seen api.LinkedRun) {
		t.Helper()
		if s := send(t, web, "GET", "/v1/links/"+made.Token, "", &seen); s != 200 {
			t.Fatal(s)
		}
		return seen
	}

	putSum(t, web, as["ann"], "3", "3")
	var again api.Rejudge
	if s := send(t, web, "POST", "/v1/rejudges", `{"problem":"sum"}`, &again, as["ann"]...); s >= 300 {
		t.Fatal(s)
	}
	awaitRejudge(t, web, again.ID, as["ann"])
	if s := see(); s.Outcomes != "AW" || s.JudgedAgain {
		t.Errorf("before it is applied: %+v", s)
	}
	if s := send(t, web, "POST", "/v1/rejudges/"+again.ID+"/apply", "", nil, as["ann"]...); s != 200 {
		t.Fatal(s)
	}
	if s := see(); s.Outcomes != "AA" || !s.JudgedAgain || s.Answer != api.Accepted || string(s.Source) != "3" {
		t.Errorf("after it: %+v", s)
	}
}

// Who makes and who revokes a link is in the audit log, without the token; what was refused is not.
func TestLinksAreInTheAuditLog(t *testing.T) {
	web, as := serveRejudges(t, t.TempDir())
	var res api.Result
	if s := send(t, web, "POST", "/v1/runs", linkedTests("program-text"), &res, as["ann"]...); s != 200 {
		t.Fatal(s)
	}

	var made api.RunLink
	path := "/v1/runs/" + res.Run + "/links"
	if s := send(t, web, "POST", path, `{"title":"Exercise 3"}`, &made, as["ann"]...); s != 201 {
		t.Fatal(s)
	}
	if s := send(t, web, "DELETE", path+"/"+made.ID, "", nil, as["bob"]...); s != 404 {
		t.Errorf("bob revokes ann's link: %d", s)
	}
	if s := send(t, web, "POST", path, `{"title":"Exercise 3"}`, nil, as["bob"]...); s != 404 {
		t.Errorf("bob makes a link to ann's run: %d", s)
	}
	if s := send(t, web, "DELETE", path+"/"+made.ID, "", nil, as["ann"]...); s != 204 {
		t.Fatal(s)
	}

	var log api.Page[api.AuditEntry]
	send(t, web, "GET", "/v1/audit", "", &log, as["root"]...)
	if len(log.Items) != 2 || log.Items[0].Action != api.AuditLinkRevoked || log.Items[0].Subject != path+"/"+made.ID ||
		log.Items[1].Action != api.AuditLinkMade || log.Items[1].Subject != path ||
		log.Items[0].By != "ann" || log.Items[1].By != "ann" {
		t.Errorf("the audit log: %+v", log.Items)
	}
	for _, e := range log.Items {
		if strings.Contains(e.Subject, made.Token) {
			t.Errorf("the audit log has the token: %+v", e)
		}
	}
}
