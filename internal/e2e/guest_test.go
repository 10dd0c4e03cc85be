package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A guest is a shell in a sandbox that executes one line at a time, for as long as a test needs it
// alive.
type guest struct {
	name    string // among its arguments, so that the host can find it
	tell    *io.PipeWriter
	answers *bufio.Scanner
	done    chan struct{} // closed when the run has ended
}

var guests atomic.Int64

// guest starts a guest. It ends with leave, or with the test.
func (a *agent) guest(t *testing.T, mode api.Mode) *guest { return a.guestFor(t, mode, seconds(30)) }

// guestFor starts a guest that may stay for the given wall time.
func (a *agent) guestFor(t *testing.T, mode api.Mode, wall api.Duration) *guest {
	t.Helper()
	in, tell := io.Pipe()
	answers, out := io.Pipe()
	g := &guest{name: fmt.Sprintf("guest-%d-%d", os.Getpid(), guests.Add(1)), tell: tell, answers: bufio.NewScanner(answers),
		done: make(chan struct{})}
	r := api.Run{Image: "tiny", Mode: mode, Argv: []string{"/bin/sh", "-c", `while read -r line; do eval "$line" 2>&1; echo .; done`, g.name}}
	r.Limits.Wall, r.Collect.None = wall, true
	if wall > seconds(30) { // its cpu time adds up
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

	t.Cleanup(g.leave)
	return g
}

// runLine executes one line of shell and returns what it printed.
func (g *guest) runLine(t *testing.T, line string) string {
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

// leave ends the run and waits for its end.
func (g *guest) leave() {
	g.tell.Close()
	<-g.done
}

// proc reads a file below the guest's directory in the host's /proc. The guest must have answered
// before: until then the process may not have executed its program yet.
func (g *guest) proc(t *testing.T, file string) string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}

	for _, cmdline := range all {
		args, err := os.ReadFile(cmdline)
		if err != nil || !slices.Contains(strings.Split(string(args), "\x00"), g.name) {
			continue // another process, or it ended meanwhile
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(cmdline), file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	t.Fatalf("the host has no process %s", g.name)
	return ""
}

// uid is the guest's user id on the host.
func (g *guest) uid(t *testing.T) int {
	t.Helper()
	_, after, _ := strings.Cut(g.proc(t, "status"), "\nUid:")
	var ids [4]int
	if n, err := fmt.Sscan(after, &ids[0], &ids[1], &ids[2], &ids[3]); n != 4 || ids != [4]int{ids[0], ids[0], ids[0], ids[0]} {
		t.Fatalf("ids %v, %v; want one of them four times", ids, err)
	}
	return ids[0]
}
