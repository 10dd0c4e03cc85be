package sessions

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// A typist types at the terminal of a program and reads what it shows.
type typist struct {
	t     *testing.T
	keys  *io.PipeWriter
	sizes chan api.TTY
	done  chan struct{} // closed when the program has ended
	res   api.Result    // after done

	mu    sync.Mutex
	shown bytes.Buffer // guarded by mu
	seen  int          // guarded by mu: up to here wait has looked
}

func (p *typist) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown.Write(b)
}

// typeAt starts a program at a terminal: with do a run, or an exec of a session.
func typeAt(t *testing.T, do func(stdin io.Reader, events client.Events) (api.Result, error)) *typist {
	t.Helper()
	in, keys := io.Pipe()
	p := &typist{t: t, keys: keys, sizes: make(chan api.TTY), done: make(chan struct{})}
	go func() { // ends with the program; joined through done
		defer close(p.done)
		res, err := do(in, client.Events{Stdout: p, Stderr: p, Resize: p.sizes})
		if err != nil {
			t.Error(err)
		}
		p.res = res
		in.Close()
	}()
	return p
}

func (p *typist) press(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, keys); err != nil {
		p.t.Fatalf("type %q: %v", keys, err)
	}
}

// text is what the terminal has shown so far.
func (p *typist) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown.String()
}

// wait waits until the terminal shows a text, after what was waited for before.
func (p *typist) wait(text string) {
	p.t.Helper()
	for until := harness.Patience(); ; time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		at := strings.Index(p.shown.String()[p.seen:], text)
		if at >= 0 {
			p.seen += at + len(text)
		}
		all := p.shown.String()
		p.mu.Unlock()

		if at >= 0 {
			return
		}
		if time.Now().After(until) {
			p.t.Fatalf("the terminal does not show %q: %q", text, all)
		}
	}
}

// end waits for the end of the program.
func (p *typist) end() api.Result {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(time.Until(harness.Patience())):
		p.t.Fatalf("it does not end: %q", p.text())
	}
	return p.res
}

// terminals are the places that have a terminal: a run, and an exec of a session.
func terminals(t *testing.T, test func(t *testing.T, at func(argv ...string) *typist)) {
	a := harness.StartAgent(t, "--max-wall", "10m")
	tty := &api.TTY{Rows: 33, Cols: 99}
	t.Run("run", func(t *testing.T) {
		test(t, func(argv ...string) *typist {
			return typeAt(t, func(stdin io.Reader, events client.Events) (api.Result, error) {
				r := api.Run{Image: "tiny", Argv: argv, TTY: tty, Limits: api.Limits{Memory: 64 * api.MiB, Wall: harness.Slowly(120)}}
				return a.RunEvents(t.Context(), r, stdin, events)
			})
		})
	})
	t.Run("exec", func(t *testing.T) {
		s := a.NewSession(t, nil)
		test(t, func(argv ...string) *typist {
			return typeAt(t, func(stdin io.Reader, events client.Events) (api.Result, error) {
				e := api.Exec{Argv: argv, TTY: tty, Limits: api.Limits{Wall: harness.Slowly(120)}}
				return a.ExecEvents(t.Context(), s.ID, e, stdin, events)
			})
		})
	})
}

// A shell at a terminal: its size and a new one, echo, job control, Ctrl-C for the foreground alone, the exit code.
func TestTerminal(t *testing.T) {
	terminals(t, func(t *testing.T, at func(argv ...string) *typist) {
		p := at("/bin/sh", "-i")
		p.press("stty size; echo $TERM; test -t 0 && test -t 1 && test -t 2 && echo three\n")
		p.wait("33 99\r\n")
		p.wait("xterm-256color\r\n")
		p.wait("three\r\n")

		p.sizes <- api.TTY{Rows: 40, Cols: 120}
		p.press("until test \"$(stty size)\" = '40 120'; do :; done; echo re''sized\n")
		p.wait("resized\r\n")

		p.press("sh -c 'echo wai''ting; exec sleep 1000'\n")
		p.wait("waiting\r\n") // it is in the foreground
		p.press("\x03")
		p.press("echo status $?\n")
		p.wait("status 130\r\n")

		p.press("sh -c 'echo rea''dy; cat'\n")
		p.wait("ready\r\n") // now nobody edits the line but the terminal
		p.press("typed\n\x04")
		p.wait("typed\r\ntyped\r\n")
		p.press("exit 7\n")
		if res := p.end(); res.Verdict != api.Nonzero || res.ExitCode != 7 {
			t.Errorf("verdict %s, exit code %d; want nonzero, 7", res.Verdict, res.ExitCode)
		}
	})
}

