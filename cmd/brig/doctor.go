package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/judging"
	"github.com/brig-sandbox/brig/internal/doctor"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

const defaultStore = "/var/lib/brig/images"

func doctorCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("doctor", `
Check this host: what works, what is refused, and how to fix it. The command probes the
kernel by trying, and leaves nothing behind. Exits 1 if a run could not be trusted. As
root it can check more.

Usage:
  brig doctor [--json]

Example:
  sudo brig doctor`)

	socket := cli.SocketFlag(f)
	store := f.String("store", defaultStore, "`DIR` of the image store to check")
	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		if f.NArg() > 0 {
			return c.Hint("doctor", fmt.Errorf("brig doctor takes no argument"))
		}

		ctx := context.Background()
		o := doctor.Options{Store: *store,
			Agent: askAgent(ctx, cmp.Or(*socket, cmp.Or(c.Env("BRIG_SOCKET"), caller.DefaultSocket)))}
		var err error
		if o.Brigd, err = caller.FindBrigd(); err != nil {
			o.BrigdErr = "brigd is neither next to brig nor in PATH"
		}

		o.Outdated, err = outdatedImages(ctx, *store)
		if err != nil {
			o.OutdatedErr = err.Error()
		}

		report := doctor.Judge(doctor.Gather(ctx, o))
		if *asJSON {
			c.Stdout.Write(cli.Marshal(report))
		} else {
			if err := report.Write(c.Text()); err != nil {
				return c.Fail(err)
			}
			judging.ShowCalibration(c)
		}

		if !report.Trusted {
			return 1
		}
		return 0
	})
}

// outdatedImages returns the stored images that lack what a language of brig or of the operator
// needs: their names, what they lack and the remedy.
func outdatedImages(ctx context.Context, store string) (all []doctor.Outdated, err error) {
	known, err := languages.Load("/etc/brig/languages", nil)
	if err != nil {
		return nil, err
	}
	lack, err := languages.Outdated(ctx, rootfs.OpenReadOnly(store), known.All())
	for _, name := range slices.Sorted(maps.Keys(lack)) {
		all = append(all, doctor.Outdated{Image: name, Lacks: lack[name], Remedy: languages.RebuildHint(name)})
	}
	return all, err
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
	return doctor.Agent{Socket: socket, Version: h.Version, Damaged: h.ImagesDamaged, Templates: h.Templates.Problem}
}
