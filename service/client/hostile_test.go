package client

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// An answer larger than MaxAnswer is refused with a clear error: an endless one would fill the
// memory.
func TestAnswersAreBounded(t *testing.T) {
	const maximum = 1 << 20
	end := int64(64 << 20)
	sent := make(chan int64, 1)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := int64(0)
		defer func() { sent <- n }()
		_, _ = io.WriteString(w, `{"items":["`)
		for x := bytes.Repeat([]byte("x"), 1<<16); n < end; n += int64(len(x)) {
			if _, err := w.Write(x); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `"]}`)
	})

	c.MaxAnswer = maximum
	if _, err := c.History(t.Context(), Filter{}); err == nil || !strings.Contains(err.Error(), "more than 1M") {
		t.Errorf("%.200v; want that the answer has more than 1M", err)
	}
	if n := <-sent; n >= end {
		t.Errorf("all %d bytes were taken", n)
	}

	end = maximum / 2
	if _, err := c.History(t.Context(), Filter{}); err == nil || strings.Contains(err.Error(), "more than") {
		t.Errorf("%.200v; want an error about items of another kind", err) // it was read completely
	}
}

// On a redirect, neither the key nor the body is sent to another origin, not even to another port
// of the same host.
func TestRedirectsToAnotherOriginAreRefused(t *testing.T) {
	asked := ""
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{}`)
	}))
	defer other.Close()

	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/here":
			_, _ = io.WriteString(w, `{"items":[{"run_id":"r1"}]}`)
		case r.URL.Query().Get("project") == "here":
			http.Redirect(w, r, "/here", http.StatusFound)
		default:
			http.Redirect(w, r, other.URL+"/there", http.StatusTemporaryRedirect)
		}
	})

	_, getErr := c.History(t.Context(), Filter{})
	_, postErr := c.Run(t.Context(), api.Run{Image: "tiny", Argv: []string{"true"}})
	for what, err := range map[string]error{"a question": getErr, "a run": postErr} {
		if err == nil || !strings.Contains(err.Error(), other.URL) {
			t.Errorf("%s that is sent on: %v; want the address named", what, err)
		}
	}

	if asked != "" {
		t.Errorf("the other origin was asked: %s", asked)
	}
	if page, err := c.History(t.Context(), Filter{Project: "here"}); err != nil || len(page.Items) != 1 || page.Items[0].ID != "r1" {
		t.Errorf("a redirect within the service: %+v, %v", page, err)
	}
}
