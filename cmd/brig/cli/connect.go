package cli

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
)

// The flags of commands that call an agent.

// SocketVar registers --socket.
func SocketVar(f *pflag.FlagSet, socket *string) {
	f.StringVar(socket, "socket", "", "`PATH` of the agent's socket (default $BRIG_SOCKET, or "+caller.DefaultSocket+")")
}

// SocketFlag is SocketVar with a variable of its own.
func SocketFlag(f *pflag.FlagSet) *string {
	socket := new(string)
	SocketVar(f, socket)
	return socket
}

// NoBuildFlag registers --no-build.
func NoBuildFlag(f *pflag.FlagSet, noBuild *bool) {
	f.BoolVar(noBuild, "no-build", false, "do not build or pull a missing language image")
}

// SlotWait registers --wait of commands with many runs.
func SlotWait(f *pflag.FlagSet, wait *time.Duration) {
	f.DurationVar(wait, "wait", 10*time.Minute, "how long to wait while other runs have every slot")
}

// BusyWait registers --wait of commands with one run.
func BusyWait(f *pflag.FlagSet, wait *time.Duration) {
	f.DurationVar(wait, "wait", time.Minute,
		"how long to wait while every slot is busy; 0 does not wait longer than the agent does, 0.1 s")
}

// Connect finds the agent, or starts one for this command, which holds no image in memory.
func (c *CLI) Connect(socket string, flags ...string) (*caller.Agent, error) {
	return c.ConnectAs(socket, os.Geteuid(),
		append([]string{"--image-memory=read", "--template-memory=none"}, flags...)...)
}

// ConnectAs is Connect for a process that will be another user when it uses the agent.
func (c *CLI) ConnectAs(socket string, uid int, flags ...string) (*caller.Agent, error) {
	return caller.Connect(cmp.Or(socket, c.Env("BRIG_SOCKET")), uid, flags...)
}

// RetryWhileBusy is caller.Retry, which prints a note if it takes a while.
func RetryWhileBusy[T any](ctx context.Context, c *CLI, wait time.Duration,
	attempt func(context.Context) (T, error)) (T, error) {
	return caller.Retry(ctx, wait, func(why string) { c.Note("%s; waiting up to %s (--wait)", why, wait) }, attempt)
}

// CeilingFlags returns the flags with which a private agent accepts this run: a user who may start an
// agent is its operator.
func CeilingFlags(r api.Run) []string {
	l, ceiling := r.Limits, api.DefaultCeiling()
	l.CPU = max(l.CPU, l.Wall) // as the agent takes it
	ceiling.CPUs = 1           // of a slot

	var args []string
	for _, row := range api.LimitTable() {
		if row.Top != "" && row.Above(l, ceiling) {
			args = append(args, "--max-"+row.Flag(), row.Text(l))
		}
	}
	return args
}

// WithAnyAgent calls do with an agent, which is started for this command if none runs. A signal cancels the context.
func (c *CLI) WithAnyAgent(socket string, do func(context.Context, *caller.Agent) error) int {
	agent, err := c.Connect(socket)
	return c.CallAgent(agent, err, do)
}

// CallAgent calls do with the agent, if err is nil.
func (c *CLI) CallAgent(agent *caller.Agent, err error, do func(context.Context, *caller.Agent) error) int {
	if err != nil {
		return c.Fail(err)
	}
	ctx, stop := UntilInterrupt(agent)
	defer stop()
	if err := do(ctx, agent); err != nil {
		if code, silent := SilentExit(err); silent {
			return code
		}
		return c.Fail(err)
	}
	return 0
}
