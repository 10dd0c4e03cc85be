package service

import (
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// L3: the operator decides which profiles a key may name. A refused run never reaches the agent.
func TestProfilesAreAKeysPermission(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob", Profiles: auth.NamesOf("managed", "ours"), ProfileLog: true})
	asked := ""
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: 4, ProfileLog: true}) })
	mux.HandleFunc("GET /v1/languages", func(w http.ResponseWriter, r *http.Request) {
		say(w, 200, []api.Language{{Name: "javascript", Aliases: []string{"js"}, Tier: "managed"}, {Name: "python", Tier: "default"}})
	})
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) { asked = "run"; say(w, 200, api.Result{Verdict: api.OK}) })
	mux.HandleFunc("POST /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		asked = "session"
		s := idleSession("s1")
		s.Limits = api.Defaults()
		say(w, 201, s)
	})

	mux.HandleFunc("DELETE /v1/sessions/{id}", func(w http.ResponseWriter, r *http.Request) { say(w, 200, idleSession("s1")) })
	web := serveFake(t, mux, func(c *Config) { c.Keys = keys })
	for _, tt := range []struct {
		key, ask string
		says     string // empty: allowed
	}{
		{"ann", `"language": "python"`, ""},
		{"ann", `"language": "python", "profile": "default"`, ""},
		{"ann", `"language": "python", "profile": "strict"`, ""},
		{"ann", `"language": "javascript", "profile": "managed"`, ""},
		{"ann", `"language": "js", "profile": "managed"`, ""},
		{"ann", `"language": "python", "profile": "managed"`,
			`may not name the profile "managed": it may name strict, default; leave profile out, or have the operator add it to profiles of the key ann`},
		{"ann", `"language": "js", "profile": "compile"`, `it may name strict, default, and managed, the profile of the language`},
		{"ann", `"image": "python", "argv": ["true"], "profile": "managed"`, "may not name"},
		{"ann", `"image": "python", "argv": ["true"], "profile": "ours"`, "may not name"},
		{"ann", `"language": "python", "profile_mode": "log"`, "set profile_log: true on the key ann"},
		{"bob", `"language": "python", "profile": "managed"`, ""},
		{"bob", `"language": "python", "profile": "ours", "profile_mode": "log"`, ""},
		{"bob", `"language": "python", "profile": "compile"`, "it may name strict, default, managed, ours;"},
	} {
		for _, path := range []string{"/v1/runs", "/v1/sessions"} {
			ask := tt.ask
			if path == "/v1/runs" && !strings.Contains(ask, "argv") {
				ask += `, "source": "1"`
			} else if path == "/v1/sessions" {
				ask = strings.Replace(ask, `, "argv": ["true"]`, "", 1)
			}

			asked = ""
			var p api.Problem
			s := send(t, web, "POST", path, "{"+ask+"}", &p, as[tt.key]...)
			switch {
			case tt.says == "" && (s/100 != 2 || asked == ""):
				t.Errorf("%s: POST %s {%s}: %d, %+v; want it let through", tt.key, path, ask, s, p)
			case tt.says != "" && (s != 403 || p.Code != api.CodeForbidden || !strings.Contains(p.Detail, tt.says) || asked != ""):
				t.Errorf("%s: POST %s {%s}: %d, %+v, the agent is asked for %q; want 403 with %q", tt.key, path, ask, s, p, asked, tt.says)
			}

			if tt.says == "" && path == "/v1/sessions" {
				send(t, web, "DELETE", path+"/s1", "", nil, as[tt.key]...)
			}
		}
	}
}

// A key with profile_log and an agent that allows it only to root do not fit together: that is an
// error at start, and a warning in the log for keys that are added later.
func TestAPermissionWithoutEffectIsRefused(t *testing.T) {
	keys, _ := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob", ProfileLog: true})
	web := serveFake(t, http.NewServeMux(), nil)
	cfg := web.Config.Handler.(*Gateway).core.Config
	cfg.Keys = keys
	if _, err := New(t.Context(), Config{Config: cfg}); err == nil || !strings.Contains(err.Error(), "profile_log is set on the keys bob,") ||
		!strings.Contains(err.Error(), "brigd --profile-log") {
		t.Errorf("%v; want the key's name and the agent's flag", err)
	}
	cfg.Keys, _ = keysOf(t, auth.Key{Name: "ann"})
	if _, err := New(t.Context(), Config{Config: cfg}); err != nil {
		t.Errorf("without such a key: %v", err)
	}
}

// A key's line in the keys file has its profiles, and can be parsed again.
func TestProfilesInAKeysEntry(t *testing.T) {
	_, line, err := auth.NewKey(auth.Key{Name: "bob", Profiles: auth.NamesOf("managed", "ours"), ProfileLog: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := "profiles: [managed, ours], profile_log: true}"; !strings.HasSuffix(line, want) {
		t.Errorf("line %q; want it to end in %q", line, want)
	}

	for text, want := range map[string]string{
		strings.Replace(line, "[managed, ours]", "managed", 1):       "profiles: write a list, such as [managed]",
		strings.Replace(line, "[managed, ours]", "[[managed]]", 1):   "profiles: write a list, such as [managed]",
		strings.Replace(line, "[managed, ours]", `["a b"]`, 1):       `profile "a b"`,
		strings.Replace(line, "[managed, ours]", "[managed, '']", 1): "a name is empty",
	} {
		if _, err := auth.ParseKeys([]byte("keys:\n" + text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}
