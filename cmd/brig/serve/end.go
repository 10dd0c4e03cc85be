package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

const (
	endTimeout = 2 * time.Minute // of the service, which itself waits a minute for what it ends
	exitNone   = 1               // nothing had the label
)

// EndCommand is brig end: it ends all that has a label.
func EndCommand(c *cli.CLI) *cobra.Command {
	var e api.EndRequest
	k, f := cli.NewCommand("end", `
End all that has the label run=RUN: runs that wait or are executed, sessions, batches, and
temporary volumes with their contents. When the command returns, that has ended. What has
another label, or none, stays, as do volumes that last.

With --url or $BRIG_URL it is the service that ends what the key $BRIG_API_KEY has, and
otherwise the agent that ends what this user has. An agent by itself has no batches; the
jobs of brig batch end with that command.

The default RUN is that of the other commands: $BRIG_RUN, or in a job of Slurm
$SLURM_ARRAY_JOB_ID_$SLURM_ARRAY_TASK_ID or $SLURM_JOB_ID.

Exit codes: 0 if something was ended; 1 if nothing had the label; 125 if brig failed, and then
the command can be repeated.

Usage:
  brig end --run RUN [--project PROJECT] [--json]

Examples:
  brig end --run 4711
  brig end --run 4711 --project course --json
  BRIG_URL=https://judge.example BRIG_API_KEY=brig_... brig end --run "$SLURM_JOB_ID"`)

	f.StringVar(&e.Run, "run", "", "end what has the label run=`RUN`")
	f.StringVar(&e.Project, "project", "", "only what also has the label project=`PROJECT`; of volumes that is the name")
	asJSON := cli.JSONFlag(f)
	base := urlFlag(f)
	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		from := ""
		if !f.Changed("run") && f.NArg() == 0 {
			if e.Run, from = cli.RunLabel(c.Env); e.Run == "" {
				return c.Hint("end",
					errors.New("brig end needs --run RUN: neither $BRIG_RUN nor Slurm says which run this is"))
			}
		}

		err := e.Validate()
		switch {
		case f.NArg() > 0: // most likely the name of the run
			err = fmt.Errorf("end takes no argument %q: write --run %[1]s", f.Arg(0))
		case *base != "" && *socket != "":
			err = errors.New("--url is a service and --socket an agent: give one of them")
		case err != nil && from != "":
			err = fmt.Errorf("$%s: %w", from, err)
		}
		if err != nil {
			return c.Hint("end", err)
		}

		var ended api.Ended
		var code int
		if *socket == "" && cmp.Or(*base, c.Env("BRIG_URL")) != "" {
			code = withServiceFor(c, "end", *base, endTimeout, func(ctx context.Context, s serviceHandle) (err error) {
				ended, err = s.End(ctx, e)
				return err
			})
		} else {
			agent, err := caller.Running(cmp.Or(*socket, c.Env("BRIG_SOCKET")))
			code = c.CallAgent(agent, err, func(ctx context.Context, agent *caller.Agent) (err error) {
				ended, err = agent.End(ctx, e)
				return err
			})
		}
		if code != 0 {
			return code
		}
		return reportEnded(c, e, ended, *asJSON)
	})
}

// reportEnded prints what was ended, and returns the exit code.
func reportEnded(c *cli.CLI, e api.EndRequest, ended api.Ended, asJSON bool) int {
	if asJSON {
		c.Stdout.Write(cli.Marshal(ended))
	}

	text := endedText(ended)
	switch {
	case text == "" && e.Project != "":
		c.Note("nothing that has not ended has the labels run=%s and project=%s", e.Run, e.Project)
	case text == "":
		c.Note("nothing that has not ended has the label run=%s", e.Run)
	case !asJSON:
		fmt.Fprintf(c.Text(), "ended %s\n", text)
	}

	if text == "" {
		return exitNone
	}
	return 0
}

// endedText says how much was ended; empty: nothing.
func endedText(e api.Ended) string {
	var parts []string
	for _, one := range []struct {
		n         int
		one, more string
	}{
		{e.Runs, "run", "runs"}, {e.Sessions, "session", "sessions"}, {e.Batches, "batch", "batches"},
		{e.Volumes, "volume", "volumes"},
	} {
		switch {
		case one.n == 1:
			parts = append(parts, "1 "+one.one)
		case one.n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.more))
		}
	}
	return strings.Join(parts, ", ")
}
