package sessions

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/processes"
	"github.com/brig-sandbox/brig/service/quota"
)

// testProcess makes a process whose output may have the given memory beyond what is free.
func testProcess(t *testing.T, memory int64, detached bool) (*process, context.Context) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	over := make(chan struct{})
	p := &process{pid: 1, owner: "ann", over: over, cancel: cancel, changed: make(chan struct{}),
		life: processes.Life{Detached: detached}, input: newProcessInput(over),
		memory: quota.New(quota.Shared(memory)).Reserve("ann", core.LargeResponseMin),
		share:  quota.New(quota.Shared(1<<30)).Reserve("ann", core.LargeResponseMin)}
	if !p.reserveRing() {
		t.Fatal("no memory for a ring")
	}
	return p, ctx
}

// API-32: a program that writes without end, and that nobody reads, fills no more than a ring; with little memory left, no
// more than that. It is not held back.
func TestProcessOutputIsBounded(t *testing.T) {
	for name, tt := range map[string]struct{ memory, most int64 }{
		"memory": {1 << 30, processes.MaxRing}, "little memory": {100 << 10, 100 << 10}, "none": {0, core.LargeResponseMin},
	} {
		p, ctx := testProcess(t, tt.memory, true)
		out := p.writer(ctx, api.ProcessStdout)
		chunk := []byte(strings.Repeat("x", 10_000))
		for range 2 * processes.MaxRing / len(chunk) {
			if _, err := out.Write(chunk); err != nil {
				t.Fatal(err)
			}
		}
		if got := int64(p.ring.Size()); got > tt.most || got < 16<<10 {
			t.Errorf("%s: the ring has %d bytes; want at most %d", name, got, tt.most)
		}
		if p.release(); p.memory.Size() != 0 || p.share.Size() != 0 {
			t.Errorf("%s: memory is reserved after the end", name)
		}
	}
}

// A client that is attached gets every byte in order, however slowly it reads; who is taken over hears of it, and who
// comes next gets the rest.
func TestAttachedClientsLoseNothing(t *testing.T) {
	p, ctx := testProcess(t, 0, true) // a small ring
	first, err := p.attach(0, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.attach(0, false); !api.HasCode(err, api.CodeConflict) {
		t.Errorf("a second client: %v", err)
	}

	const lines = 50_000
	var writing sync.WaitGroup
	writing.Go(func() {
		out, errs := p.writer(ctx, api.ProcessStdout), p.writer(ctx, api.ProcessStderr)
		for i := range lines {
			to := out
			if i%3 == 0 {
				to = errs
			}
			if _, err := io.WriteString(to, "0123456789"[i%10:i%10+1]); err != nil {
				t.Error(err)
				return
			}
		}
		p.finish(api.Result{Verdict: api.OK}, nil)
	})

	var all strings.Builder
	read := func(a *attachment, until int) {
		for all.Len() < until {
			out, err := p.next(ctx, a, 777)
			if err != nil || out.Gap != 0 {
				t.Fatalf("%+v, %v after %d bytes", out, err, all.Len())
			}
			for _, piece := range out.Pieces {
				all.Write(piece.Data)
			}
		}
	}
	read(first, lines/3)

	second, err := p.attach(int64(all.Len()), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.next(ctx, first, 1); !errors.Is(err, errTakenOver) {
		t.Errorf("who was taken over: %v", err)
	}
	p.leave(first)
	read(second, lines)
	writing.Wait()
	if out, err := p.next(ctx, second, 1); err != nil || !out.Ended {
		t.Errorf("at the end: %+v, %v", out, err)
	}
	p.leave(second)
	if ctx.Err() != nil {
		t.Error("a detached process has ended with its client")
	}
	for i, c := range all.String() {
		if byte(c) != "0123456789"[i%10] {
			t.Fatalf("byte %d is %q", i, c)
		}
	}
}

// A process that is not detached ends with its last client; one that nobody has claimed ends, too.
func TestUndetachedProcessesEnd(t *testing.T) {
	p, ctx := testProcess(t, 0, false)
	a, err := p.attach(0, false)
	if err != nil {
		t.Fatal(err)
	}
	p.endIfUnclaimed()
	if ctx.Err() != nil {
		t.Fatal("a process with a client has ended")
	}
	if p.leave(a); ctx.Err() == nil {
		t.Error("a process without a client goes on")
	}
	p, ctx = testProcess(t, 0, false)
	if p.endIfUnclaimed(); ctx.Err() == nil {
		t.Error("a process that nobody has claimed goes on")
	}
}

// Input arrives whole and in the order of the requests; after the end of file or of the program nothing is taken.
func TestProcessInput(t *testing.T) {
	p, ctx := testProcess(t, 0, true)
	in := p.input
	text := strings.Repeat("0123456789", 10_000)
	var writing sync.WaitGroup
	for range 4 {
		writing.Go(func() {
			if n, err := in.write(ctx, []byte(text)); n != len(text) || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	go func() { // ends with the reading
		writing.Wait()
		in.end()
	}()
	got, err := io.ReadAll(in)
	if err != nil || string(got) != strings.Repeat(text, 4) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if n, err := in.write(ctx, []byte("x")); n != 0 || !errors.Is(err, errInputEnded) {
		t.Errorf("after the end: %d, %v", n, err)
	}

	p, ctx = testProcess(t, 0, true)
	short, cancel := context.WithCancel(ctx)
	cancel()
	if n, err := p.input.write(short, []byte("x")); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("nobody reads: %d, %v", n, err)
	}
	p.finish(api.Result{}, nil)
	if _, err := p.input.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after the program: %v", err)
	}
	if n, err := p.input.write(ctx, []byte("x")); n != 0 || !errors.Is(err, errInputEnded) {
		t.Errorf("after the program: %d, %v", n, err)
	}
	if err := sendTo(ctx, p, make(chan api.Signal), api.Signal("SIGINT")); !api.HasCode(err, api.CodeConflict) {
		t.Errorf("a signal after the program: %v", err)
	}
}
