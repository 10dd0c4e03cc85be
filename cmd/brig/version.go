package main

import (
	"cmp"
	"context"
	"fmt"
	goruntime "runtime"
	"time"

	"github.com/brig-sandbox/brig/client"
)

func versionCommand(c *console, args []string) int {
	f := c.flags("version", `
Print the version of brig, and that of the agent where one answers: runs are carried out by
that.

Usage:
  brig version

Example:
  brig version`)
	socket := f.String("socket", "", "`PATH` of the agent's socket (default $BRIG_SOCKET, or "+defaultSocket+")")
	if code, done := c.parse(f, args); done {
		return code
	}
	fmt.Fprintf(c.text(), "brig %s %s/%s %s\n", version, goruntime.GOOS, goruntime.GOARCH, goruntime.Version())
	at := cmp.Or(*socket, c.env("BRIG_SOCKET"), defaultSocket)
	ctx, enough := context.WithTimeout(context.Background(), 2*time.Second)
	defer enough()
	agent := client.New(at)
	defer agent.Close()
	switch h, err := agent.Health(ctx); {
	case err == nil:
		fmt.Fprintf(c.text(), "brigd %s at %s\n", orWord(h.Version, "of an unknown version"), at)
	case *socket != "":
		return c.fail(err)
	}
	return 0
}
