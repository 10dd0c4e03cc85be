package main

import (
	"cmp"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/caller"
)

// The flags of commands that call an agent.

func socketVar(f *pflag.FlagSet, socket *string) {
	f.StringVar(socket, "socket", "", "`PATH` of the agent's socket (default $BRIG_SOCKET, or "+caller.DefaultSocket+")")
}

func socketFlag(f *pflag.FlagSet) *string {
	socket := new(string)
	socketVar(f, socket)
	return socket
}

func noBuildFlag(f *pflag.FlagSet, noBuild *bool) {
	f.BoolVar(noBuild, "no-build", false, "do not build or pull a missing language image")
}

// slotWait is --wait of commands with many runs, and busyWait of those with one.
func slotWait(f *pflag.FlagSet, wait *time.Duration) {
	f.DurationVar(wait, "wait", 10*time.Minute, "how long to wait while other runs have every slot")
}

func busyWait(f *pflag.FlagSet, wait *time.Duration) {
	f.DurationVar(wait, "wait", time.Minute,
		"how long to wait while every slot is busy; 0 does not wait longer than the agent does, 0.1 s")
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
