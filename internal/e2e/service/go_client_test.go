package service

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/service/client"
)

// The service's Go client handles a session from its creation to its end.
func TestRemoteSession(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	c, ctx := client.New(s.Url, ""), t.Context()
	ask := api.SessionRequest{Image: "tiny", Labels: api.Labels{Project: "p", Task: "t"}, Limits: api.Limits{Memory: 64 * api.MiB}}
	made, err := c.CreateSession(ctx, ask)
	if err != nil {
		t.Fatal(err)
	}

	var p *api.Problem
	if _, err := c.CreateSession(ctx, ask); !errors.As(err, &p) || p.Code != api.CodeConflict || p.Session != made.ID {
		t.Errorf("a second of the same task: %v", err)
	}

	content := "\x00\xff" + strings.Repeat("x", 1<<20)
	box := c.Box(made.ID)
	if err := box.Put(ctx, "d/a b?.sh", strings.NewReader(content), true); err != nil {
		t.Fatal(err)
	}

	var got bytes.Buffer
	if err := box.Get(ctx, "d/a b?.sh", &got); err != nil || got.String() != content {
		t.Errorf("%d bytes come back, %v", got.Len(), err)
	}
	if l, err := box.List(ctx, "d"); err != nil || len(l.Files) != 1 || l.Files[0].Name != "d/a b?.sh" || !l.Files[0].Executable {
		t.Errorf("listed %+v, %v", l, err)
	}
	if err := box.Get(ctx, "nosuch", &got); !errors.As(err, &p) || p.Code != api.CodeNotFound {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := box.Put(ctx, "../x", strings.NewReader(""), false); err == nil {
		t.Error("a name that leads out is sent")
	}

	res, err := c.Exec(ctx, made.ID, api.Exec{Argv: []string{"sh", "-c", "wc -c <'d/a b?.sh'"}})
	if err != nil || strings.TrimSpace(string(res.Stdout)) != "1048578" {
		t.Errorf("%q, %v", res.Stdout, err)
	}

	var out bytes.Buffer
	res, err = c.ExecEvents(ctx, made.ID, api.Exec{Argv: []string{"sh", "-c", "echo one; sleep 0.1; echo two; exit 3"}},
		func(e client.Event) error {
			if e.Name == "stdout" {
				piece, err := e.Output()
				out.Write(piece)
				return err
			}
			return nil
		})
	if err != nil || res.Verdict != api.Nonzero || res.ExitCode != 3 || out.String() != "one\ntwo\n" {
		t.Errorf("as events: %s, %q, %v", res.Verdict, &out, err)
	}

	stop := errors.New("enough")
	if _, err := c.ExecEvents(ctx, made.ID, api.Exec{Argv: []string{"sh", "-c", "echo; sleep 60"}},
		func(client.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("a client that needs no more gets %v", err)
	}
	if err := box.Delete(ctx, "d/a b?.sh"); err != nil {
		t.Error(err)
	}
	if all, err := c.Sessions(ctx); err != nil || len(all) != 1 || all[0].ID != made.ID {
		t.Errorf("sessions %+v, %v", all, err)
	}
	if all, err := c.Volumes(ctx); err != nil || len(all) != 0 {
		t.Errorf("volumes %+v, %v", all, err)
	}
	if err := c.DeleteVolume(ctx, "p"); !errors.As(err, &p) || p.Code != api.CodeNotFound {
		t.Errorf("a volume that is not there: %v", err)
	}
	if err := c.EndSession(ctx, made.ID); err != nil {
		t.Error(err)
	}
	if _, err := c.Session(ctx, made.ID); !errors.As(err, &p) || p.Code != api.CodeSessionEnded {
		t.Errorf("the error of an ended session is %v", err)
	}
}
