package pool

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// session has a caller wait for room for a session with so much memory. There are as many places as b.places says;
// zero: enough.
func (b *bench) session(ctx context.Context, name string, wait time.Duration, memory api.Size) {
	b.all.Go(func() {
		err := b.p.AwaitSession(ctx, wait, SessionWant{Memory: memory, Take: func() (func(), error) {
			if b.places > 0 && b.p.sessions.living == b.places {
				return nil, api.Fail(api.CodeSessionsFull, "there are %d sessions", b.places)
			}
			return func() {}, nil
		}})
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.errs[name] = err; err == nil {
			b.served = append(b.served, name)
		}
	})
	synctest.Wait()
}

func (b *bench) endsSession(name string, memory api.Size) {
	if !slices.Contains(b.served, name) {
		b.Fatalf("there is no session %s", name)
	}
	b.p.SessionEnded(memory, time.Second)
	synctest.Wait()
}

// New sessions get places and memory in the order in which they came, when others end.
func TestSessionsWaitInOrder(t *testing.T) {
	for name, places := range map[string]int{"for a place": 2, "for memory": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 1)
				b.places = places
				b.session(t.Context(), "s0", time.Minute, 50)
				b.session(t.Context(), "s1", time.Minute, 50)
				for i := range 98 {
					b.session(t.Context(), fmt.Sprint("s", i+2), time.Minute, 50)
				}
				for i := range 100 {
					b.endsSession(fmt.Sprint("s", i), 50)
				}

				for i, name := range b.served {
					if name != fmt.Sprint("s", i) {
						t.Fatalf("served in this order: %v", b.served)
					}
				}
				if b.all.Wait(); len(b.served) != 100 || b.p.reserved != 0 || b.p.sessions.memory != 0 || len(b.p.line) != 0 {
					t.Errorf("%d were served; %v is reserved, %d are in the line", len(b.served), b.p.reserved, len(b.p.line))
				}
			})
		})
	}
}

// A session that waits keeps nothing from those behind it that need less: neither slots, nor memory, nor its place.
func TestASessionThatWaitsIsInNobodysWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2)
		b.session(t.Context(), "lives", time.Minute, 50)
		b.session(t.Context(), "large", time.Minute, 60)
		for i := range 2 * maxPassed {
			name := string(rune('A' + i))
			b.asks(t.Context(), name, patient, 20, 0)
			b.ends(name, 0)
			b.session(t.Context(), "s"+name, time.Minute, 20)
			b.endsSession("s"+name, 20)
		}
		if len(b.served) != 1+4*maxPassed {
			t.Errorf("served: %v; errors %v", b.served, b.errs)
		}

		b.endsSession("lives", 50)
		b.wants("lives " + passing(2*maxPassed) + "large")
		b.all.Wait()
	})
}

func passing(n int) (names string) {
	for i := range n {
		names += string(rune('A'+i)) + " s" + string(rune('A'+i)) + " "
	}
	return names
}

// Runs that come one after another do not keep memory from a session that waits for it: after some of them, it is next.
// Execs, whose memory is reserved, have their slots meanwhile.
func TestRunsDoNotStarveASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3)
		b.asks(t.Context(), "long", patient, 50, 0)
		b.session(t.Context(), "session", time.Minute, 60)
		for i := range maxPassed {
			name := string(rune('A' + i))
			b.asks(t.Context(), name, patient, 10, 0)
			b.ends(name, 0)
		}

		b.asks(t.Context(), "late", patient, 10, 0)
		b.asks(t.Context(), "exec", Turn{Kind: Exec}, 0, 0)
		if b.leases["late"] != nil || b.leases["exec"] == nil {
			t.Errorf("served: %v", b.served)
		}

		b.ends("long", 0)
		if !slices.Contains(b.served, "session") || b.leases["late"] == nil {
			t.Errorf("served: %v", b.served)
		}
		b.all.Wait()
	})
}

// Sessions that come one after another do not keep a run from memory that it waits for: it is in the same line.
func TestSessionsDoNotStarveARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.session(t.Context(), "s0", time.Minute, 90)
		b.asks(t.Context(), "run", patient, 80, 0)
		b.session(t.Context(), "s1", time.Minute, 90)
		b.endsSession("s0", 90)
		b.wants("s0 run")
		b.ends("run", 0)
		b.wants("s0 run s1")
		b.all.Wait()
	})
}

