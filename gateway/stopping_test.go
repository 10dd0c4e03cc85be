package gateway

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// While a client still waits for a run, the stopping service answers others: it is live, and
// accepts nothing new.
func TestStoppingServiceAnswers(t *testing.T) {
	mux := http.NewServeMux()
	begun, end := make(chan struct{}), make(chan struct{})
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-end
		say(w, 200, api.Result{Verdict: api.OK})
	})
	g := serveFake(t, mux, func(c *Config) { c.Grace = time.Minute }).Config.Handler.(*Gateway)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, ln) }()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // a new connection for each request
	url := "http://" + ln.Addr().String()
	run := make(chan int, 1)
	go func() { run <- requestStatus(t, c, "POST", url+"/v1/runs") }()
	<-begun
	stop()
	<-g.stopping.Done()
	for range 20 {
		time.Sleep(5 * time.Millisecond) // closing a listener takes a moment
		if s := requestStatus(t, c, "GET", url+"/health/live"); s != 200 {
			t.Errorf("live: %d", s)
			break
		}
	}
	for path, want := range map[string]int{"/health": 200, "/health/ready": 503, "/v1/history": 200} {
		if s := requestStatus(t, c, "GET", url+path); s != want {
			t.Errorf("GET %s: %d; want %d", path, s, want)
		}
	}
	if s := requestStatus(t, c, "POST", url+"/v1/runs"); s != 503 {
		t.Errorf("a run: %d", s)
	}
	close(end)
	if s := <-run; s != 200 {
		t.Errorf("the run that was waited for: %d", s)
	}
	if err := <-served; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if s := requestStatus(t, c, "GET", url+"/health/live"); s != 0 {
		t.Errorf("afterwards: %d", s)
	}
}
