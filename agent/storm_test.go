package agent_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// held counts the goroutines and descriptors, in which a leak would show.
func held(t *testing.T) (goroutines, descriptors int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return goruntime.NumGoroutine(), len(fds)
}

func TestAStormOfCancelsLeavesNothing(t *testing.T) { // API-16, AGT-04
	socket, _ := serve(t, agent.Config{Runner: runner(func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
		if s.Attach == nil {
			<-ctx.Done()
			return api.Result{Verdict: api.Canceled}, nil
		}

		in, stdin, err := os.Pipe()
		if err != nil {
			return api.Result{}, err
		}
		defer in.Close()

		s.Attach(api.Attached{Stdin: stdin})
		for ctx.Err() == nil { // a program that writes and never reads
			if _, err := s.Stdout.Write(make([]byte, 100_000)); err != nil {
				break
			}
		}

		return api.Result{Verdict: api.Canceled}, nil
	})})
	if _, err := client.New(socket).Health(t.Context()); err != nil {
		t.Fatal(err)
	}

	goroutines, descriptors := held(t)
	body := `{"image":"tiny","argv":["true"]}`
	for i := range 200 {
		nc, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}

		up := ""
		if i%2 == 0 {
			up = upgrade
		}

		fmt.Fprintf(nc, "POST /v1/runs HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", up, len(body), body)

		switch i % 6 {
		case 0: // wait for the program's first output
			io.ReadFull(nc, make([]byte, 200))
		case 2: // leave it with stdin that nobody reads
			nc.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
			frame := make([]byte, api.FrameHeader+api.FrameMax)
			api.PutFrameHeader(frame, api.FrameStdin, api.FrameMax)
			for err := error(nil); err == nil; {
				_, err = nc.Write(frame)
			}
		case 3:
			time.Sleep(time.Millisecond)
		}

		nc.Close()
	}

	deadline := time.Now().Add(time.Minute)
	for {
		g, d := held(t)
		if g <= goroutines+1 && d <= descriptors+1 { // those of the runtime's poller may vary
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines and %d descriptors; %d and %d before", g, d, goroutines, descriptors)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
