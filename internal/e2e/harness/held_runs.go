package harness

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A HeldRun run is one that runs until leave is called.
type HeldRun struct {
	t    testing.TB
	hold *io.PipeWriter
	Said *FirstWriteWriter
	done chan api.Result
	Pid  int // on the host
}

// StartHeldRun starts a run of a program that prints a word when it has reached the point that the test
// needs, and ends with its stdin. Only this test may use its argv[0].
func (a *Agent) StartHeldRun(t testing.TB, r api.Run) *HeldRun {
	t.Helper()
	in, hold := io.Pipe()
	s := &HeldRun{t: t, hold: hold, Said: &FirstWriteWriter{Came: make(chan struct{})}, done: make(chan api.Result, 1)}
	go func() { // joined by leave
		defer close(s.done)
		res, err := a.RunStream(t.Context(), r, in, s.Said, nil)
		if err != nil {
			t.Errorf("run: %v", err)
			return
		}
		s.done <- res
	}()

	select {
	case <-s.Said.Came:
	case res := <-s.done:
		t.Fatalf("the run has ended: %+v\n%s", res, a.Log)
	case <-time.After(time.Until(Patience())):
		t.Fatalf("the run says nothing\n%s", a.Log)
	}

	s.Pid = FindProcess(t, r.Argv[0])
	return s
}

// Release lets the run end.
func (s *HeldRun) Release() api.Result {
	s.t.Helper()
	s.hold.Close()
	res := <-s.done
	WantVerdict(s.t, res, api.OK)
	return res
}

// HoldProgram is a program for stay, under a unique name; its arguments are shell commands to execute
// first.
func HoldProgram(t testing.TB, name string) (api.File, string) {
	name = fmt.Sprintf("%s-%d", name, os.Getpid())
	f := CompileC(t, name, `#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int c, char **v) { for (int i = 1; i < c; i++) system(v[i]); puts("begun"); fflush(stdout); char b; while (read(0, &b, 1) > 0); return 0; }`)
	return f, "./" + name
}
