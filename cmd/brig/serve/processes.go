package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/service/client"
)

// ProcessCommands are those of brig session about processes and kernels, which a service keeps.
func ProcessCommands() []cli.Command {
	return []cli.Command{
		{Name: "ps", Short: "list the processes of a session of brig serve", Make: sessionPs},
		{Name: "attach", Short: "connect to a process of a session of brig serve", Make: sessionAttach},
		{Name: "kernel", Short: "keep an interpreter in a session of brig serve", Make: kernelCommand},
	}
}

// StartProcess starts a process in a session of a service, and prints its number.
func StartProcess(c *cli.CLI, base, session string, ask api.ProcessRequest) int {
	return withService(c, "session exec", base, func(ctx context.Context, s serviceHandle) error {
		p, err := s.StartProcess(ctx, session, ask)
		if err != nil {
			return err
		}
		fmt.Fprintln(c.Text(), p.PID)
		return nil
	})
}

func sessionPs(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("session ps", `
List the processes of a session of brig serve: those that run, and those that have ended
within an hour. An agent alone keeps none: its execs end with their commands.

`+serviceText+`

Usage:
  brig session ps [--json] [--url ADDRESS] ID

Examples:
  brig session exec -d $id -- python3 -iq
  brig session ps $id`)
	asJSON := f.Bool("json", false, "print JSON")
	base := urlFlag(f)
	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return c.Hint("session ps", errors.New("session ps needs the ID of a session"))
		}
		return withService(c, "session ps", *base, func(ctx context.Context, s serviceHandle) error {
			all, err := s.Processes(ctx, f.Arg(0))
			if err != nil {
				return err
			}
			if *asJSON {
				c.Stdout.Write(cli.Marshal(all))
				return nil
			}

			t := cli.AlignedTable(c.Text())
			for _, p := range all {
				what := p.Command
				if what == "" {
					what = strings.Join(p.Argv, " ")
				}
				fmt.Fprintf(t, "%d\t%s\t%d\t%s\t%s\n", p.PID, processState(p), p.OutputOffset, terminal.OneLine(p.Tag), terminal.OneLine(what))
			}
			return t.Flush()
		})
	})
}

// processState says in a word whether a process runs, and how it ended.
func processState(p api.Process) string {
	switch {
	case p.State == api.ProcessRunning && p.Attached:
		return "attached"
	case p.State == api.ProcessRunning:
		return "running"
	case p.Result != nil:
		return string(p.Result.Verdict)
	case p.Error != nil:
		return string(p.Error.Code)
	}
	return string(p.State)
}

// leaveKey is Ctrl-], which leaves a process at a terminal, as it leaves telnet.
const leaveKey = 0x1d

func sessionAttach(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("session attach", `
Connect to a process of a session of brig serve: its output so far, and what follows. What
you type is its stdin; at a terminal Ctrl-C is the program's and Ctrl-] leaves. Without a
terminal, Ctrl-C leaves. A detached process goes on. Others end with their last
connection. The exit code is that of the process.

`+serviceText+`

Usage:
  brig session attach [flags] ID PID

Examples:
  pid=$(brig session exec -d -t $id -- bash)
  brig session attach $id $pid
  echo 'print(x)' | brig session attach --eof $id $pid`)
	var a client.Attachment
	f.Int64Var(&a.Since, "since", 0, "show its output from this `BYTE` on")
	f.BoolVar(&a.Takeover, "takeover", false, "another client that is connected leaves")
	f.BoolVar(&a.EOF, "eof", false, "the end of stdin is also that of the process; without it, its stdin stays open")
	base := urlFlag(f)
	return c.Does(k, func() int {
		pid, err := strconv.Atoi(f.Arg(1))
		if f.NArg() != 2 || err != nil {
			return c.Hint("session attach", errors.New("session attach needs the ID of a session and the number of a process: see brig session ps"))
		}

		code := 0
		failed := withServiceFor(c, "session attach", *base, attachTimeout, func(ctx context.Context, s serviceHandle) error {
			code, err = attach(ctx, c, s, f.Arg(0), pid, a)
			return err
		})
		if failed != 0 {
			return failed
		}
		return code
	})
}

// attachTimeout is longer than any session lives.
const attachTimeout = 30 * 24 * time.Hour

// attach connects this command's stdin and output to a process, and returns the exit code.
func attach(ctx context.Context, c *cli.CLI, s serviceHandle, session string, pid int, a client.Attachment) (code int, err error) {
	p, err := s.Process(ctx, session, pid)
	if err != nil {
		return 0, err
	}

	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()

	screen := c.Screen()
	defer screen.End()
	a.Stdout, a.Stderr, a.Stdin = screen.Stdout(), screen.Stderr(), c.Stdin
	a.Gap = func(bytes int64) {
		screen.End()
		c.Note("%d bytes of its output are not kept any more", bytes)
	}
	left := false
	if file, ok := c.Stdin.(*os.File); ok && p.TTY && term.IsTerminal(int(file.Fd())) {
		t, terr := cli.OpenTerminal(c.Stdin, screen)
		if terr != nil {
			return 0, terr
		}
		defer func() { err = errors.Join(err, t.Close()) }()

		if err := t.MakeRaw(); err != nil {
			return 0, err
		}
		if err := s.Resize(ctx, session, pid, t.Size()); err != nil && p.State == api.ProcessRunning {
			return 0, err
		}
		a.Resize = t.Sizes()
		a.Stdin = &leaver{in: t, leave: func() { left = true; stop() }}
	}

	res, err := s.Attach(ctx, session, pid, a)
	if err != nil && (left || ctx.Err() != nil) {
		return 0, nil // the caller has left
	}
	return res.Exit(), err
}

// A leaver reads what is typed until the key that leaves.
type leaver struct {
	in    io.Reader
	leave func()
}

func (l *leaver) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	if i := bytes.IndexByte(p[:n], leaveKey); i >= 0 {
		l.leave()
		return i, io.EOF
	}
	return n, err
}
