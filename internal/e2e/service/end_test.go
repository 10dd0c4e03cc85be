package service

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// brig end ends what has the label, at a service and at an agent: a run that is executed and one that waits, a
// session, a batch and a temporary volume. What has another label, or is another key's or user's, goes on.
func TestEndOfARun(t *testing.T) {
	a := harness.VolumeAgent(t, harness.SharedFlags...) // with 2 slots
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file)
	ann, bob := s.WithKey(keys["ann"]), s.WithKey(keys["bob"])
	x, y := api.Labels{Project: "p", Run: "x"}, api.Labels{Project: "p2", Run: "y"}
	sleep := func(l api.Labels) api.Run {
		r := harness.Sh("sleep 1000")
		r.Labels, r.Limits.Wall = l, api.Duration(30*time.Second)
		return r
	}

	session := func(of *harness.Service, l api.Labels, temporary bool) (made api.Session) {
		t.Helper()
		of.Call("POST", "/v1/sessions", api.SessionRequest{Image: "tiny", Labels: l, Limits: api.Limits{Memory: 64 * api.MiB},
			Volume: &api.VolumeRequest{Size: api.VolumeSizeMin, Temporary: temporary}}, 201, &made)
		return made
	}
	mine, others, bobs := session(ann, x, true), session(ann, y, true), session(bob, x, true)
	lasting := session(ann, api.Labels{Project: "lasting", Run: "x"}, false)
	if mine.Volume == nil || mine.Volume.Name != "p" || mine.Volume.Run != "x" || mine.Labels != x {
		t.Errorf("made %+v with %+v", mine, mine.Volume)
	}
	harness.WantVerdict(t, ann.ExecIn(mine.ID, "echo secret >/workspace/f"), api.OK)
	batch, bobsBatch := openBatch(ann, `{"labels": {"run": "x"}}`), openBatch(bob, `{"labels": {"run": "x"}}`)
	addJobs(ann, batch, jobLines(t, "slow", "sleep 1000; echo %d", 2))

	// Two runs have the slots, and the third waits.
	running, waiting := ann.StartDetached(sleep(x)), ""
	bobsRun := bob.StartDetached(sleep(x))
	waitLoad(ann, 2)
	waiting = ann.StartDetached(sleep(x))

	end := func(key string, args ...string) (text string, code int) {
		t.Helper()
		cmd := exec.Command(harness.Binary(t, "brig"), append([]string{"end"}, args...)...)
		cmd.Env = append(os.Environ(), "BRIG_URL="+s.Url, "BRIG_API_KEY="+key)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if text, code := end(keys["ann"], "--run", "none"); code != 1 ||
		!strings.Contains(text, "nothing that has not ended has the label run=none") {
		t.Errorf("%d: %s", code, text)
	}
	if text, code := end(keys["ann"], "--run", "x"); code != 0 || text != "ended 2 runs, 2 sessions, 1 batch, 1 volume\n" {
		t.Errorf("%d: %s", code, text)
	}
	for _, id := range []string{running, waiting} {
		if st := ann.WaitDone(id); st.Result == nil || st.Result.Verdict != api.Canceled || st.Labels != x {
			t.Errorf("%s: %+v", id, st)
		}
	}
	ann.Refused("GET", "/v1/sessions/"+mine.ID, nil, 410, api.CodeSessionEnded)
	ann.Refused("GET", "/v1/sessions/"+lasting.ID, nil, 410, api.CodeSessionEnded)
	for _, one := range []struct {
		of    *harness.Service
		path  string
		state api.BatchState
	}{{ann, batch, api.BatchCanceled}, {bob, bobsBatch, api.BatchOpen}} {
		var b api.Batch
		if one.of.Call("GET", one.path, nil, 200, &b); b.State != one.state {
			t.Errorf("%s is %s", one.path, b.State)
		}
	}
	volumes := func(of *harness.Service) (names []string) {
		var page api.Page[api.Volume]
		of.Call("GET", "/v1/volumes", nil, 200, &page)
		for _, v := range page.Items {
			names = append(names, v.Name+" of "+v.Run)
		}
		return names
	}
	if got := volumes(ann); !slices.Equal(got, []string{"lasting of ", "p2 of y"}) {
		t.Errorf("ann's volumes: %q", got)
	}
	if got := volumes(bob); !slices.Equal(got, []string{"p of x"}) {
		t.Errorf("bob's volumes: %q", got)
	}
	harness.WantVerdict(t, ann.ExecIn(others.ID, "test -d /workspace"), api.OK)
	harness.WantVerdict(t, bob.ExecIn(bobs.ID, "test ! -e /workspace/f"), api.OK)
	var st api.Status
	if bob.Call("GET", "/v1/runs/"+bobsRun, nil, 200, &st); st.State == api.Done && st.Result.Verdict == api.Canceled {
		t.Errorf("bob's run: %+v", st.Result)
	}

	// A session of the run's name begins with a new volume.
	again := session(ann, x, true)
	harness.WantVerdict(t, ann.ExecIn(again.ID, "test ! -e /workspace/f"), api.OK)

	// The agent ends what this user has: of the service it has nothing, as that is another user.
	own := a.NewSession(t, func(s *api.SessionRequest) {
		s.Labels = x
		s.Volume = &api.VolumeRequest{Name: "v", Size: api.VolumeSizeMin, Temporary: true}
	})
	kept := a.NewSession(t, func(s *api.SessionRequest) { s.Labels = y })
	done := a.RunAsync(t, sleep(x))
	for {
		if text, code := end("", "--run", "x", "--socket", a.Socket); strings.HasPrefix(text, "ended 1 run") && code == 0 {
			break
		} else if strings.HasPrefix(text, "ended ") && text != "ended 1 session, 1 volume\n" || code > 1 {
			t.Fatalf("%d: %s", code, text)
		}
		time.Sleep(10 * time.Millisecond) // until the run has begun or waits
	}
	if res := <-done; res.Verdict != api.Canceled || res.Labels != x {
		t.Errorf("%+v", res)
	}
	_, err := a.Session(t.Context(), own.ID)
	harness.WantCode(t, err, api.CodeSessionEnded)
	if _, err := a.Session(t.Context(), kept.ID); err != nil {
		t.Error(err)
	}
	if all, err := a.Volumes(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("the user's volumes: %+v, %v", all, err)
	}
	harness.WantVerdict(t, ann.ExecIn(again.ID, "true"), api.OK)
}
