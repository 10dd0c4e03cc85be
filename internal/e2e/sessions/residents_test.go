package sessions

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A partner talks with a resident.
type partner struct {
	*typist
	signals  chan api.Signal
	requests *io.PipeWriter // what the program reads from descriptor 3
}

// residentIn starts a resident in a session. All that it writes is in one text, in the order of arrival; what comes by
// control is between < and >.
func residentIn(t *testing.T, a *harness.Agent, id string, e api.Exec) *partner {
	t.Helper()
	p := &partner{signals: make(chan api.Signal)}
	requests, send := io.Pipe()
	p.requests = send
	e.Resident = true
	p.typist = typeAt(t, func(stdin io.Reader, events client.Events) (api.Result, error) {
		defer requests.Close()
		events.Signals, events.Requests = p.signals, requests
		events.Control = writerFunc(func(b []byte) (int, error) {
			_, err := fmt.Fprintf(p.typist, "<%s>", b)
			return len(b), err
		})
		return a.ExecEvents(t.Context(), id, e, stdin, events)
	})
	return p
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (p *partner) signal(s api.Signal) {
	p.t.Helper()
	select {
	case p.signals <- s:
	case <-p.done:
		p.t.Errorf("%s: the program has ended: %q", s, p.text())
	}
}

// A resident reads stdin as it is sent, has a separate stderr, gets signals for its whole group and no other, and its end
// of file.
func TestResident(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	sh := func(script string) *partner {
		return residentIn(t, a, s.ID, api.Exec{Argv: []string{"/bin/sh", "-c", script}})
	}

	p := sh("test -t 0 && echo tty; while read line; do echo got $line; done; echo end >&2; exit 3")
	p.press("one\n")
	p.wait("got one\n")
	wantNoSlot(t, a)
	p.press("two\n")
	p.wait("got two\n")
	p.keys.Close()
	p.wait("end\n")
	if res := p.end(); res.Verdict != api.Nonzero || res.ExitCode != 3 || strings.Contains(p.text(), "tty") {
		t.Errorf("%s, exit code %d, %q", res.Verdict, res.ExitCode, p.text())
	}

	neighbour := sh("trap 'echo hit' INT TERM HUP USR1; echo up; while :; do sleep 1000 & wait; done")
	neighbour.wait("up\n")
	for _, signal := range []api.Signal{"SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT"} {
		name := strings.TrimPrefix(string(signal), "SIG")
		one := sh("trap 'echo caught " + name + "; exit 0' " + name + "; echo up; sleep 1000 & wait; wait")
		one.wait("up\n")
		one.signal(signal)
		one.wait("caught " + name + "\n")
		harness.WantVerdict(t, one.end(), api.OK)
	}

	stopped := sh("echo $$; while read line; do echo got $line; done")
	stopped.wait("\n")
	pid := strings.TrimSpace(stopped.text())
	stopped.signal("SIGSTOP")
	for until := harness.Patience(); !strings.Contains(string(a.Shell(t, s.ID, "cat /proc/"+pid+"/stat").Stdout), ") T "); {
		if time.Now().After(until) {
			t.Fatal("SIGSTOP has not stopped it")
		}
	}
	stopped.press("later\n")
	stopped.signal("SIGCONT")
	stopped.wait("got later\n")
	stopped.signal("SIGKILL")
	if res := stopped.end(); res.Verdict != api.Signaled || res.Signal != 9 {
		t.Errorf("after SIGKILL: %s by %d", res.Verdict, res.Signal)
	}

	if strings.Contains(neighbour.text(), "hit") {
		t.Error("a signal has reached another program of the session")
	}
	neighbour.signal("SIGUSR1")
	neighbour.wait("hit\n")
	neighbour.signal("SIGKILL")
	neighbour.end()
}

// TTY-08: what a program does not read keeps no signal from it.
func TestSignalsPassUnreadInput(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	for name, tty := range map[string]*api.TTY{"pipes": nil, "a terminal": {}} {
		p := residentIn(t, a, s.ID, api.Exec{Argv: []string{"/bin/sh", "-c", "trap 'echo caught; exit' INT; echo up; while :; do :; done"},
			TTY: tty})
		p.wait("up")
		full := make(chan struct{})
		go func() { // ends with the program, which ends the reading of stdin
			defer close(full)
			_, _ = p.keys.Write(bytes.Repeat([]byte("x\n"), 1<<20))
		}()
		p.signal("SIGINT")
		p.wait("caught")
		harness.WantVerdict(t, p.end(), api.OK)
		<-full
		t.Log(name)
	}
}

// A signal at a terminal is for the foreground, as a key is.
func TestSignalOfATerminal(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	p := residentIn(t, a, s.ID, api.Exec{Argv: []string{"/bin/sh", "-i"}, TTY: &api.TTY{}})
	for _, signal := range []api.Signal{"SIGINT", "SIGTERM", "SIGUSR1"} {
		p.press("sh -c 'echo wai''ting; exec sleep 1000'; echo status $?\n")
		p.wait("waiting\r\n")
		p.signal(signal)
		if signal == "SIGINT" { // which ends the line, too
			p.press("echo status $?\n")
		}
		p.wait("\nstatus 1")
	}
	p.press("exit\n")
	p.end()
}

// Whatever a caller sends instead of a signal ends the exec, and reaches nothing.
func TestNoSignal(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	for _, none := range []api.Signal{"", "SIGSEGV", "INT", "9", "-1", "SIGRTMIN"} {
		p := residentIn(t, a, s.ID, api.Exec{Argv: []string{"sleep", "1000"}})
		p.signal(none)
		harness.WantVerdict(t, p.end(), api.Canceled)
	}
}

// The order of control and output: a message arrives after all that was written before it, however much that is, from
// whichever process, and while another one writes without end.
func TestControl(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, func(s *api.SessionRequest) { s.Limits.Memory = 256 * api.MiB })
	sh := func(script string) *partner {
		return residentIn(t, a, s.ID, api.Exec{Argv: []string{"/bin/sh", "-c", script}, Control: true})
	}

	echo := sh("while read line <&3; do echo out $line; echo err $line >&2; sh -c 'echo child'; printf \"end $line\" >&4; done; echo over")
	for i := range 50 {
		n := strconv.Itoa(i)
		if _, err := io.WriteString(echo.requests, n+"\n"); err != nil {
			t.Fatal(err)
		}
		echo.wait("<end " + n + ">")
		text := echo.text()
		for _, part := range []string{"out " + n + "\n", "err " + n + "\n"} {
			if !strings.Contains(text[:strings.Index(text, "<end "+n+">")], part) {
				t.Fatalf("%q is not in front of its end: %q", part, text)
			}
		}
	}
	echo.requests.Close()
	echo.wait("over\n")
	harness.WantVerdict(t, echo.end(), api.OK)

	// More than any pipe holds, and the program ends at once.
	much := sh("seq 1 300000; printf done >&4; seq 300001 400000; seq 1 100 >&2; printf over >&4")
	harness.WantVerdict(t, much.end(), api.OK)
	text := much.text()
	if i := strings.Index(text, "<done"); i < 0 || !strings.Contains(text[:i], "\n300000\n") {
		t.Error("done came before the output that it follows")
	}
	if !strings.HasSuffix(text, "over>") || !strings.Contains(text, "\n400000\n") {
		t.Errorf("the last message is not last: %q", text[max(0, len(text)-100):])
	}

	noisy := sh("yes & echo first; printf now >&4; read line <&3; kill $!; exit 0")
	noisy.wait("<now>")
	io.WriteString(noisy.requests, "\n")
	harness.WantVerdict(t, noisy.end(), api.OK)

	// Descriptors 3 and 4 are the only ones beside stdio; 5 is the directory that the shell reads.
	files := residentIn(t, a, s.ID, api.Exec{Argv: []string{"/bin/sh", "-c", "echo /proc/$$/fd/*"}, Control: true,
		Limits: api.Limits{OpenFiles: 16}})
	harness.WantVerdict(t, files.end(), api.OK)
	if got := files.text(); strings.Count(got, "/fd/") != 6 || !strings.Contains(got, "/fd/5") {
		t.Errorf("the program has the descriptors %q; want 0 to 5", got)
	}
}

