package e2e

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A heldRun run is one that runs until leave is called.
type heldRun struct {
	t    testing.TB
	hold *io.PipeWriter
	said *firstWriteWriter
	done chan api.Result
	pid  int // on the host
}

// startHeldRun starts a run of a program that prints a word when it has reached the point that the test
// needs, and ends with its stdin. Only this test may use its argv[0].
func (a *agent) startHeldRun(t testing.TB, r api.Run) *heldRun {
	t.Helper()
	in, hold := io.Pipe()
	s := &heldRun{t: t, hold: hold, said: &firstWriteWriter{came: make(chan struct{})}, done: make(chan api.Result, 1)}
	go func() { // joined by leave
		defer close(s.done)
		res, err := a.RunStream(t.Context(), r, in, s.said, nil)
		if err != nil {
			t.Errorf("run: %v", err)
			return
		}
		s.done <- res
	}()

	select {
	case <-s.said.came:
	case res := <-s.done:
		t.Fatalf("the run has ended: %+v\n%s", res, a.log)
	case <-time.After(time.Until(patience())):
		t.Fatalf("the run says nothing\n%s", a.log)
	}

	s.pid = findProcess(t, r.Argv[0])
	return s
}

// release lets the run end.
func (s *heldRun) release() api.Result {
	s.t.Helper()
	s.hold.Close()
	res := <-s.done
	wantVerdict(s.t, res, api.OK)
	return res
}

// holdProgram is a program for stay, under a unique name; its arguments are shell commands to execute
// first.
func holdProgram(t testing.TB, name string) (api.File, string) {
	name = fmt.Sprintf("%s-%d", name, os.Getpid())
	f := compileC(t, name, `#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int c, char **v) { for (int i = 1; i < c; i++) system(v[i]); puts("begun"); fflush(stdout); char b; while (read(0, &b, 1) > 0); return 0; }`)
	return f, "./" + name
}
