package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Many sessions that are asked for at once, of which few have room at a time, are all made: each when another has ended.
// It is so for want of places, and for want of memory.
func TestABurstOfSessions(t *testing.T) {
	const burst = 24
	for name, flags := range map[string][]string{
		"for want of places": {"--sessions", "3"},
		"for want of memory": {"--memory", "256M"},
	} {
		t.Run(name, func(t *testing.T) {
			a := harness.StartAgent(t, append(flags, harness.SharedFlags...)...)
			s := harness.StartService(t, a, "--wait", "10m")
			var all sync.WaitGroup
			for i := range burst {
				all.Go(func() {
					var made api.Session
					s.Call("POST", "/v1/sessions", api.SessionRequest{Image: "tiny",
						Limits: api.Limits{Memory: 64 * api.MiB, Scratch: 8 * api.MiB}}, 201, &made)
					var res api.Result
					s.Call("POST", "/v1/sessions/"+made.ID+"/exec",
						api.Exec{Argv: []string{"echo", fmt.Sprint(i)}}, 200, &res)
					if string(res.Stdout) != fmt.Sprintln(i) {
						t.Errorf("session %d: %s, %q", i, res.Verdict, res.Stdout)
					}
					s.Call("DELETE", "/v1/sessions/"+made.ID, nil, 204, nil)
				})
			}
			all.Wait()
			if h, err := a.Health(t.Context()); err != nil || h.Sessions != 0 || h.Memory != 0 {
				t.Errorf("%d sessions and %d bytes are left, %v", h.Sessions, h.Memory, err)
			}
		})
	}
}

// A session that waits for room is in nobody's way: runs have their memory, and execs their slots. If its caller leaves,
// it is never made, and the next one that waits is.
func TestASessionThatWaits(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--sessions", "8", "--memory", "256M")
	ask := api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 160 * api.MiB, Scratch: 8 * api.MiB}}
	first, err := a.CreateSession(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}

	type answer struct {
		s   api.Session
		err error
	}
	wait := func(ctx context.Context) chan answer {
		c := make(chan answer, 1)
		go func() {
			s, err := a.CreateSession(client.WithWait(ctx, time.Minute), ask)
			for api.HasCode(err, api.CodeOverloaded) { // on a slow machine
				s, err = a.CreateSession(client.WithWait(ctx, time.Minute), ask)
			}
			c <- answer{s, err}
		}()
		return c
	}
	ahead := func(n int) {
		t.Helper()
		harness.Eventually(t, fmt.Sprintf("%d to wait", n), func() bool {
			_, err := a.CreateSession(t.Context(), ask)
			e := harness.WantCode(t, err, api.CodeOverloaded)
			if e.RetryAfter == 0 || !e.RetrySafe {
				t.Errorf("refused without an estimate: %+v", e)
			}
			return strings.Contains(e.Message, fmt.Sprintf("(%d wait before it", n))
		})
	}

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	leaves := wait(ctx)
	ahead(1)
	stays := wait(t.Context())
	ahead(2)

	for range 20 { // more than may pass one that waits for memory of runs
		run := harness.Sh("exit 0")
		run.Limits.Memory = 32 * api.MiB
		harness.WantVerdict(t, a.MustRun(t, run), api.OK)
		a.WantOutput(t, first.ID, "echo lives", "lives\n")
	}

	leave()
	if got := <-leaves; !errors.Is(got.err, context.Canceled) {
		t.Errorf("the one whose caller has left: %+v, %v", got.s, got.err)
	}
	ahead(1)
	if err := a.DeleteSession(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}

	got := <-stays
	if got.err != nil {
		t.Fatal(got.err)
	}
	a.WantOutput(t, got.s.ID, "echo lives", "lives\n")
	all, err := a.Sessions(t.Context())
	if err != nil || len(all) != 1 {
		t.Errorf("sessions: %+v, %v; want one", all, err)
	}
}

// A client of the service that leaves while its session waits leaves nothing: neither a session nor a place of its task.
func TestAClientLeavesWhileItsSessionWaits(t *testing.T) {
	a := harness.StartAgent(t, append([]string{"--sessions", "1"}, harness.SharedFlags...)...)
	s := harness.StartService(t, a)
	ask := api.SessionRequest{Image: "tiny", Labels: api.Labels{Project: "p", Task: "t"},
		Limits: api.Limits{Memory: 64 * api.MiB, Scratch: 8 * api.MiB}}
	first := a.NewSession(t, nil)

	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		res, err := s.Request(ctx, "POST", "/v1/sessions", ask)
		if err == nil {
			err = res.Body.Close()
		}
		left <- err
	}()
	waiting := func(n int) func() bool {
		return func() bool {
			_, err := a.CreateSession(t.Context(), api.SessionRequest{Image: "tiny"})
			e := harness.WantCode(t, err, api.CodeSessionsFull)
			return strings.Contains(e.Message, fmt.Sprintf("(%d wait before it", n))
		}
	}
	harness.Eventually(t, "the session to wait", waiting(1))
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the client's error: %v", err)
	}
	harness.Eventually(t, "the session to wait no longer", waiting(0))

	if err := a.DeleteSession(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	var made api.Session
	s.Call("POST", "/v1/sessions", ask, 201, &made)
	s.Call("DELETE", "/v1/sessions/"+made.ID, nil, 204, nil)
	if h, err := a.Health(t.Context()); err != nil || h.Sessions != 0 || h.Memory != 0 {
		t.Errorf("%d sessions and %d bytes are left, %v", h.Sessions, h.Memory, err)
	}
}
