package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/service/problems"
)

// problemReaderCommand is the hidden command that reads a package for brig serve.
func problemReaderCommand(c *cli) *cobra.Command {
	k, _ := newCommand(problems.Command, `
Read the package of a problem for brig serve. It is started by brig alone.`)
	return c.does(k, func() int {
		if err := problems.Main(os.Stdin, os.Stdout); err != nil {
			return c.fail(err)
		}
		return 0
	})
}
