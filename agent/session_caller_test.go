package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// counted has sessions that are made at once, whether or not their caller stays.
type counted struct {
	one
	mu      sync.Mutex
	n       int
	living  map[string]bool // guarded by mu
	changed chan struct{}
	making  func(context.Context, time.Duration)
}

func (o *counted) Create(ctx context.Context, ask api.SessionRequest, wait time.Duration,
	c api.Caller) (api.Session, error) {
	if o.making != nil {
		o.making(ctx, wait)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n++
	id := fmt.Sprint("s", o.n)
	o.living[id] = true
	return api.Session{ID: id, Idle: 1, Life: 1}, nil
}

func (o *counted) Delete(id string, c api.Caller) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.living[id] {
		return api.Refuse(api.CodeNotFound, "no session has the id %q", id)
	}
	delete(o.living, id)
	o.changed <- struct{}{}
	return nil
}

func (o *counted) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.living)
}

// A session whose caller leaves while it waits or is being made is not left, even if it was made.
func TestASessionWhoseCallerLeftIsEnded(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	o := &counted{one: one{t: t}, living: map[string]bool{}, changed: make(chan struct{}, 1)}
	o.making = func(ctx context.Context, wait time.Duration) {
		if wait != 7*time.Second {
			t.Errorf("it waits %v; want the time that the caller says", wait)
		}
		leave()
		<-ctx.Done() // the agent notices it
	}
	socket, _ := serve(t, agent.Config{Sessions: o})
	c := client.New(socket)
	defer c.Close()

	_, err := c.CreateSession(client.WithWait(ctx, 7*time.Second), api.SessionRequest{Image: "tiny"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	<-o.changed
	if n := o.count(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// Whenever a caller leaves, it has its session, or the session is ended.
func TestNoSessionIsLeftWhenCallersLeave(t *testing.T) {
	o := &counted{one: one{t: t}, living: map[string]bool{}, changed: make(chan struct{}, 1000)}
	socket, _ := serve(t, agent.Config{Sessions: o})
	c := client.New(socket)
	defer c.Close()

	had := 0
	for range 1000 {
		ctx, leave := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(rand.Int64N(int64(600*time.Microsecond))), leave)
		_, err := c.CreateSession(ctx, api.SessionRequest{Image: "tiny"})
		if err == nil {
			had++
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		timer.Stop()
		leave()
	}

	t.Logf("%d of 1000 callers stayed; %d sessions were made", had, o.n)
	for o.count() > had {
		select {
		case <-o.changed:
		case <-time.After(time.Minute):
			t.Fatalf("%d sessions are left; %d callers have one", o.count(), had)
		}
	}
}

// A session that waits for room does not delay the end of the agent.
func TestAWaitingSessionDoesNotDelayTheStop(t *testing.T) {
	waits := make(chan struct{}, 1)
	socket, stop := serve(t, agent.Config{GracePeriod: time.Hour,
		Sessions: &creating{one: one{t: t}, begun: waits}})
	c := client.New(socket)
	defer c.Close()

	answer := make(chan error, 1)
	go func() {
		_, err := c.CreateSession(client.WithWait(t.Context(), time.Minute), api.SessionRequest{Image: "tiny"})
		answer <- err
	}()
	<-waits
	stop()
	if err := <-answer; !api.HasCode(err, api.CodeStopping) {
		t.Errorf("error %v", err)
	}
}
