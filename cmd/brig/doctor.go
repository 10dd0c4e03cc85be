package main

import (
	"context"
	"fmt"
	"time"

	"github.com/brig-sandbox/brig/client"
	"github.com/brig-sandbox/brig/doctor"
)

const defaultStore = "/var/lib/brig/images"

func doctorCommand(c *console, args []string) int {
	f := c.flags("doctor", `
Look at this host: what works, what is refused, and how to cure it. It asks the
kernel by trying, and leaves nothing behind. Exits 1 when a run could not be
trusted. As root it can ask more.

Usage:
  brig doctor [--json]

Example:
  sudo brig doctor`)
	socket := socketFlag(f)
	store := f.String("store", defaultStore, "`DIR` of the image store to look at")
	asJSON := f.Bool("json", false, "print JSON")
	if code, done := c.parse(f, args); done {
		return code
	}
	if f.NArg() > 0 {
		return c.hint("doctor", fmt.Errorf("brig doctor needs no argument"))
	}
	ctx := context.Background()
	o := doctor.Options{Store: *store, Agent: askAgent(ctx, orWord(*socket, orWord(c.env("BRIG_SOCKET"), defaultSocket)))}
	var err error
	if o.Brigd, err = findBrigd(); err != nil {
		o.BrigdErr = "brigd is neither beside brig nor in PATH"
	}
	report := doctor.Judge(doctor.Gather(ctx, o))
	if *asJSON {
		c.stdout.Write(marshal(report))
	} else if err := report.Write(c.stdout); err != nil {
		return c.fail(err)
	}
	if !report.Trusted {
		return 1
	}
	return 0
}

// askAgent asks for an agent's health without starting one.
func askAgent(ctx context.Context, socket string) doctor.Agent {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	agent := client.New(socket)
	defer agent.Close()
	h, err := agent.Health(ctx)
	if err != nil {
		return doctor.Agent{Socket: socket, Err: err.Error()}
	}
	return doctor.Agent{Socket: socket, Version: h.Version}
}
