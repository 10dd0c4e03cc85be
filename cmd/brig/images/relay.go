package images

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/relay"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

// RelayCommand is the hidden command of a relay, whose caller is root.
func RelayCommand(c *cli.CLI) *cobra.Command {
	k, _ := cli.NewCommand(relay.Command, `
Relay the network of a run. It is started by brig alone.`)
	return c.Does(k, func() int {
		if err := relay.Main(os.Stdin, os.Stdout); err != nil {
			return c.Fail(err)
		}
		return 0
	})
}