// What a program wrote before its end arrives, however much it is.
func TestTerminalLosesNothing(t *testing.T) {
	terminals(t, func(t *testing.T, at func(argv ...string) *typist) {
		p := at("/bin/sh", "-c", "seq 1 20000")
		p.wait("\r\n19999\r\n20000\r\n")
		harness.WantVerdict(t, p.end(), api.OK)
	})
}

// A client that leaves ends the program at its terminal, with all that it has started there, and nothing else of the
// session (TTY-04).
func TestTerminalWithoutClient(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	a.Shell(t, s.ID, "sleep 1000 >/dev/null 2>&1 &")
	before, err := a.Session(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}

	in, keys := io.Pipe()
	defer keys.Close()
	e := api.Exec{Argv: []string{"/bin/sh", "-c", "trap '' HUP INT TERM; sleep 1000 & echo up; wait"}, TTY: &api.TTY{}}
	if res, err := a.ExecEvents(t.Context(), s.ID, e, in, client.Events{Stdout: failingWriter{}}); err == nil {
		t.Errorf("a client that cannot show anything got %+v", res)
	}

	for until := harness.Patience(); ; time.Sleep(10 * time.Millisecond) {
		now, err := a.Session(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if now.Running == 0 && *now.Usage.Processes.Value == *before.Usage.Processes.Value {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%d execs run with %d processes; want 0 with %d", now.Running, *now.Usage.Processes.Value,
				*before.Usage.Processes.Value)
		}
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// What has no terminal says so, and why.
func TestTerminalRefused(t *testing.T) {
	a := harness.StartAgent(t, "--max-wall", "10m")
	tty := &api.TTY{Rows: 33, Cols: 99}
	for name, r := range map[string]api.Run{
		"under strict":     {Image: "tiny", Argv: []string{"true"}, TTY: tty, Profile: "strict"},
		"with stdin":       {Image: "tiny", Argv: []string{"true"}, TTY: tty, Stdin: api.Bytes("x")},
		"of absurd size":   {Image: "tiny", Argv: []string{"true"}, TTY: &api.TTY{Rows: 1 << 20}},
		"of negative size": {Image: "tiny", Argv: []string{"true"}, TTY: &api.TTY{Cols: -1}},
	} {
		_, err := a.Client.RunEvents(t.Context(), r, strings.NewReader(""), client.Events{})
		e := harness.WantCode(t, err, api.CodeBadRequest)
		if e != nil && !strings.Contains(e.Message, "tty") && name != "with stdin" {
			t.Errorf("%s: %s", name, e.Message)
		}
	}

	if _, err := a.Client.Run(t.Context(), api.Run{Image: "tiny", Argv: []string{"true"}, TTY: tty}); err == nil {
		t.Error("a run that nobody types at has a terminal")
	}
	s := a.NewSession(t, func(s *api.SessionRequest) { s.Profile = "strict" })
	_, err := a.Client.ExecEvents(t.Context(), s.ID, api.Exec{Argv: []string{"true"}, TTY: tty}, strings.NewReader(""), client.Events{})
	harness.WantCode(t, err, api.CodeBadRequest)
}

// TTY-01: a program at a terminal cannot type into it, load a line discipline, or open another terminal; nor can
// another exec of its session, which may open the same terminal through /proc. The control is the same program as root on
// the host, at a terminal of its own: it types, sets the line discipline, and opens further terminals.
func TestHostileTerminal(t *testing.T) {
	a := harness.StartAgent(t, "--max-wall", "10m")
	try := harness.CompileC(t, "try", `#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#define TRY(name, call) printf("%s %s\n", name, (call) < 0 ? strerrorname_np(errno) : "done")
int main(int argc, char **argv) {
	int fd = argc > 1 && argv[1][1] ? open(argv[1], O_RDWR | O_NOCTTY) : 0, n = 0;
	char key = 'x', cmd[8] = {2};
	struct termios t;
	struct winsize w;
	TRY("open", fd);
	TRY("TCGETS", tcgetattr(fd, &t));
	TRY("TIOCGWINSZ", ioctl(fd, TIOCGWINSZ, &w));
	TRY("TIOCSTI", ioctl(fd, TIOCSTI, &key));
	TRY("TIOCSTI high", ioctl(fd, TIOCSTI | 1UL << 32, &key));
	TRY("TIOCLINUX", ioctl(fd, 0x541c, cmd));
	TRY("TIOCSETD", ioctl(fd, TIOCSETD, &n));
	if (argc == 1 || argv[1][1]) // not in the control: it would take the host's console
		TRY("TIOCCONS", ioctl(fd, TIOCCONS, 0));
	TRY("TIOCGPTPEER", ioctl(fd, 0x5441, O_RDWR));
	TRY("ptmx", open("/dev/ptmx", O_RDWR));
	TRY("pts", open("/dev/pts/0", O_RDWR));
	TRY("tty", open("/dev/tty", O_RDWR));
	return 0;
}`)

	control := string(onTheHost(t, try.Content))
	for _, done := range []string{"TCGETS", "TIOCSTI", "TIOCSTI high", "TIOCSETD", "ptmx", "tty"} {
		if !strings.Contains(control, done+" done\r\n") {
			t.Errorf("the control: %s is not done on the host: %q", done, control)
		}
	}

	s := a.NewSession(t, nil)
	if err := a.PutFile(t.Context(), s.ID, "try", bytes.NewReader(try.Content), true); err != nil {
		t.Fatal(err)
	}

	at := func(argv ...string) *typist {
		return typeAt(t, func(stdin io.Reader, events client.Events) (api.Result, error) {
			e := api.Exec{Argv: argv, TTY: &api.TTY{}, Limits: api.Limits{Wall: harness.Slowly(120)}}
			return a.ExecEvents(t.Context(), s.ID, e, stdin, events)
		})
	}

	const refused = "TIOCSTI ENOTTY\r\nTIOCSTI high ENOTTY\r\nTIOCLINUX ENOTTY\r\nTIOCSETD ENOTTY\r\nTIOCCONS ENOTTY\r\n" +
		"TIOCGPTPEER ENOTTY\r\nptmx ENOENT\r\npts ENOENT\r\ntty ENOENT\r\n"
	own := at("./try")
	own.wait("open done\r\nTCGETS done\r\nTIOCGWINSZ done\r\n" + refused)
	harness.WantVerdict(t, own.end(), api.OK)

	victim := at("/bin/sh", "-c", "echo $$; read line; echo got $line")
	victim.wait("\r\n")
	pid, _, _ := strings.Cut(victim.text(), "\r\n")
	spy := at("./try", "/proc/"+pid+"/fd/0")
	spy.wait("open ")
	spy.wait(refused)
	harness.WantVerdict(t, spy.end(), api.OK)
	victim.press("mine\n")
	victim.wait("got mine\r\n")
	harness.WantVerdict(t, victim.end(), api.OK)
}

// onTheHost executes a program at a terminal of its own, without a sandbox, and returns what it shows.
func onTheHost(t *testing.T, program []byte) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "try")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}

	master, slave, err := linux.OpenPTY(24, 80, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()

	cmd := exec.Command(path, "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Run()
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := io.ReadAll(master) // it ends with EIO, as every terminal
	return shown
}
