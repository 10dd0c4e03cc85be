package service

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/operator"
	"github.com/brig-sandbox/brig/service/queue"
)

// workers is a pool of one; broken is why it does not tell of more.
type workers struct {
	drained []string
	broken  error
}

func (w *workers) Name() string { return "tls://engine:4222" }

func (w *workers) Workers(context.Context) ([]api.Machine, error) {
	return []api.Machine{{Name: "node1", Pool: "default", State: api.MachineUp, Slots: 8, Running: 3}}, w.broken
}

func (w *workers) Drain(_ context.Context, name string) error {
	w.drained = append(w.drained, name)
	return nil
}

// serveOperator serves ann, and root who is an admin, with runs of ann and ben in the history.
func serveOperator(t *testing.T, change func(*Config)) (web *httptest.Server, as map[string][]string) {
	t.Helper()
	keys, as := keysOf(t, auth.Key{Name: "ann", Runs: 3}, auth.Key{Name: "ben"}, auth.Key{Name: "root", Admin: true})
	mux := judge()
	mux.HandleFunc("GET /v1/images", func(w http.ResponseWriter, r *http.Request) {
		say(w, 200, []api.Image{{Digest: "sha256:1", Names: []string{"python"}, Size: 7, Created: "2026-01-02T03:04:05Z"},
			{Digest: "sha256:2", Names: []string{"secret-project"}, Size: 8}})
	})
	mux.HandleFunc("GET /v1/volumes", func(w http.ResponseWriter, r *http.Request) { say(w, 200, []api.Volume{}) })
	web = serveFake(t, mux, func(c *Config) {
		c.Keys = keys
		if change != nil {
			change(c)
		}
	})

	store := web.Config.Handler.(*Gateway).core.Config.History
	for _, r := range []api.Record{
		{ID: "a1", Owner: "ann", Verdict: api.OK, Wall: 5, Project: "p"}, {ID: "a2", Owner: "ann", Code: api.CodeInternal, Message: "of ann"},
		{ID: "b1", Owner: "ben", Code: api.CodeHostMemory, Message: "of ben"}, {ID: "b2", Owner: "ben", Verdict: api.OK, Wall: 9},
	} {
		r.Created = time.Now().Add(-time.Minute)
		if err := store.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return web, as
}

// What belongs to all keys is for keys with admin, and nobody sees what belongs to another key.
func TestOperatorSeesMoreThanAKey(t *testing.T) {
	web, as := serveOperator(t, func(c *Config) {
		c.Site = operator.Site{Pool: new(workers), Settings: []api.Setting{{Name: "queue", Value: "8", From: "flag"}}}
	})
	for _, c := range []struct {
		method, path   string
		ann, root, not int // statuses; not: without a key
	}{
		{"GET", "/v1/overview", 200, 200, 401}, {"GET", "/v1/failures", 200, 200, 401}, {"GET", "/v1/failures?all=true", 403, 200, 401},
		{"GET", "/v1/images", 200, 200, 401}, {"GET", "/v1/machines", 200, 200, 401}, {"GET", "/v1/stats/series", 200, 200, 401},
		{"GET", "/v1/stats/series?all=true", 403, 200, 401}, {"GET", "/v1/keys", 403, 200, 401}, {"GET", "/v1/audit", 403, 200, 401},
		{"GET", "/v1/installation", 403, 200, 401}, {"POST", "/v1/machines/node1/drain", 403, 200, 401},
		{"POST", "/v1/machines/none/drain", 403, 404, 401}, {"POST", "/v1/failures/internal/acknowledge?all=true", 403, 200, 401},
		{"POST", "/v1/failures/nonsense/acknowledge", 404, 404, 401},
		{"GET", "/v1/stats/series?step=1ms", 400, 400, 401}, {"GET", "/v1/stats/series?step=x", 400, 400, 401},
		{"GET", "/v1/audit?since=yesterday", 403, 400, 401}, {"GET", "/v1/keys?name=ann", 400, 400, 401},
	} {
		for who, want := range map[string]int{"ann": c.ann, "root": c.root, "": c.not} {
			if status := send(t, web, c.method, c.path, "", nil, as[who]...); status != want {
				t.Errorf("%s %s as %q: %d; want %d", c.method, c.path, who, status, want)
			}
		}
	}
}

// Each key has its own part of the queue, the failures and the images.
func TestOverviewOfAKey(t *testing.T) {
	web, as := serveOperator(t, nil)
	g := web.Config.Handler.(*Gateway)
	slot, err := g.core.Queue.Take(t.Context(), queue.Owner{Key: "ben"})
	if err != nil {
		t.Fatal(err)
	}
	defer slot.Release()

	var ann, root api.Overview
	send(t, web, "GET", "/v1/overview", "", &ann, as["ann"]...)
	send(t, web, "GET", "/v1/overview", "", &root, as["root"]...)
	if len(ann.Queue) != 0 || ann.Health.Load != 1 {
		t.Errorf("ann sees the queue %+v and load %d", ann.Queue, ann.Health.Load)
	}
	if len(root.Queue) != 1 || root.Queue[0].Key != "ben" || root.Queue[0].Running != 1 {
		t.Errorf("root sees the queue %+v", root.Queue)
	}

	var mine, all api.Failures
	send(t, web, "GET", "/v1/failures", "", &mine, as["ann"]...)
	send(t, web, "GET", "/v1/failures?all=true", "", &all, as["root"]...)
	if mine.Total != 1 || mine.Runs != 2 || mine.Failures[0].Message != "of ann" || mine.Failures[0].Keys != nil ||
		mine.Failures[0].Cause == "" || mine.Failures[0].Cure == "" || !mine.Failures[0].RetrySafe {
		t.Errorf("ann sees %+v", mine)
	}
	if all.Total != 2 || all.Runs != 4 {
		t.Errorf("root sees %+v", all)
	}

	var few, many api.Images
	send(t, web, "GET", "/v1/images", "", &few, as["ann"]...)
	send(t, web, "GET", "/v1/images", "", &many, as["root"]...)
	if len(few.Items) != 1 || few.Items[0].Size != 7 || !few.Items[0].Stored || few.Items[0].Command != "" {
		t.Errorf("ann sees %+v", few)
	}
	if len(many.Items) != 2 || many.Items[1].Image != "secret-project" || many.Items[1].Language != "" {
		t.Errorf("root sees %+v", many)
	}

	var series api.Series
	send(t, web, "GET", "/v1/stats/series", "", &series, as["ann"]...)
	if b := series.Buckets; len(b) != 1 || b[0].Runs != 2 || b[0].Errors != 1 || b[0].Codes[api.CodeInternal] != 1 {
		t.Errorf("ann's series: %+v", series)
	}
}

// The list of keys has nothing with which one could use or guess a key.
func TestKeysTellNoSecret(t *testing.T) {
	web, as := serveOperator(t, nil)
	var keys api.Page[api.KeyUse]
	send(t, web, "GET", "/v1/stats", "", nil, as["ann"]...)
	send(t, web, "GET", "/v1/keys", "", &keys, as["root"]...)
	if len(keys.Items) != 3 || keys.Items[0].Name != "ann" || keys.Items[0].Runs != 2 || keys.Items[0].NotJudged != 1 ||
		keys.Items[0].Seen.IsZero() || !keys.Items[1].Seen.IsZero() || keys.Items[0].Limits.Runs != 3 || !keys.Items[2].Limits.Admin {
		t.Errorf("%+v", keys)
	}

	req, err := http.NewRequestWithContext(t.Context(), "GET", web.URL+"/v1/keys", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(as["root"][0], as["root"][1])
	res, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{"sha256", "brig_"}
	for _, k := range web.Config.Handler.(*Gateway).core.Config.Keys.List() {
		secrets = append(secrets, k.SHA256, k.SHA256[:8], as[k.Name][1])
	}
	for _, s := range secrets {
		if strings.Contains(string(text), s) {
			t.Errorf("the list of keys has %q: %s", s, text)
		}
	}
}

// An acknowledgement is of one's own failures, or by an admin of all. Later failures are open again.
func TestAcknowledgedFailures(t *testing.T) {
	web, as := serveOperator(t, nil)
	open := func(who, query string) (n int64) {
		t.Helper()
		var f api.Failures
		send(t, web, "GET", "/v1/failures"+query, "", &f, as[who]...)
		for _, g := range f.Failures {
			n += g.Open
		}
		return n
	}
	if open("ann", "") != 1 || open("root", "?all=true") != 2 {
		t.Fatalf("before: %d, %d", open("ann", ""), open("root", "?all=true"))
	}

	send(t, web, "POST", "/v1/failures/internal/acknowledge", "", nil, as["ann"]...)
	if open("ann", "") != 0 || open("root", "?all=true") != 2 || open("ben", "") != 1 {
		t.Errorf("after ann's: %d, %d, %d", open("ann", ""), open("root", "?all=true"), open("ben", ""))
	}
	send(t, web, "POST", "/v1/failures/host-memory/acknowledge?all=true", "", nil, as["root"]...)
	if open("root", "?all=true") != 1 || open("ben", "") != 1 {
		t.Errorf("after root's: %d, %d", open("root", "?all=true"), open("ben", ""))
	}

	later := api.Record{ID: "a3", Owner: "ann", Code: api.CodeInternal, Created: time.Now().Add(time.Minute)}
	if err := web.Config.Handler.(*Gateway).core.Config.History.Add(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if open("ann", "") != 1 {
		t.Error("a later failure is not open")
	}

	var log api.Page[api.AuditEntry]
	send(t, web, "GET", "/v1/audit", "", &log, as["root"]...)
	if len(log.Items) != 2 || log.Items[1].By != "ann" || log.Items[0].By != "root" ||
		log.Items[0].Subject != "/v1/failures/host-memory/acknowledge?all=true" {
		t.Errorf("the audit log: %+v", log)
	}
}

// An engine that does not answer hides no machine: it is named, to an admin with what is wrong.
func TestMachinesWithoutAnEngine(t *testing.T) {
	pool := &workers{broken: errors.New("dial tcp engine:4222: connection refused")}
	web, as := serveOperator(t, func(c *Config) { c.Site.Pool = pool })
	for key, want := range map[string][2]string{
		"root": {"tls://engine:4222", "connection refused"}, "ann": {"engine", "ask the operator"},
	} {
		var page api.Page[api.Machine]
		if s := send(t, web, "GET", "/v1/machines", "", &page, as[key]...); s != 200 || len(page.Items) != 3 {
			t.Fatalf("%s: %d, %+v", key, s, page)
		}
		own, worker, engine := page.Items[0], page.Items[1], page.Items[2]
		if !own.This || own.State != api.MachineUp || own.Slots != 4 || worker.Name != "node1" || worker.State != api.MachineUp {
			t.Errorf("%s: %+v", key, page.Items)
		}
		if engine.Name != want[0] || engine.State != api.MachineGone || !strings.Contains(engine.Problem, want[1]) || !engine.Seen.IsZero() {
			t.Errorf("%s: the engine: %+v", key, engine)
		}
	}
	for name, want := range map[string]int{"node1": 200, "node2": 500} { // node2 may be one that is not told
		if s := send(t, web, "POST", "/v1/machines/"+name+"/drain", "", nil, as["root"]...); s != want {
			t.Errorf("drain %s: %d; want %d", name, s, want)
		}
	}
}

// What changes something that stays is in the audit log, with who did it; what was refused is not.
func TestChangesAreInTheAuditLog(t *testing.T) {
	pool := new(workers)
	web, as := serveOperator(t, func(c *Config) { c.Site.Pool = pool })
	send(t, web, "POST", "/v1/machines/node1/drain", "", nil, as["ann"]...)
	send(t, web, "POST", "/v1/machines/node1/drain", "", nil, as["root"]...)
	send(t, web, "POST", "/v1/end", `{"run": "r1"}`, nil, as["ben"]...)
	if !slices.Equal(pool.drained, []string{"node1"}) {
		t.Errorf("drained %v", pool.drained)
	}

	var log api.Page[api.AuditEntry]
	send(t, web, "GET", "/v1/audit", "", &log, as["root"]...)
	if len(log.Items) != 2 || log.Items[1].Action != api.AuditMachineDrained || log.Items[1].By != "root" ||
		log.Items[0].Action != api.AuditLabelEnded || log.Items[0].By != "ben" || log.Items[0].Subject != "run=r1" {
		t.Errorf("the audit log: %+v", log)
	}
	send(t, web, "GET", "/v1/audit?by=ben", "", &log, as["root"]...)
	if len(log.Items) != 1 || log.Items[0].By != "ben" {
		t.Errorf("ben's changes: %+v", log)
	}

	changing := map[string]bool{"deleteBatch": true, "putProblem": true, "deleteProblem": true, "deleteVolume": true,
		"drainMachine": true, "linkRun": true, "revokeLink": true}
	for _, one := range web.Config.Handler.(*Gateway).routes() {
		if (one.Audit != "") != changing[one.Name] || one.Audit != "" && one.Method == "GET" {
			t.Errorf("%s is audited as %q", one.Name, one.Audit)
		}
	}
}

// A stream does not outlive the key that began it.
func TestOverviewEndsWithItsKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	var tokens []string
	for _, name := range []string{"ann", "ben"} {
		keep := func(token string) error { tokens = append(tokens, token); return nil }
		if _, err := auth.AddKey(path, -1, auth.Key{Name: name}, keep); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := auth.ReadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()

	web := serveFake(t, judge(), func(c *Config) { c.Keys = keys })
	g := web.Config.Handler.(*Gateway)
	req, err := http.NewRequestWithContext(t.Context(), "GET", web.URL+"/v1/overview/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+tokens[0])
	res, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	lines := bufio.NewReader(res.Body)
	event := func() (text string, err error) {
		for !strings.HasSuffix(text, "\n\n") {
			line, err := lines.ReadString('\n')
			if err != nil {
				return text, err
			}
			text += line
		}
		return text, nil
	}
	if text, err := event(); err != nil || !strings.Contains(text, "event: overview\ndata: {") {
		t.Fatalf("the first event: %q, %v", text, err)
	}

	g.operator.Tick(time.Now())
	if text, err := event(); err != nil || !strings.HasPrefix(text, "id: 2\n") {
		t.Fatalf("the second event: %q, %v", text, err)
	}

	if err := auth.RemoveKey(path, "ann"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a change takes effect after two polls
		if _, err := keys.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	g.operator.Tick(time.Now())
	if text, err := event(); !errors.Is(err, io.EOF) {
		t.Errorf("after the key was removed: %q, %v", text, err)
	}
}

// The past is bounded, and only admins see how many runs of all keys ended.
func TestPastOfTheOverview(t *testing.T) {
	web, as := serveOperator(t, nil)
	g := web.Config.Handler.(*Gateway)
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 1000 {
		g.core.Activity.Judged.Add(2)
		g.operator.Tick(begin.Add(time.Duration(i) * 5 * time.Second))
	}

	var ann, root api.Overview
	send(t, web, "GET", "/v1/overview", "", &ann, as["ann"]...)
	send(t, web, "GET", "/v1/overview", "", &root, as["root"]...)
	if n := len(root.Past); n != 180 || root.Past[0].Time != begin.Add(820*5*time.Second) ||
		root.Past[179].Time != begin.Add(999*5*time.Second) || root.Past[7].Judged == nil || *root.Past[7].Judged != 2 {
		t.Errorf("%d moments, %+v", n, root.Past[:min(n, 2)])
	}
	if len(ann.Past) != 180 || ann.Past[0].Judged != nil {
		t.Errorf("ann sees %+v", ann.Past[:min(len(ann.Past), 2)])
	}
}
