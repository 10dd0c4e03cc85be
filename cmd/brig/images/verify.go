package images

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
)

func rootfsVerify(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("rootfs verify", `
Read stored images again and compare each member with what was imported: content,
mode, owner, time. If no image is named, all are compared. The exit code is 1 if one
differs.

Usage:
  brig rootfs verify [--json] [NAME|DIGEST...]

Examples:
  sudo brig rootfs verify
  sudo brig rootfs verify python`)

	asJSON := cli.JSONFlag(f)
	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		agent, err := c.Connect(*socket)
		if err != nil {
			return c.Fail(err)
		}

		ctx, stop := cli.UntilInterrupt(agent)
		defer stop()

		names := f.Args()
		if len(names) == 0 {
			stored, err := agent.Images(ctx)
			if err != nil {
				return c.Fail(agent.Explain(err))
			}
			for _, img := range stored {
				names = append(names, append(img.Names, img.Digest)[0])
			}
		}

		all := make([]api.Verified, 0, len(names))
		code := 0
		for i, name := range names {
			p := c.Progress(fmt.Sprintf("verifying image %s, %d of %d", name, i+1, len(names)))
			v, err := agent.Verify(ctx, name)
			p.End()
			if err != nil {
				return c.Fail(agent.Explain(err))
			}
			if !v.OK() {
				code = 1
			}

			all = append(all, v)
			if !*asJSON {
				printVerified(c, name, v)
			}
		}

		if *asJSON {
			c.Stdout.Write(cli.Marshal(all))
		}
		return code
	})
}

func printVerified(c *cli.CLI, name string, v api.Verified) {
	says := "as imported"
	if !v.OK() {
		says = fmt.Sprintf("%d changed, %d missing, %d extra: build or import it again, which replaces it", len(v.Changed),
			len(v.Missing), len(v.Extra))
	}

	fmt.Fprintf(c.Text(), "%s: %d members, %s: %s\n", name, v.Members, cli.FormatSize(v.Bytes), says)
	for _, list := range []struct {
		what  string
		paths []string
	}{{"changed", v.Changed}, {"missing", v.Missing}, {"extra", v.Extra}} {
		for _, path := range list.paths {
			fmt.Fprintf(c.Text(), "  %-7s /%s\n", list.what, terminal.Quote(path))
		}
	}
}