// A session waits no longer than it says, and leaves nothing. So it is if its caller leaves, or if too many wait. What
// is refused for good is refused at once.
func TestASessionLeavesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.places = 1
		b.p.sessions.life = time.Second * 4
		b.session(t.Context(), "lives", 0, 10)
		begun := time.Now()
		ctx, leave := context.WithCancel(t.Context())
		for i := range maxWaiting - 1 {
			b.session(ctx, fmt.Sprint(i), time.Minute, 10)
		}

		b.session(t.Context(), "short", 2*time.Second, 10)
		b.session(t.Context(), "too many", time.Minute, 10)
		b.session(t.Context(), "never", time.Minute, 101)
		b.asks(t.Context(), "run", patient, 10, 0) // those that wait are no runs
		if err := b.errs["never"]; !api.HasCode(err, api.CodeBusy) {
			t.Errorf("one that never fits, while too many wait: %v", err)
		}
		if b.leases["run"] == nil {
			t.Errorf("a run: %v", b.errs["run"])
		}
		if e := api.AsError(b.errs["too many"]); e.Code != api.CodeBusy || !e.RetrySafe || e.RetryAfter != time.Minute {
			t.Errorf("one too many: %+v", e)
		}

		leave()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if e := api.AsError(b.errs["short"]); e.Code != api.CodeSessionsFull || !e.RetrySafe || e.RetryAfter != 4*time.Second {
			t.Errorf("after its wait: %+v", e)
		}
		if e := api.AsError(b.errs["0"]); e.Code != api.CodeStopping {
			t.Errorf("the caller left: %+v", e)
		}

		b.session(t.Context(), "never again", time.Minute, 101)
		if err := b.errs["never again"]; !api.HasCode(err, api.CodeAboveCeiling) {
			t.Errorf("one that never fits: %v", err)
		}

		b.all.Wait()
		if took := time.Since(begun); took != 2*time.Second || len(b.p.line) != 0 || b.p.reserved != 20 {
			t.Errorf("after %v: %d in the line, %v reserved", took, len(b.p.line), b.p.reserved)
		}
	})
}

// Every kind of request that needs memory waits for it in the line, gets it in its turn from whoever has it, and leaves
// nothing if its caller does not stay.
func TestAllWaitForMemory(t *testing.T) {
	type caller func(b *bench, ctx context.Context, name string)
	turn := func(k Kind, size api.Size, above int64) caller {
		return func(b *bench, ctx context.Context, name string) {
			b.asks(ctx, name, Turn{Kind: k, Wait: time.Minute}, size, above)
		}
	}
	for name, tt := range map[string]struct {
		asks    caller
		ofAgent bool // it needs memory of the agent alone
	}{
		"a run, a build or a checker": {asks: turn(First, 60, 0)},
		"a stage after another":       {asks: turn(Stage, 60, 0)},
		"a further test":              {asks: turn(Test, 60, 0)},
		"an exec":                     {asks: turn(Exec, 0, 60), ofAgent: true},
		"a run with large results":    {asks: turn(First, 1, 60), ofAgent: true},
		"a session": {asks: func(b *bench, ctx context.Context, name string) {
			b.session(ctx, name, time.Minute, 60)
		}},
	} {
		for _, holder := range []string{"a run", "a session"} {
			if tt.ofAgent && holder == "a session" {
				continue // it has none of it
			}
			t.Run(name+" for memory of "+holder, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 2)
					if holder == "a run" {
						b.asks(t.Context(), "has", patient, 50, 50)
					} else {
						b.session(t.Context(), "has", 0, 50)
					}

					gone, leave := context.WithCancel(t.Context())
					tt.asks(b, gone, "leaves")
					tt.asks(b, t.Context(), "stays")
					b.wants("has")
					leave()
					synctest.Wait()
					if holder == "a run" {
						b.ends("has", 50)
					} else {
						b.endsSession("has", 50)
					}
					b.wants("has stays")
					if b.all.Wait(); len(b.p.line) != 0 {
						t.Errorf("%d are in the line", len(b.p.line))
					}
				})
			})
		}
	}
}
