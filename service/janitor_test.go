package service

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// Sessions that an earlier process left are ended at the start, even if the agent is unreachable at
// first, and are logged. Every hour, sessions that have ended unnoticed are forgotten.
func TestJanitor(t *testing.T) {
	f := new(fakeSessions)
	mux := f.mux()
	var asked atomic.Int64
	mux.HandleFunc("DELETE /v1/sessions/{id}", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case asked.Add(1) <= 2:
			deny(w, 503, api.Fail(api.CodeStopping, "not now"))
		case r.PathValue("id") == "gone":
			deny(w, 404, api.Refuse(api.CodeNotFound, "no session"))
		default:
			say(w, 200, struct{}{})
		}
	})

	book := filepath.Join(t.TempDir(), "sessions")
	if err := os.WriteFile(book, []byte("left\ngone\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	var log testenv.Log
	web := serveFake(t, mux, func(c *Config) { c.Sessions, c.Log = book, slog.New(slog.NewTextHandler(&log, nil)) })
	g := web.Config.Handler.(*Gateway)
	for range 2 {
		if s := send(t, web, "POST", "/v1/sessions", `{"image":"tiny"}`, nil); s != 201 {
			t.Fatal(s)
		}
	}

	f.end("s1")

	synctest.Test(t, func(t *testing.T) { // the agent is outside the bubble: time does not pass during calls to it
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		begun := time.Now()
		go g.sessions.Janitor(ctx)
		synctest.Wait()
		if n := asked.Load(); n != 2 || !strings.Contains(log.String(), "not ended") {
			t.Errorf("%d asked for at the start\n%s", n, log.String())
		}

		time.Sleep(time.Minute)
		synctest.Wait()
		if n, text := asked.Load(), log.String(); n != 4 ||
			!strings.Contains(text, `msg="session ended" session=left why="left by an earlier service"`) ||
			!strings.Contains(text, `msg="session had ended" session=gone`) {
			t.Errorf("%d asked for\n%s", n, text)
		}
		if kept, err := os.ReadFile(book); err != nil || strings.Contains(string(kept), "left") || strings.Contains(string(kept), "gone") {
			t.Errorf("the next service learns of %q, %v", kept, err)
		}

		for hour, want := range [][]string{{"s1", "s2"}, {"s2"}, nil} {
			if got := g.sessions.Of(""); len(got) != len(want) || len(want) == 1 && !slices.Equal(got, want) {
				t.Errorf("after %v: %q; want %q", time.Since(begun), got, want)
			}
			if hour == 1 {
				f.end("s2")
			}
			time.Sleep(time.Hour)
			synctest.Wait()
		}

		for _, id := range []string{"s1", "s2"} {
			if !strings.Contains(log.String(), `msg="session forgotten" session=`+id) {
				t.Errorf("%s is not told of\n%s", id, log.String())
			}
		}
	})

	if asked.Load() != 4 {
		t.Error("what has ended is ended again")
	}
}
