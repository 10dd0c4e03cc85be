package service

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/queue"
)

// A key learns what its run could use, and neither when other keys had it installed or used it nor the
// address of the operator's own index.
func TestKeysDoNotLearnWhenOthersUsePackages(t *testing.T) {
	web := serveFake(t, (&packageAgent{slots: 2}).mux(t), func(c *Config) { c.Packages = true })
	const run = `{"language": "python", "source": "1", "requirements": ["one"]}`
	check := func(what string, set *api.PackageSet) {
		t.Helper()
		if set == nil || len(set.Installed) != 1 || set.Key == "" {
			t.Errorf("%s: %+v; want what is installed", what, set)
		} else if set.Index != "" || set.Owner != 0 || set.Created != "" || set.Used != "" {
			t.Errorf("%s tells %+v", what, set)
		}
	}

	var res api.Result
	if s := send(t, web, "POST", "/v1/runs", run, &res); s != 200 {
		t.Fatalf("%d, %+v", s, res)
	}

	check("the result", res.Packages)
	var st api.Status
	send(t, web, "GET", "/v1/runs/"+res.Run, "", &st)
	check("the history", st.Result.Packages)
	send(t, web, "POST", "/v1/runs?wait=false", run, &st)
	if _, text, _ := getPage(t, web, "/v1/runs/"+st.Run+"/events"); !strings.Contains(text, `"installed":["one==1.0"]`) ||
		strings.Contains(text, "secret.test") {
		t.Errorf("events:\n%s", text)
	}
}

// A session whose packages others remove while it is created has them installed again, as a run has.
func TestSessionsHavePackagesInstalledAgain(t *testing.T) {
	for evicted, want := range map[int]int{0: 201, 1: 201, 2: 404} {
		a := &packageAgent{slots: 2, evicted: evicted}
		web := serveFake(t, a.mux(t), func(c *Config) { c.Packages = true })
		if s := send(t, web, "POST", "/v1/sessions", `{"language": "python", "requirements": ["one"]}`, nil); s != want {
			t.Errorf("removed %d times: %d; want %d", evicted, s, want)
		}
		if n := len(web.Config.Handler.(*Gateway).sessions.Of("")); n != map[int]int{201: 1, 404: 0}[want] {
			t.Errorf("removed %d times: %d sessions are kept", evicted, n)
		}
	}
}

// A service that stops says so to a session that waits for packages.
func TestStoppingServiceLeavesNoSessionWaiting(t *testing.T) {
	g := (&packageAgent{slots: 1}).serve(t, func(c *Config) { c.Grace = 50 * time.Millisecond })
	long, err := g.core.Queue.Take(t.Context(), queue.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	defer long.Release()

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()

	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, ln) }()
	answer := make(chan string, 1)
	go func() {
		res, err := http.Post("http://"+ln.Addr().String()+"/v1/sessions", "application/json",
			strings.NewReader(`{"language": "python", "requirements": ["one"]}`))
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
		}
		answer <- res.Status + " " + string(text)
	}()

	eventually(t, "the installation waits for a slot", func() bool { return g.core.Queue.Stats().Waiting == 1 })
	stop()
	if got := <-answer; !strings.HasPrefix(got, "503 ") || !strings.Contains(got, `"code":"stopping"`) {
		t.Errorf("the session gets %s", got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
