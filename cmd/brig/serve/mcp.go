package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	agentclient "github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/judge/diagnose"
	"github.com/brig-sandbox/brig/service/client"
	"github.com/brig-sandbox/brig/service/mcp"
)

// MCPCommand makes brig mcp: tools for language models, over stdin and stdout.
func MCPCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("mcp", `
Offer tools to a language model, with the Model Context Protocol on stdin and stdout: run
a program, test one, and work in a session. Editors and agent frameworks start this
command themselves. It ends when stdin ends.

With --url, or $BRIG_URL without --socket, the tools call a brig serve; its key is
$BRIG_API_KEY. Otherwise they call the agent of this machine, as brig run does. brig serve
also offers the tools itself, at /mcp.

Usage:
  brig mcp [flags]

Examples:
  brig mcp
  brig mcp --url https://judge.example

The configuration of an editor, such as .mcp.json or mcp.json:
  {"mcpServers": {"brig": {"command": "brig", "args": ["mcp"]}}}
  {"mcpServers": {"brig": {"command": "brig", "args": ["mcp"],
    "env": {"BRIG_URL": "https://judge.example", "BRIG_API_KEY": "brig_..."}}}}`)

	base := urlFlag(f)
	socket := cli.SocketFlag(f)
	var wait time.Duration
	cli.BusyWait(f, &wait)
	return c.Does(k, func() int {
		at := *base
		if at == "" && *socket == "" {
			at = c.Env("BRIG_URL")
		}

		labels, err := c.Labels(nil)
		switch {
		case err != nil:
			return c.Hint("mcp", err)
		case f.NArg() > 0:
			return c.Hint("mcp", fmt.Errorf("mcp takes no argument %q", f.Arg(0)))
		case *base != "" && *socket != "":
			return c.Hint("mcp", errors.New("--url and --socket exclude each other: the tools call a service or an agent"))
		case at != "":
			return serveOfService(c, at, labels.Run)
		}

		return c.WithAnyAgent(*socket, func(ctx context.Context, agent *caller.Agent) error {
			return serveTools(ctx, c, agentTools{agent, wait, labels.Run})
		})
	})
}

// serveOfService offers tools that call the service at an address.
func serveOfService(c *cli.CLI, at, run string) int {
	if err := checkAddress(at); err != nil {
		return c.Hint("mcp", err)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	service := client.New(at, c.Env("BRIG_API_KEY"))
	service.MaxAnswer = maxAnswer
	if err := serveTools(ctx, c, serviceTools{mcp.Service{Client: service}, run}); err != nil {
		return c.Fail(err)
	}
	return 0
}

// serveTools answers the client on stdin and stdout. That it is interrupted is a usual end.
func serveTools(ctx context.Context, c *cli.CLI, r mcp.Runner) error {
	err := mcp.Serve(ctx, r, c.Version, c.Stdin, c.Stdout)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// serviceTools is an mcp.Runner that calls a service. Its runs and sessions have a run as label; empty: none.
type serviceTools struct {
	mcp.Service
	run string
}

func (t serviceTools) Run(ctx context.Context, r api.Run, w mcp.Watch) (api.Result, error) {
	r.Labels.Run = t.run
	return t.Service.Run(ctx, r, w)
}

func (t serviceTools) CreateSession(ctx context.Context, request api.SessionRequest) (api.Session, error) {
	request.Labels.Run = t.run
	return t.Service.CreateSession(ctx, request)
}

// agentTools is an mcp.Runner that calls an agent, and waits while it is busy. Its runs and sessions have a run as label;
// empty: none.
type agentTools struct {
	*caller.Agent
	wait time.Duration
	run  string
}

func (a agentTools) Run(ctx context.Context, r api.Run, w mcp.Watch) (api.Result, error) {
	r.Labels.Run = a.run
	res, err := caller.Retry(ctx, a.wait, nil, func(ctx context.Context) (api.Result, error) {
		if w.Tested == nil || len(r.Tests) == 0 {
			return a.Agent.Run(ctx, r)
		}
		return a.RunEvents(ctx, r, nil, agentclient.Events{Test: func(api.TestResult) { w.Tested() }})
	})
	if err != nil {
		return res, a.Explain(err)
	}
	diagnose.Annotate(r.Language, r.SourceName, r.Source, &res)
	return res, nil
}

func (a agentTools) CreateSession(ctx context.Context, request api.SessionRequest) (api.Session, error) {
	request.Labels.Run = a.run
	return caller.Retry(ctx, a.wait, nil, func(ctx context.Context) (api.Session, error) {
		return a.Agent.CreateSession(ctx, request)
	})
}

func (a agentTools) Exec(ctx context.Context, session string, e api.Exec) (api.Result, error) {
	return caller.Retry(ctx, a.wait, nil, func(ctx context.Context) (api.Result, error) {
		return a.Agent.Exec(ctx, session, e)
	})
}

func (a agentTools) EndSession(ctx context.Context, session string) error {
	return a.DeleteSession(ctx, session)
}