// TTY-08: a resident that reads nothing of control, one that writes there without end, and one that closes everything:
// the bounds are those of output, and others go on.
func TestHostileControl(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	flood := residentIn(t, a, s.ID, api.Exec{Argv: []string{"/bin/sh", "-c", "exec yes >&4"}, Control: true,
		Limits: api.Limits{Output: api.MiB}})
	if res := flood.end(); res.Verdict != api.OutputLimit {
		t.Errorf("a program that writes control without end: %s", res.Verdict)
	}

	closed := residentIn(t, a, s.ID, api.Exec{
		Argv: []string{"/bin/sh", "-c", "exec 3<&- 4>&- 0<&-; echo closed; exec sleep 1000"}, Control: true,
	})
	closed.wait("closed\n")
	go func() { _, _ = closed.requests.Write(bytes.Repeat([]byte("x"), 1<<20)) }() // ends with the program
	closed.signal("SIGTERM")
	if res := closed.end(); res.Verdict != api.Signaled {
		t.Errorf("%s; want signaled", res.Verdict)
	}

	for name, e := range map[string]api.Exec{
		"control of no resident": {Argv: []string{"true"}, Control: true},
		"control and a terminal": {Argv: []string{"true"}, Control: true, Resident: true, TTY: &api.TTY{}},
		"stdin ahead":            {Argv: []string{"true"}, Resident: true, Stdin: api.Bytes("x")},
	} {
		_, err := a.Client.ExecEvents(t.Context(), s.ID, e, strings.NewReader(""), client.Events{})
		if e := harness.WantCode(t, err, api.CodeBadRequest); e != nil {
			t.Log(name, e.Message)
		}
	}
	_, err := a.Client.Exec(t.Context(), s.ID, api.Exec{Argv: []string{"true"}, Resident: true})
	harness.WantCode(t, err, api.CodeBadRequest)
}

