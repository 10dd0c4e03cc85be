package agent

import (
	"errors"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// An input of a program that reads nothing holds up no signal; what exceeds the window, or comes after the end, is refused.
func TestInputWithWindow(t *testing.T) {
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()

	got := make(chan api.Signal, 1)
	reported := make(chan int, 100)
	i := &input{
		stdin:   newInflow(api.FrameStdin, stdin, func(n int) { reported <- n }),
		control: newInflow(api.FrameControl, nil, func(int) {}),
		signal:  func(s api.Signal) error { got <- s; return s.Validate() },
	}
	var writing sync.WaitGroup
	writing.Go(i.stdin.write)
	defer writing.Wait()
	defer i.stop()

	take := func(kind api.FrameType, payload []byte) error { return i.take(kind, payload) }
	full := make([]byte, api.Window)
	sent := 0
	for range 100 { // the pipe takes what it can, and then the window is full
		if err := take(api.FrameStdin, full[:api.Window/2]); err != nil {
			if !errors.Is(err, errWindow) {
				t.Fatal(err)
			}
			break
		}
		sent += api.Window / 2
		for done := false; !done; {
			select {
			case <-reported:
			default:
				done = true
			}
		}
	}
	if err := take(api.FrameSignal, []byte("SIGINT")); err != nil || <-got != "SIGINT" {
		t.Errorf("a signal behind input that is not read: %v", err)
	}

	for name, tt := range map[string]struct {
		kind    api.FrameType
		payload string
	}{
		"control of a program without": {api.FrameControl, "x"},
		"its end":                      {api.FrameControl, ""},
		"a size without a terminal":    {api.FrameResize, "{}"},
		"no signal":                    {api.FrameSignal, "SIGSEGV"},
		"a cancel":                     {api.FrameCancel, ""},
		"output":                       {api.FrameStdout, ""},
		"what was taken":               {api.FrameTaken, string(api.Taken(api.FrameStdin, 1))},
	} {
		if err := take(tt.kind, []byte(tt.payload)); err == nil {
			t.Errorf("%s is taken", name)
		}
		for len(got) > 0 {
			<-got
		}
	}

	if err := take(api.FrameStdinEnd, nil); err != nil {
		t.Error(err)
	}
	if err := take(api.FrameStdin, []byte("x")); err == nil {
		t.Error("input after its end is taken")
	}
	if all, err := io.ReadAll(in); err != nil || len(all) != sent {
		t.Errorf("the program got %d bytes, %v; want %d and the end", len(all), err, sent)
	}
}

// A client that sends more as soon as it may never exceeds the window.
func TestWindowIsFreeWhenItIsReported(t *testing.T) {
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()

	reported := make(chan int)
	f := newInflow(api.FrameStdin, stdin, func(n int) { reported <- n })
	var tasks sync.WaitGroup
	tasks.Go(f.write)
	tasks.Go(func() { _, _ = io.Copy(io.Discard, in) })
	free := api.Window
	for range 500 {
		if err := f.put(make([]byte, free)); err != nil {
			t.Fatal(err)
		}
		free = <-reported
	}
	f.stop()
	tasks.Wait()
}

// After the program has closed a pipe, the client may fill the window and no more, and is not canceled for that.
func TestInputOfAClosedPipe(t *testing.T) {
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in.Close()

	f := newInflow(api.FrameStdin, stdin, func(int) { t.Error("it was taken") })
	if err := f.put([]byte("x")); err != nil {
		t.Error(err)
	}
	f.write() // until the file is closed
	if err := f.put(make([]byte, api.Window-1)); err != nil {
		t.Error(err)
	}
	if err := f.put([]byte("x")); !errors.Is(err, errWindow) {
		t.Errorf("more than the window: %v", err)
	}
}
