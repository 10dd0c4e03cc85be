package main

import (
	"cmp"
	"context"
	"fmt"
	goruntime "runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

func versionCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("version", `
Print the version of brig, and the version of the agent if one answers. The agent executes the
runs.

Usage:
  brig version [--json]

Example:
  brig version
  brig version --json`)

	socket := cli.SocketFlag(f)
	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		at := cmp.Or(*socket, c.Env("BRIG_SOCKET"), caller.DefaultSocket)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()

		agent := client.New(at)
		defer agent.Close()

		v := versions{Version: version, OS: goruntime.GOOS, Arch: goruntime.GOARCH, Go: goruntime.Version()}
		if !*asJSON {
			fmt.Fprintf(c.Text(), "brig %s %s/%s %s\n", v.Version, v.OS, v.Arch, v.Go)
		}

		switch h, err := agent.Health(ctx); {
		case err == nil:
			v.Agent = &agentVersion{Version: h.Version, Socket: at}
		case *socket != "":
			return c.Fail(err)
		}

		switch {
		case *asJSON:
			c.Stdout.Write(cli.Marshal(v))
		case v.Agent != nil:
			fmt.Fprintf(c.Text(), "brigd %s at %s\n", cmp.Or(v.Agent.Version, "of an unknown version"), at)
		}

		return 0
	})
}

// versions is what brig version --json prints.
type versions struct {
	Version string        `json:"version"`
	OS      string        `json:"os"`
	Arch    string        `json:"arch"`
	Go      string        `json:"go"`              // version of the toolchain that built brig
	Agent   *agentVersion `json:"agent,omitempty"` // nil: none answered
}

type agentVersion struct {
	Version string `json:"version,omitempty"` // empty: the agent does not know its own
	Socket  string `json:"socket"`            // path where it answered
}
