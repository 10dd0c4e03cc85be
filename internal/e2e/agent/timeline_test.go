package agent

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/service/client"
)

// stepsSource allocates in steps and then computes with two more processes: the positive control of
// a timeline. Each step lasts argv[1] milliseconds.
const stepsSource = `#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {
	long ms = atol(argv[1]); struct timespec step = { ms / 1000, ms % 1000 * 1000000 }, from, now;
	for (int i = 0; i < 4; i++) { memset(malloc(8 << 20), 1, 8 << 20); nanosleep(&step, 0); }
	if (!fork() || !fork()) pause();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from); // the memory may have taken long
	do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < ms);
	return 0; }`

var everyPoint = &api.TimelineRequest{Every: api.Duration(20 * time.Millisecond)}

// checkSteps checks the timeline of that program. It returns what the timeline misses: an agent that gets no processor
// for as long as a step sees nothing of it.
func checkSteps(t *testing.T, res api.Result) (missed string) {
	t.Helper()
	harness.WantVerdict(t, res, api.OK)
	l := res.Timeline
	if l == nil || l.Every != int64(20*time.Millisecond) || len(l.Memory) != len(l.CPU) || len(l.Memory) != len(l.Pids) {
		t.Fatalf("timeline %+v; want one point every 20 ms in each list", l)
	}
	if len(l.Memory) < 20 {
		return fmt.Sprintf("%d points are too few", len(l.Memory))
	}
	if covers := int64(len(l.Memory)) * l.Every; covers > res.Timing.Wall+int64(time.Second) {
		t.Errorf("%d points cover %v, and the run took %v", len(l.Memory), time.Duration(covers), time.Duration(res.Timing.Wall))
	}
	if !slices.IsSorted(l.CPU) || l.CPU[len(l.CPU)-1] > *res.Usage.CPU.Value+int64(20*time.Millisecond) {
		t.Errorf("processor time %d of %d in total", l.CPU, *res.Usage.CPU.Value)
	}
	if maximum := slices.Max(l.Memory); maximum > *res.Usage.Memory.Value {
		t.Errorf("a point has %d bytes, and the peak is %d", maximum, *res.Usage.Memory.Value)
	}

	for step := int64(1); step <= 4; step++ {
		if low := step * 8 << 20; !slices.ContainsFunc(l.Memory, func(m int64) bool { return low <= m && m < low+4<<20 }) {
			missed += fmt.Sprintf("no point has the memory of step %d: %d\n", step, l.Memory)
		}
	}

	begun := slices.IndexFunc(l.Pids, func(n int64) bool { return n > 0 }) // a point may come before the program
	if begun < 0 || l.Pids[begun] != 1 || slices.Max(l.Pids) != 3 {
		missed += fmt.Sprintf("processes %d; want 1 and, at the end, 3\n", l.Pids)
	}
	return missed
}

// stepsRun runs the program, with ever longer steps, until its timeline shows all of them.
func stepsRun(t *testing.T, run func(r api.Run) api.Result) (api.Run, api.Result) {
	t.Helper()
	f := harness.CompileC(t, "steps", stepsSource)
	for step := 0.2; ; step *= 2 {
		r := harness.Program(f, fmt.Sprint(time.Duration(harness.Slowly(step)).Milliseconds()))
		r.Timeline, r.Limits.Wall = everyPoint, harness.Seconds(30)
		res := run(r)
		missed := checkSteps(t, res)
		if missed == "" {
			return r, res
		}
		if step > 2 {
			t.Fatalf("steps of %.1f s: %s", step, missed)
		}
		t.Logf("steps of %.1f s: %s", step, missed)
	}
}

func TestTimelineShowsTheSteps(t *testing.T) {
	a := harness.StartAgent(t)
	r, _ := stepsRun(t, func(r api.Run) api.Result { return a.MustRun(t, r) })
	r.Timeline = nil
	if res := a.MustRun(t, r); res.Verdict != api.OK || res.Timeline != nil {
		t.Errorf("a run without a timeline: %s, %+v", res.Verdict, res.Timeline)
	}

	r.Timeline = &api.TimelineRequest{}
	if res := a.MustRun(t, r); res.Timeline == nil || res.Timeline.Every != int64(20*time.Millisecond) {
		t.Errorf("the default: %+v", res.Timeline)
	}

	short := harness.Sh("exit 3")
	short.Timeline = &api.TimelineRequest{Every: harness.Seconds(60)}
	if res := a.MustRun(t, short); res.Verdict != api.Nonzero || res.Timeline == nil || res.Timeline.Memory == nil ||
		len(res.Timeline.Memory) != 0 {
		t.Errorf("shorter than one interval: %s, %+v", res.Verdict, res.Timeline)
	}
}

