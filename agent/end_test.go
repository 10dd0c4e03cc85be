package agent_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// What has the label is ended: plain and streamed runs, also those that have not begun, and sessions that are being
// created. Their callers learn that. The rest goes on.
func TestEndOfARun(t *testing.T) {
	begun := make(chan struct{}, 16)
	o := &creating{one: one{t: t}, begun: begun}
	finish := make(chan struct{})
	socket, _ := serve(t, agent.Config{Sessions: o, Volumes: labeledVolumes{"v": "x", "w": "y"},
		Runner: runner(func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
			begun <- struct{}{}
			select {
			case <-ctx.Done():
			case <-finish:
				return api.Result{Run: "r", Verdict: api.OK, Labels: r.Labels}, nil
			}
			if r.Argv[0] == "waits" { // as a run that waits for a slot
				e := api.Fail(api.CodeInternal, "%w", ctx.Err())
				e.Run = "w"
				return api.Result{}, e
			}
			return api.Result{Run: "r", Verdict: api.Canceled, Labels: r.Labels}, nil
		})})
	c := client.New(socket)
	defer c.Close()

	type answer struct {
		name string
		res  api.Result
		err  error
	}
	answers := make(chan answer, 16)
	start := func(name, run string, streamed bool, program string) {
		r := api.Run{Image: "tiny", Argv: []string{program}, Labels: api.Labels{Project: "p", Run: run}}
		go func() {
			a := answer{name: name}
			if streamed {
				a.res, a.err = c.RunStream(t.Context(), r, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
			} else {
				a.res, a.err = c.Run(t.Context(), r)
			}
			answers <- a
		}()
	}
	start("plain", "x", false, "runs")
	start("streamed", "x", true, "runs")
	start("waiting", "x", false, "waits")
	start("waiting streamed", "x", true, "waits")
	start("another's", "y", false, "runs")
	start("none's", "", true, "runs")
	go func() {
		_, err := c.CreateSession(t.Context(), api.SessionRequest{Image: "tiny", Labels: api.Labels{Run: "x"}})
		answers <- answer{name: "session", err: err}
	}()
	for range 7 {
		<-begun
	}

	if got, err := c.End(t.Context(), api.EndRequest{Run: "x", Project: "q"}); err != nil || got != (api.Ended{}) {
		t.Errorf("of another project: %+v, %v", got, err)
	}
	got, err := c.End(t.Context(), api.EndRequest{Run: "x"})
	if err != nil || got != (api.Ended{Runs: 4, Sessions: 1, Volumes: 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	for range 5 {
		switch a := <-answers; a.name {
		case "plain", "streamed", "waiting", "waiting streamed":
			if a.err != nil || a.res.Verdict != api.Canceled || a.res.Labels.Run != "x" || a.res.Run == "" {
				t.Errorf("%s: %+v, %v", a.name, a.res, a.err)
			}
		case "session":
			if code(a.err) != api.CodeSessionEnded || !strings.Contains(a.err.Error(), `run "x" was ended`) {
				t.Errorf("%s: %v", a.name, a.err)
			}
		default:
			t.Errorf("%s was ended: %+v, %v", a.name, a.res, a.err)
		}
	}
	if got, err := c.End(t.Context(), api.EndRequest{Run: "x"}); err != nil || got != (api.Ended{}) {
		t.Errorf("once more: %+v, %v", got, err)
	}

	close(finish)
	for range 2 {
		if a := <-answers; a.err != nil || a.res.Verdict != api.OK {
			t.Errorf("%s: %+v, %v", a.name, a.res, a.err)
		}
	}

	// The sessions that exist are the registry's, which is told the request.
	if got, err := c.End(t.Context(), api.EndRequest{Run: "r"}); err != nil || got != (api.Ended{Sessions: 1}) {
		t.Errorf("a session: %+v, %v", got, err)
	}
	for _, bad := range []api.EndRequest{{}, {Project: "p"}, {Run: strings.Repeat("x", api.MaxLabel+1)}} {
		if _, err := c.End(t.Context(), bad); code(err) != api.CodeBadRequest {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// creating has sessions whose creation lasts until it is canceled.
type creating struct {
	one
	begun chan struct{}
}

func (o *creating) Create(ctx context.Context, ask api.SessionRequest, _ time.Duration,
	c api.Caller) (api.Session, error) {
	o.begun <- struct{}{}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		o.t.Error("the creation of the session was not canceled")
	}
	return api.Session{}, api.Fail(api.CodeStopping, "%w", ctx.Err())
}

// labeledVolumes has temporary volumes, by name, with their runs.
type labeledVolumes map[string]string

func (v labeledVolumes) List(api.Caller) (all []api.Volume, err error) {
	for name, run := range v {
		all = append(all, api.Volume{Name: name, Run: run}, api.Volume{Name: name})
	}
	return all, nil
}

func (v labeledVolumes) Remove(_ context.Context, name, run string, _ api.Caller) error {
	if v[name] != run || run == "" {
		return api.Refuse(api.CodeConflict, "a volume that was not to be removed: %q of %q", name, run)
	}
	delete(v, name)
	return nil
}
