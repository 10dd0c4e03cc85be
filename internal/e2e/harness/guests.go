package harness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A Guest is a shell in a sandbox that executes one line at a time, for as long as a test needs it
// alive.
type Guest struct {
	Name    string // among its arguments, so that the host can find it
	tell    *io.PipeWriter
	answers *bufio.Scanner
	done    chan struct{} // closed when the run has ended
}

var guests atomic.Int64

// Guest starts a guest. It ends with leave, or with the test.
func (a *Agent) Guest(t *testing.T, mode api.Mode) *Guest { return a.GuestFor(t, mode, Seconds(30)) }

// GuestFor starts a guest that may stay for the given wall time.
func (a *Agent) GuestFor(t *testing.T, mode api.Mode, wall api.Duration) *Guest {
	t.Helper()
	in, tell := io.Pipe()
	answers, out := io.Pipe()
	g := &Guest{Name: fmt.Sprintf("guest-%d-%d", os.Getpid(), guests.Add(1)), tell: tell, answers: bufio.NewScanner(answers),
		done: make(chan struct{})}
	r := api.Run{Image: "tiny", Mode: mode, Argv: []string{"/bin/sh", "-c", `while read -r line; do eval "$line" 2>&1; echo .; done`, g.Name}}
	r.Limits.Wall, r.Collect.None = wall, true
	if wall > Seconds(30) { // its cpu time adds up
		r.Limits.CPU = wall
	}

	ctx := context.WithoutCancel(t.Context()) // the test's context ends before its cleanups do
	go func() {                               // joined by leave
		defer close(g.done)
		res, err := a.RunStream(ctx, r, in, out, nil)
		out.CloseWithError(err)
		in.CloseWithError(io.ErrClosedPipe)
		if err != nil || res.Verdict != api.OK {
			t.Errorf("guest: verdict %s, %v", res.Verdict, err)
		}
	}()

	t.Cleanup(g.Leave)
	return g
}

// RunLine executes one line of shell and returns what it printed.
func (g *Guest) RunLine(t *testing.T, line string) string {
	t.Helper()
	if _, err := io.WriteString(g.tell, line+"\n"); err != nil {
		t.Fatalf("%s: %v", line, err)
	}

	var out strings.Builder
	for g.answers.Scan() {
		if g.answers.Text() == "." {
			return out.String()
		}
		out.WriteString(g.answers.Text() + "\n")
	}

	t.Fatalf("%s: the guest is gone: %v", line, g.answers.Err())
	return ""
}

// Leave ends the run and waits for its end.
func (g *Guest) Leave() {
	g.tell.Close()
	<-g.done
}
