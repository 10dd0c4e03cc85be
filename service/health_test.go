package service

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// A client without a key learns whether the service works, and no details.
func TestHealthWithoutAKey(t *testing.T) {
	token, line, err := auth.NewKey(auth.Key{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}

	keys, err := auth.ParseKeys([]byte("keys:\n" + line + "\n"))
	if err != nil {
		t.Fatal(err)
	}

	web := serveFake(t, runsOK(), func(c *Config) { c.Keys, c.Version = keys, "1.2.3" })
	for _, path := range []string{"/health", "/health/live", "/health/ready"} {
		var said map[string]any
		if s := send(t, web, "GET", path, "", &said); s != 200 || len(said) != 1 || said["status"] != "ok" {
			t.Errorf("%s without a key: %d, %v", path, s, said)
		}
	}

	var all api.ServiceHealth
	if s := send(t, web, "GET", "/health", "", &all, "Authorization", "Bearer "+token); s != 200 ||
		all.Version != "1.2.3" || all.Capacity != 4 {
		t.Errorf("with a key: %d, %+v", s, all)
	}

	var languages []api.Language
	if s := send(t, web, "GET", "/v1/languages", "", &languages, "Authorization", "Bearer "+token); s != 200 || len(languages) != 1 {
		t.Errorf("languages: %d, %+v", s, languages)
	}
	if s := send(t, web, "GET", "/health", "", nil, "Authorization", "Bearer "+strings.ToUpper(token)); s != 401 {
		t.Errorf("with a key that is none: %d", s)
	}

	web = serveFake(t, runsOK(), func(c *Config) { c.Version = "1.2.3" })
	if s := send(t, web, "GET", "/health", "", &all); s != 200 || all.Version != "1.2.3" {
		t.Errorf("where there are no keys: %d, %+v", s, all)
	}
}
