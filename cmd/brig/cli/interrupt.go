package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/brig-sandbox/brig/agent/caller"
)

// UntilInterrupt returns a context that the first Ctrl-C or other stop signal cancels. A second
// signal ends the process; one that comes together with the first does not count. It catches
// SIGPIPE: writing to a stdout that nobody reads any more then only gives an error, so that a
// private agent is stopped and not left behind. The returned function stops the agent, and then
// the handling of signals.
func UntilInterrupt(agent *caller.Agent) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		var first time.Time
		var got os.Signal
		for {
			select {
			case got = <-signals:
			case <-done:
				return
			}

			switch {
			case first.IsZero():
				first = time.Now()
				cancel(Interrupted{got})
			case time.Since(first) > 200*time.Millisecond:
				agent.Abandon()
				os.Exit(Interrupted{got}.Exit())
			}
		}
	}()

	return ctx, func() {
		if agent != nil {
			agent.Close() // signals are still caught: a second one must not leave its directory behind
		}
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// Interrupted is the cause of a context that a signal ended.
type Interrupted struct{ Signal os.Signal }

func (i Interrupted) Error() string {
	if i.Signal == os.Interrupt {
		return "interrupted"
	}
	return "interrupted: " + i.Signal.String()
}

// Exit is the code a shell gives for the signal.
func (i Interrupted) Exit() int {
	if n, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return ExitCanceled
}

// SilentExit is the exit code for an error that is not reported: a signal, or nobody who reads the output.
func SilentExit(err error) (code int, silent bool) {
	var s Interrupted
	switch {
	case errors.As(err, &s):
		return s.Exit(), true
	case errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE), true // nobody reads the output, so there is nobody to report it to
	}
	return 0, false
}
