package e2e

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A staying run is one under way until it is let go.
type staying struct {
	t    testing.TB
	hold *io.PipeWriter
	said *notify
	done chan api.Result
	pid  int // on the host
}

// stay starts a run of a program that prints a word when it is as far as the test
// wants it and ends with its stdin. Its argv[0] must be of this test alone.
func (a *agent) stay(t testing.TB, r api.Run) *staying {
	t.Helper()
	in, hold := io.Pipe()
	s := &staying{t: t, hold: hold, said: &notify{came: make(chan struct{})}, done: make(chan api.Result, 1)}
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

// leave lets the run end.
func (s *staying) leave() api.Result {
	s.t.Helper()
	s.hold.Close()
	res := <-s.done
	wantVerdict(s.t, res, api.OK)
	return res
}

// stayer is a program for stay, under a name that no other process has; its
// arguments are shell commands to be done first.
func stayer(t testing.TB, name string) (api.File, string) {
	name = fmt.Sprintf("%s-%d", name, os.Getpid())
	f := compileC(t, name, `#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int c, char **v) { for (int i = 1; i < c; i++) system(v[i]); puts("begun"); fflush(stdout); char b; while (read(0, &b, 1) > 0); return 0; }`)
	return f, "./" + name
}
