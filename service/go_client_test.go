package service

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/client"
	"github.com/brig-sandbox/brig/service/history"
)

// keptService returns a service that has runs r0 to r4 of ann, of which r1 and r3 failed, one of
// bob's, an alert of each, and an agent that finds eval in every source.
func keptService(t *testing.T, first time.Time) (web *httptest.Server, as map[string][]string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		say(w, 200, api.Result{Verdict: api.OK,
			Stdout: api.Bytes(`{"rule":"python-eval","line":1,"column":1,"name":"eval"}` + "\n" + `{"done":true}` + "\n")})
	})
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "root", Admin: true})
	var store *history.Store
	web = serveFake(t, mux, func(c *Config) { store, c.Keys, c.Version = c.History, keys, "1.2.3" })

	for i := range 6 {
		r := api.Record{
			ID: fmt.Sprintf("r%d", i), Owner: "ann", Project: "course", Task: fmt.Sprint("t", i), Language: "python",
			Verdict: api.OK, Stage: api.StageRun, Created: first.Add(time.Duration(i) * time.Minute),
		}
		switch i {
		case 1, 3:
			r.Verdict = api.Nonzero
		case 5:
			r.Owner = "bob"
		}

		if err := store.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}

	for i, owner := range []string{"ann", "bob"} {
		if err := store.AddAlert(t.Context(),
			api.Alert{Time: first.Add(time.Duration(i)), Kind: api.OOMKill, Owner: owner, Project: "course", Run: "r1",
				Text: "memory"}); err != nil {
			t.Fatal(err)
		}
	}

	return web, as
}

// The Go client reads past runs from the real service.
func TestRemoteReadsPastRuns(t *testing.T) {
	first := time.Date(2026, 5, 1, 12, 0, 0, 1, time.UTC)
	web, as := keptService(t, first)
	of := func(name string) *client.Client { return client.New(web.URL, as[name][1][len("Bearer "):]) }
	ann, root := of("ann"), of("root")
	for _, tt := range []struct {
		name   string
		client *client.Client
		filter client.Filter
		want   []string
	}{
		{"all of a key", ann, client.Filter{}, []string{"r4", "r3", "r2", "r1", "r0"}},
		{"of every key", root, client.Filter{All: true}, []string{"r5", "r4", "r3", "r2", "r1", "r0"}},
		{"by verdict", ann, client.Filter{Verdicts: []api.Verdict{api.Nonzero, api.WallLimit}}, []string{"r3", "r1"}},
		{"that failed", ann, client.Filter{Failed: true}, []string{"r3", "r1"}},
		{"by task", ann, client.Filter{Project: "course", Task: "t2", Language: "python"}, []string{"r2"}},
		{"to the nanosecond", ann, client.Filter{Since: first.Add(time.Minute), Until: first.Add(3 * time.Minute)}, []string{"r2", "r1"}},
	} {
		for _, limit := range []int{0, 1, 2} { // the same result page by page
			var got []string
			for f := tt.filter; ; {
				f.Limit = limit
				page, err := tt.client.History(t.Context(), f)
				if err != nil {
					t.Fatalf("%s: %v", tt.name, err)
				}
				for _, r := range page.Items {
					got = append(got, r.ID)
				}
				if f.After = page.Next; f.After == "" {
					break
				}
			}

			if !slices.Equal(got, tt.want) {
				t.Errorf("%s, %d a page: %v; want %v", tt.name, limit, got, tt.want)
			}
		}

		if s, err := tt.client.Stats(t.Context(), tt.filter); err != nil || int(s.Runs) != len(tt.want) {
			t.Errorf("%s: figures of %d runs, %v; want %d", tt.name, s.Runs, err, len(tt.want))
		}
	}

	var p *api.Problem
	if _, err := ann.History(t.Context(), client.Filter{All: true}); !errors.As(err, &p) || p.Code != api.CodeForbidden {
		t.Errorf("another key's: %v", err)
	}
	if page, err := ann.Alerts(t.Context(), client.Filter{Project: "course"}); err != nil || len(page.Items) != 1 ||
		page.Items[0].Kind != api.OOMKill || page.Items[0].Run != "r1" {
		t.Errorf("alerts: %+v, %v", page, err)
	}
	if page, err := root.Alerts(t.Context(), client.Filter{All: true, Limit: 1}); err != nil || len(page.Items) != 1 || page.Next == "" {
		t.Errorf("a page of every key's alerts: %+v, %v", page, err)
	}
	if _, err := ann.Stats(t.Context(), client.Filter{Limit: 1}); !errors.As(err, &p) || p.Code != api.CodeBadRequest {
		t.Errorf("pages of figures: %v", err)
	}
}

func TestRemoteCheckAndHealth(t *testing.T) {
	web, as := keptService(t, time.Now())
	ann := client.New(web.URL, as["ann"][1][len("Bearer "):])
	if found, err := ann.Check(t.Context(), api.CheckRequest{Language: "python", Source: api.Bytes("eval(input())")}); err != nil ||
		!found.Refused || len(found.Findings) != 1 {
		t.Errorf("check: %+v, %v", found, err)
	}
	if h, err := ann.Health(t.Context()); err != nil || h.Status != api.ServiceOK || h.Version != "1.2.3" || !h.Agent.Reachable {
		t.Errorf("health: %+v, %v", h, err)
	}
	if h, err := client.New(web.URL, "").Health(t.Context()); err != nil || h != (api.ServiceHealth{Status: api.ServiceOK}) {
		t.Errorf("health without a key: %+v, %v", h, err)
	}
}
