package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return New(s.URL+"/", "key")
}

func TestRunAndItsRefusals(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path != "/v1/runs" || r.Header.Get("Authorization") != "Bearer key" || r.Header.Get("Content-Type") != "application/json":
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
		case strings.Contains(string(body), "full"):
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"status":429,"code":"queue-full","detail":"later","retry_safe":true,"retry_after_seconds":1}`)
		case strings.Contains(string(body), "proxy"):
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, `<html>no upstream</html>`)
		case strings.Contains(string(body), "garbage"):
			fmt.Fprint(w, `<html>`)
		default:
			fmt.Fprint(w, `{"verdict":"ok","stdout":{"base64":"/wA="}}`)
		}
	})

	ask := func(image string) (api.Result, error) {
		return c.Run(t.Context(), api.Run{Image: image, Argv: []string{"true"}})
	}
	if res, err := ask("tiny"); err != nil || res.Verdict != api.OK || string(res.Stdout) != "\xff\x00" {
		t.Errorf("%+v, %v", res, err)
	}

	var p *api.Problem
	if _, err := ask("full"); !errors.As(err, &p) || p.Code != api.CodeQueueFull || !p.RetrySafe || p.RetryAfter != 1 {
		t.Errorf("%v; want the service's problem", err)
	}

	for _, image := range []string{"proxy", "garbage"} {
		if _, err := ask(image); err == nil || errors.As(err, &p) && p == nil {
			t.Errorf("%s: %v; want an error", image, err)
		}
	}
}

// A broken stream is resumed where it broke, and no event is delivered twice.
func TestEventsResumeAfterABrokenStream(t *testing.T) {
	asked := []string{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("after"))
		switch len(asked) {
		case 1:
			fmt.Fprint(w, "id: 1\nevent: queued\ndata: {}\n\n:\n\nid: 2\nevent: stdout\ndata: {\"data\":\"a\"}\n\n"+
				"id: 3\nevent: stdout\ndata: {\"da")
		case 2:
			panic(http.ErrAbortHandler)
		default:
			fmt.Fprintf(w, "id: 3\nevent: stdout\ndata: {\"data\":%q}\n\nid: 4\nevent: result\ndata: {}\n\n", strings.Repeat("b", 200_000))
		}
	})

	var out strings.Builder
	var names []string
	err := c.Events(t.Context(), "run", func(e Event) error {
		names = append(names, string(e.Name))
		if e.Name == "stdout" {
			piece, err := e.Output()
			out.Write(piece)
			return err
		}
		return nil
	})
	if err != nil || out.Len() != 200_001 || strings.Join(names, " ") != "queued stdout stdout result" {
		t.Errorf("%v, %d bytes, %q", err, out.Len(), names)
	}
	if got := strings.Join(asked, " "); got != "0 2 2" {
		t.Errorf("asked after %q; want 0 2 2", got)
	}
}

func TestEventsEnd(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/runs/none/events":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"code":"not-found"}`)
		case "/v1/runs/mute/events":
		case "/v1/runs/told/events":
			fmt.Fprint(w, "id: 1\nevent: queued\ndata: {}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})

	tell := func(Event) error { return nil }
	var p *api.Problem
	if err := c.Events(t.Context(), "none", tell); !errors.As(err, &p) || p.Code != api.CodeNotFound {
		t.Errorf("%v; want not-found", err)
	}
	if err := c.Events(t.Context(), "mute", tell); err == nil || !strings.Contains(err.Error(), "the event stream of run mute broke") {
		t.Errorf("%v; want an end of coming back", err)
	}

	enough := errors.New("enough")
	if err := c.Events(t.Context(), "told", func(Event) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v; want what tell returned", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Events(ctx, "told", func(Event) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want canceled", err)
	}
}

func TestPutBlobSendsOnlyMissingContent(t *testing.T) {
	have := map[string]string{}
	sent := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			if _, ok := have[r.URL.Path]; !ok {
				w.WriteHeader(http.StatusNotFound)
			}
			return
		}
		body, _ := io.ReadAll(r.Body)
		have[r.URL.Path] = string(body)
		sent++
		w.WriteHeader(http.StatusNoContent)
	})

	for range 2 {
		digest, err := c.PutBlob(t.Context(), []byte("content"))
		if err != nil || have["/v1/blobs/"+digest] != "content" || sent != 1 {
			t.Errorf("%q, %v: sent %d times", digest, err, sent)
		}
	}
}

func FuzzReadEvents(f *testing.F) {
	f.Add("id: 1\nevent: a\ndata: {}\n\n:\n\n")
	f.Add("id: x\nevent: a\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		err := ReadEvents(strings.NewReader(text), func(e Event) error {
			n++
			if e.Name == "" {
				t.Error("an event without a name")
			}
			return nil
		})
		if err == nil || n > len(text) {
			t.Errorf("%d events, %v", n, err)
		}
	})
}

func TestGetBlob(t *testing.T) {
	content := "a program"
	sum := sha256.Sum256([]byte(content))
	digest, other := hex.EncodeToString(sum[:]), strings.Repeat("0", 64)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /v1/blobs/" + digest, "GET /v1/blobs/" + other:
			_, _ = io.WriteString(w, content)
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(404)
			_, _ = io.WriteString(w, `{"code":"unknown-blob","status":404,"detail":"no"}`)
		}
	})

	var got strings.Builder
	if err := c.GetBlob(t.Context(), digest, &got); err != nil || got.String() != content {
		t.Errorf("%q, %v", got.String(), err)
	}
	if err := c.GetBlob(t.Context(), other, io.Discard); err == nil || !strings.Contains(err.Error(), "has the digest "+digest) {
		t.Errorf("other content: %v", err)
	}
	var p *api.Problem
	if err := c.GetBlob(t.Context(), "../x", io.Discard); !errors.As(err, &p) || p.Code != api.CodeNoBlob {
		t.Errorf("none: %v", err)
	}
}