// TTY-10: 40 residents of three sessions hold none of two slots: runs and other execs go on next to them, and each of them
// answers. One more in a session that has 16 is refused, terminals and residents together.
func TestIdleResidents(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	var all []*partner
	var sessions []api.Session
	for i := range 40 {
		if i%api.SessionResidents == 0 {
			sessions = append(sessions, a.NewSession(t, nil))
		}
		e := api.Exec{Argv: []string{"/bin/sh", "-c", "echo open; read line; echo got $line"}}
		if i%2 == 0 {
			e.TTY = &api.TTY{}
		}
		all = append(all, residentIn(t, a, sessions[len(sessions)-1].ID, e))
	}
	for _, p := range all {
		p.wait("open")
	}

	wantNoSlot(t, a)
	for range 4 {
		harness.WantVerdict(t, a.MustRun(t, harness.Sh("echo run")), api.OK)
		a.WantOutput(t, sessions[0].ID, "echo exec", "exec\n")
	}
	_, err := a.Client.ExecEvents(t.Context(), sessions[0].ID, api.Exec{Argv: []string{"true"}, Resident: true}, nil, client.Events{})
	harness.WantCode(t, err, api.CodeSessionBusy)

	for i, p := range all {
		p.press(strconv.Itoa(i) + "\n")
		p.wait("got " + strconv.Itoa(i))
		harness.WantVerdict(t, p.end(), api.OK)
	}
}

// TTY-09: no signal reaches a process that the agent has not found in the group of the exec: while the processes of the
// exec end and their numbers are used again by others, none of those is hit.
func TestSignalsReachNoOther(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	p := residentIn(t, a, s.ID, api.Exec{Argv: []string{"/bin/sh", "-c", "trap '' USR1; echo up; while :; do /bin/true & /bin/true; wait; done"}})
	p.wait("up\n")

	over := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() { // processes of the host that come and go, with numbers next to those of the exec
		for {
			select {
			case <-over:
				return
			default:
			}
			if out, err := exec.Command("/bin/sh", "-c", "exit 7").CombinedOutput(); err == nil || err.Error() != "exit status 7" {
				t.Errorf("a process of the host ended otherwise: %v %s", err, out)
				return
			}
		}
	})
	for range 300 {
		p.signal("SIGUSR1")
	}
	close(over)
	others.Wait()
	p.signal("SIGKILL")
	p.end()
	if _, err := os.Stat("/proc/" + strconv.Itoa(a.Cmd.Process.Pid)); err != nil {
		t.Error(err)
	}
}
