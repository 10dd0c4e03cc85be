package main

import (
	"cmp"
	"os"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/caller"
)

func socketFlag(f *pflag.FlagSet) *string {
	return f.String("socket", "", "`PATH` of the agent's socket (default $BRIG_SOCKET, or "+caller.DefaultSocket+")")
}

// connect finds the agent, or starts one for this command, which holds no image in memory.
func (c *cli) connect(socket string, flags ...string) (*caller.Agent, error) {
	return c.connectAs(socket, os.Geteuid(),
		append([]string{"--image-memory=read", "--template-memory=none"}, flags...)...)
}

// connectAs is connect for a process that will be another user when it uses the agent.
func (c *cli) connectAs(socket string, uid int, flags ...string) (*caller.Agent, error) {
	return caller.Connect(cmp.Or(socket, c.env("BRIG_SOCKET")), uid, flags...)
}
