package service

import (
	"net/http"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// A session with a volume that takes long to be created delays no other key; another session of the
// same key waits, so that both cannot pass the quota check for a new volume.
func TestVolumeCreationOfKeysIsIndependent(t *testing.T) {
	text, tokens := "keys:\n", map[string]string{}
	for _, name := range []string{"ann", "bob"} {
		token, line, err := auth.NewKey(auth.Key{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		text += line[:len(line)-1] + ", volumes: 1073741824}\n"
		tokens[name] = token
	}

	keys, err := auth.ParseKeys([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	f := &fakeSessions{begun: make(chan struct{}, 8), begin: make(chan struct{})}
	mux := f.mux()
	mux.HandleFunc("GET /v1/volumes", func(w http.ResponseWriter, r *http.Request) { say(w, 200, []api.Volume{}) })
	web := serveFake(t, mux, func(c *Config) { c.Keys = keys })
	made := make(chan int, 3)
	ask := func(key, project string) {
		made <- send(t, web, "POST", "/v1/sessions", `{"image":"tiny","labels":{"project":"`+project+`"},"volume":{}}`, nil,
			"Authorization", "Bearer "+tokens[key])
	}
	go ask("ann", "p")
	<-f.begun
	go ask("ann", "q")
	go ask("bob", "p")
	select {
	case <-f.begun:
	case <-time.After(2 * time.Minute):
		t.Error("one key waits for another's session")
	}

	select {
	case <-f.begun:
		t.Error("two sessions of one key are being made at once")
	default:
	}

	close(f.begin)
	for range 3 {
		if s := <-made; s != http.StatusCreated {
			t.Errorf("status %d", s)
		}
	}

	var p api.Problem
	if s := send(t, web, "POST", "/v1/sessions", `{"image":"tiny","labels":{"project":"/"},"volume":{}}`, &p, "Authorization",
		"Bearer "+tokens["ann"]); s != http.StatusBadRequest {
		t.Errorf("a project that no address names: %d, %+v", s, p)
	}
}
