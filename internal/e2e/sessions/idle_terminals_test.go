package sessions

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/procfs"
)

// atTerminal executes a script at a terminal of a session.
func atTerminal(t *testing.T, a *harness.Agent, id, script string) *typist {
	t.Helper()
	return typeAt(t, func(stdin io.Reader, events client.Events) (api.Result, error) {
		return a.ExecEvents(t.Context(), id, api.Exec{Argv: []string{"/bin/sh", "-c", script}, TTY: &api.TTY{}}, stdin, events)
	})
}

// wantNoSlot demands that nothing has a slot.
func wantNoSlot(t *testing.T, a *harness.Agent) {
	t.Helper()
	h, err := a.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if h.Leased != 0 {
		t.Errorf("%d slots of %d are leased; want none", h.Leased, h.Slots)
	}
}

// TTY-03: 208 terminals at which nobody types, in an agent as it is by default, with one slot: they have none, runs and other
// execs do not wait for them, and each of them answers. Their time is that of a session, not of a run.
func TestIdleTerminals(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	var open []*typist
	var sessions []api.Session
	for range 13 {
		s := a.NewSession(t, nil)
		sessions = append(sessions, s)
		for range api.SessionResidents {
			open = append(open, atTerminal(t, a, s.ID, "echo open; read line; echo got $line"))
		}
	}
	for _, p := range open {
		p.wait("open\r\n")
	}

	wantNoSlot(t, a)
	harness.WantVerdict(t, a.MustRun(t, harness.Sh("echo run")), api.OK)
	_, err := a.Client.ExecEvents(t.Context(), sessions[0].ID, api.Exec{Argv: []string{"true"}, TTY: &api.TTY{}}, nil, client.Events{})
	harness.WantCode(t, err, api.CodeSessionBusy)
	a.WantOutput(t, sessions[0].ID, "echo exec", "exec\n")

	for i, p := range open {
		p.press(strconv.Itoa(i) + "\n")
	}
	for i, p := range open {
		p.wait("got " + strconv.Itoa(i) + "\r\n")
		res := p.end()
		harness.WantVerdict(t, res, api.OK)
		if res.Limits.Wall != api.SessionLifeMax || res.Limits.CPU != api.SessionLifeMax {
			t.Fatalf("limits wall %v and cpu %v; want those of the longest life of a session, %v, because its life may grow",
				res.Limits.Wall, res.Limits.CPU, api.SessionLifeMax)
		}
	}
}

// TTY-12: terminals and residents whose requests are as large as they may be, or would collect files, hold little memory
// of the agent: a run that needs much of it is executed next to all that one session may have.
func TestResidentsHoldLittleMemory(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	open := 0
	for _, tt := range []struct {
		padding int // of the request
		collect api.Collect
		code    api.Code // empty: it is accepted
	}{
		{60 << 10, api.Collect{}, ""},
		{64 << 10, api.Collect{}, api.CodeTooLarge},
		{16 << 20, api.Collect{}, api.CodeTooLarge},
		{0, api.Collect{Globs: []string{"*"}, Bytes: 64 * api.MiB}, api.CodeBadRequest},
	} {
		for range api.SessionResidents {
			e := api.Exec{Argv: []string{"/bin/sh", "-c", "echo open; read line", strings.Repeat("x", min(tt.padding, 100<<10))},
				TTY: &api.TTY{}, Collect: tt.collect}
			if tt.padding > 100<<10 { // more than a command line may have
				e = api.Exec{Source: make(api.Bytes, tt.padding), TTY: &api.TTY{}}
			}
			if tt.code != "" {
				_, err := a.Client.ExecEvents(t.Context(), s.ID, e, strings.NewReader(""), client.Events{})
				harness.WantCode(t, err, tt.code)
				e.TTY, e.Resident = nil, true
				_, err = a.Client.ExecEvents(t.Context(), s.ID, e, strings.NewReader(""), client.Events{})
				harness.WantCode(t, err, tt.code)
				break
			}
			p := typeAt(t, func(stdin io.Reader, events client.Events) (api.Result, error) {
				return a.ExecEvents(t.Context(), s.ID, e, stdin, events)
			})
			p.wait("open\r\n")
			defer p.press("\n")
			open++
		}
	}
	if open != api.SessionResidents {
		t.Errorf("%d terminals are open; want %d", open, api.SessionResidents)
	}

	r := harness.Sh("wc -c")
	r.Stdin = make(api.Bytes, 8<<20)
	harness.WantVerdict(t, a.MustRun(t, r), api.OK)
}

