package jetstream_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/batch/jetstream"
)

// An engine loses its data while results are read, and another call creates its streams again before the reader
// notices: the results in the new streams, whose numbers begin at one again, come as well.
func TestResultsComeFromStreamsThatWereCreatedAgain(t *testing.T) {
	_, e := start(t, jetstream.ServerConfig{})
	out := make(chan batch.Message)
	ctx, cancel := context.WithCancel(t.Context())
	var follower sync.WaitGroup
	follower.Go(func() { e.Results(ctx, "b", out) })
	defer follower.Wait()
	defer cancel()

	source := e.Source(false)
	judge := func(index int64) {
		if err := e.Release(ctx, message(index)); err != nil {
			t.Fatal(err)
		}
		d, err := source.Next(ctx, nothing)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Done(ctx, []byte("r")); err != nil {
			t.Fatal(err)
		}
	}

	wait := func(index int64) (lost bool) {
		for {
			select {
			case m := <-out:
				if lost = lost || m.Body == nil; m.Body != nil && m.Index == index {
					return lost
				}
			case <-time.After(time.Minute):
				t.Fatalf("result %d does not come", index)
			}
		}
	}

	for i := range int64(5) {
		judge(i)
		wait(i)
	}

	if err := errors.Join(e.Wipe(ctx), e.Prepare(ctx)); err != nil {
		t.Fatal(err)
	}

	judge(5)
	if !wait(5) {
		t.Error("nobody was told that the engine had lost something")
	}
}