// The inputs of a run count as its memory, in a timeline too.
func TestTimelineIncludesTheInputs(t *testing.T) {
	a := harness.StartAgent(t)
	r := harness.Sh("sleep 2")
	r.Files = []api.File{{Name: "input", Content: make([]byte, 8<<20)}}
	r.Timeline = everyPoint
	res := a.MustRun(t, r)
	harness.WantVerdict(t, res, api.OK)
	if l := res.Timeline; len(l.Memory) == 0 || slices.Min(l.Memory) < 8<<20 || slices.Max(l.Memory) > *res.Usage.Memory.Value {
		t.Errorf("timeline %+v, peak %d; want at least the 8 MiB of the input", l, *res.Usage.Memory.Value)
	}
}

// A timeline changes no verdict.
func TestTimelineLeavesTheVerdict(t *testing.T) {
	a := harness.StartAgent(t)
	for want, script := range map[api.Verdict]string{
		api.WallLimit: "sleep 60", api.CPULimit: "while :; do :; done", api.MemoryLimit: "x=$(yes | head -c 100000000)",
		api.Denied: "exec pivot_root /tmp /tmp", api.OutputLimit: "yes", api.Signaled: "kill -SEGV $$", api.Nonzero: "exit 3",
	} {
		r := harness.Sh(script)
		r.Limits = api.Limits{Wall: harness.Slowly(15), CPU: harness.Slowly(0.3), Memory: 16 * api.MiB, Output: api.MiB}
		switch want {
		case api.WallLimit: // the others are met late on a busy machine
			r.Limits.Wall = harness.Slowly(1)
		case api.MemoryLimit:
			r.Limits.CPU = harness.Slowly(5)
		}
		r.Timeline = &api.TimelineRequest{Every: api.TimelineEveryMin}
		harness.WantVerdict(t, a.MustRun(t, r), want)
		r.Timeline = nil
		harness.WantVerdict(t, a.MustRun(t, r), want)
	}
}

func TestTimelineOfAnExec(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	a.Put(t, s.ID, "held", string(make([]byte, 4<<20))) // memory of the session, not of the exec
	stepsRun(t, func(r api.Run) api.Result {
		if err := a.PutFile(t.Context(), s.ID, "steps", bytes.NewReader(r.Files[0].Content), true); err != nil {
			t.Fatal(err)
		}
		return a.MustExec(t, s.ID, api.Exec{Argv: r.Argv, Timeline: everyPoint})
	})

	if res := a.MustExec(t, s.ID, api.Exec{Argv: []string{"true"}}); res.Timeline != nil {
		t.Errorf("an exec without a timeline: %+v", res.Timeline)
	}
}

func TestTimelineThroughTheService(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	c := client.New(s.Url, "")
	r, res := stepsRun(t, func(r api.Run) api.Result {
		res, err := c.Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return res
	})

	var status api.Status
	s.Call("GET", "/v1/runs/"+res.Run, nil, 200, &status)
	if l := status.Result.Timeline; l == nil || !slices.Equal(l.Memory, res.Timeline.Memory) {
		t.Errorf("the history has %+v", l)
	}

	r.Timeline = &api.TimelineRequest{Every: api.Duration(time.Millisecond)}
	var p api.Problem
	s.Call("POST", "/v1/runs", r, 400, &p)
	if p.Code != api.CodeBadRequest || p.Detail != "timeline.every is 1ms: must be between 5ms and 1m" {
		t.Errorf("%+v", p)
	}

	r.Timeline, r.Tests = everyPoint, []api.Test{{ID: "1"}}
	s.Call("POST", "/v1/runs", r, 400, &p)
	if p.Code != api.CodeBadRequest {
		t.Errorf("%+v", p)
	}
}