// TTY-02: programs at terminals of eight sessions, or residents, seem to wait, and then all compute or write without end, on all
// processors. They get no slot by that, and little processor time from the runs, which have theirs. The control is the same
// without runs: then they use the processors. make test has each attack once and each kind of process once, for half of the
// time.
func TestHostileResidentsLeaveTheRunsAlone(t *testing.T) {
	harness.Alone(t)
	each := 3 * time.Second
	if harness.Long() {
		each *= 2
	}

	for n, tt := range []struct{ name, script string }{
		{"compute", "while :; do :; done"},
		{"write", "yes"},
		{"compute, as a resident", "while :; do :; done"},
		{"write, as a resident", "yes & yes >&2 & exec yes >&4"},
	} {
		if harness.LeftOut(n, 3) {
			continue
		}
		name, script := tt.name, tt.script
		t.Run(name, func(t *testing.T) {
			a := harness.StartAgent(t, "--max-wall", "10m")
			h, err := a.Health(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			var hostile []*typist
			var sessions []api.Session
			for range 8 {
				s := a.NewSession(t, nil)
				sessions = append(sessions, s)
				script := "echo open; read line; echo on; " + script
				if strings.Contains(name, "resident") {
					e := api.Exec{Argv: []string{"/bin/sh", "-c", script}, Control: true}
					hostile = append(hostile, residentIn(t, a, s.ID, e).typist)
				} else {
					hostile = append(hostile, atTerminal(t, a, s.ID, script))
				}
			}
			for _, p := range hostile {
				p.wait("open")
			}
			wantNoSlot(t, a)
			for _, p := range hostile {
				p.press("\n")
				p.wait("on")
			}

			used := func() (sum time.Duration) {
				for _, s := range sessions {
					now, err := a.Session(t.Context(), s.ID)
					if err != nil {
						t.Fatal(err)
					}
					sum += time.Duration(*now.Usage.CPU.Value)
				}
				agent, err := procfs.CPUTime(a.Cmd.Process.Pid)
				if err != nil {
					t.Fatal(err)
				}
				return sum + agent
			}

			alone := used()
			for until := harness.Patience(); used()-alone < time.Second; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(until) {
					t.Fatal("the control: they use no processor where nothing else runs")
				}
			}
			wantNoSlot(t, a)

			before, begun := used(), time.Now()
			var runs sync.WaitGroup
			var ours atomic.Int64
			for range h.Slots {
				runs.Go(func() {
					r := harness.Sh("while :; do :; done")
					r.Limits = api.Limits{CPU: api.Duration(each), Wall: harness.Slowly(120)}
					res, err := a.Run(t.Context(), r)
					if err != nil || res.Verdict != api.CPULimit {
						t.Errorf("a run next to them: %s (%v); want cpu-limit", res.Verdict, err)
						return
					}
					ours.Add(*res.Usage.CPU.Value)
				})
			}
			runs.Wait()

			theirs, runsHad := used()-before, time.Duration(ours.Load())
			t.Logf("the runs used %v, the terminals with the agent %v", runsHad, theirs)

			// The allowance for reading is of time: on a busy machine, on which the runs take longer, it is more of theirs.
			if allowance := time.Since(begun) / 4; theirs > max(runsHad/2, allowance) {
				t.Errorf("the terminals took more than half of what the runs had, and than %v", allowance)
			}
		})
	}
}
