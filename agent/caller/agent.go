// Package caller finds the agent that a command calls, or starts one for it, and calls it so that runs of many callers
// share its slots: they wait, and are tried again if brig failed.
package caller

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"sync"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// DefaultSocket is the usual socket of an agent.
const DefaultSocket = "/run/brig/brigd.sock"

// StartCommand starts an agent which brig serve and members of the group can use too.
const StartCommand = "sudo groupadd -f brig; sudo brigd --group brig &"

// An Agent is the agent that a command uses: the one that answers on the socket, or a
// private one that lives as long as the command.
type Agent struct {
	*client.Client
	Socket  string
	private *private // nil: not started by this command
}

// Connect finds the agent. A socket that was named must answer. If none was named and no agent answers on the usual
// one, root gets a private agent, started with flags: it serves one command, for a process that will be the user uid.
func Connect(socket string, uid int, flags ...string) (*Agent, error) {
	if socket != "" {
		return &Agent{Client: client.New(socket), Socket: socket}, nil
	}

	probe, err := net.Dial("unix", DefaultSocket)
	if err == nil {
		return &Agent{Client: client.New(DefaultSocket), Socket: DefaultSocket}, probe.Close()
	}

	switch {
	case errors.Is(err, os.ErrPermission):
		return nil, api.Fail(api.CodeAgentUnreachable,
			"you have no access to the agent's socket %s: join the group that brigd was started with "+
				"(brigd --group NAME), or use sudo", DefaultSocket)
	case os.Geteuid() != 0:
		return nil, api.Fail(api.CodeAgentUnreachable,
			"no agent answers on %s: start one (%s), name another socket with --socket, "+
				"or use sudo, which starts an agent for this command only", DefaultSocket, StartCommand)
	}

	p, err := start(uid, flags)
	if err != nil {
		return nil, err
	}
	return &Agent{Client: client.New(p.socket), Socket: p.socket, private: p}, nil
}

// Private reports whether the agent is one that Connect started.
func (a *Agent) Private() bool { return a.private != nil }

// Close stops a private agent and waits for it.
func (a *Agent) Close() {
	a.Client.Close()
	if a.private != nil {
		a.private.stop()
	}
}

// Abandon leaves without waiting: a private agent ends by itself.
func (a *Agent) Abandon() {
	if a != nil && a.private != nil {
		os.RemoveAll(a.private.dir)
	}
}

// Explain adds the last output of a private agent that has ended.
func (a *Agent) Explain(err error) error {
	var e *api.Error
	if a.private == nil || !errors.As(err, &e) || e.Code != api.CodeAgentGone && e.Code != api.CodeAgentUnreachable {
		return err
	}
	a.private.stop()
	output := a.private.stderr.String()
	if output == "" {
		output = "it printed nothing"
	}
	return api.Fail(api.CodeAgentGone, "the private agent ended unexpectedly: %s", output)
}

// CancelOnEnd returns a context that is also canceled if a private agent ends first, for example killed
// for lack of memory. The cause is then the error to end with. No other agent is started, since
// root has been given up by then. done ends the watching goroutine and waits for it.
func (a *Agent) CancelOnEnd(ctx context.Context) (_ context.Context, done func()) {
	if a.private == nil {
		return ctx, func() {}
	}

	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-a.private.ended:
			cancel(a.private.endError())
		case <-ctx.Done():
		}
	})

	return ctx, func() { cancel(nil); watch.Wait() }
}

// Running is Connect to an agent that outlives this command.
func Running(socket string) (*Agent, error) {
	if socket == "" {
		socket = DefaultSocket
		probe, err := net.Dial("unix", socket)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, api.Fail(api.CodeAgentUnreachable,
				"no agent answers on %s, and sessions and volumes need one that outlives the command "+
					"(the agent of a brig serve is for that service only): start one (%s), or name its socket with --socket",
				socket, StartCommand)
		}
		if err == nil {
			probe.Close()
		}
	}

	return &Agent{Client: client.New(socket), Socket: socket}, nil
}
