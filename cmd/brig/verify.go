package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
)

func rootfsVerify(c *cli) *cobra.Command {
	k, f := newCommand("rootfs verify", `
Read stored images again and compare each member with what was imported: content,
mode, owner, time. If no image is named, all are compared. The exit code is 1 if one
differs.

Usage:
  brig rootfs verify [--json] [NAME|DIGEST...]

Examples:
  sudo brig rootfs verify
  sudo brig rootfs verify python`)

	asJSON := jsonFlag(f)
	socket := socketFlag(f)
	return c.does(k, func() int {
		agent, err := c.connect(*socket)
		if err != nil {
			return c.fail(err)
		}

		ctx, stop := untilInterrupt(agent)
		defer stop()

		names := f.Args()
		if len(names) == 0 {
			stored, err := agent.Images(ctx)
			if err != nil {
				return c.fail(agent.Explain(err))
			}
			for _, img := range stored {
				names = append(names, append(img.Names, img.Digest)[0])
			}
		}

		all := make([]api.Verified, 0, len(names))
		code := 0
		for i, name := range names {
			p := c.progress(fmt.Sprintf("verifying image %s, %d of %d", name, i+1, len(names)))
			v, err := agent.Verify(ctx, name)
			p.end()
			if err != nil {
				return c.fail(agent.Explain(err))
			}
			if !v.OK() {
				code = 1
			}

			all = append(all, v)
			if !*asJSON {
				c.printVerified(name, v)
			}
		}

		if *asJSON {
			c.stdout.Write(marshal(all))
		}
		return code
	})
}

func (c *cli) printVerified(name string, v api.Verified) {
	says := "as imported"
	if !v.OK() {
		says = fmt.Sprintf("%d changed, %d missing, %d extra: build or import it again, which replaces it", len(v.Changed),
			len(v.Missing), len(v.Extra))
	}

	fmt.Fprintf(c.text(), "%s: %d members, %s: %s\n", name, v.Members, formatSize(v.Bytes), says)
	for _, list := range []struct {
		what  string
		paths []string
	}{{"changed", v.Changed}, {"missing", v.Missing}, {"extra", v.Extra}} {
		for _, path := range list.paths {
			fmt.Fprintf(c.text(), "  %-7s /%s\n", list.what, terminal.Quote(path))
		}
	}
}
