package judging

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/service/problems"
)

// ProblemReaderCommand is the hidden command that reads a package for brig serve.
func ProblemReaderCommand(c *cli.CLI) *cobra.Command {
	k, _ := cli.NewCommand(problems.Command, `
Read the package of a problem for brig serve. It is started by brig alone.`)
	return c.Does(k, func() int {
		if err := problems.Main(os.Stdin, os.Stdout); err != nil {
			return c.Fail(err)
		}
		return 0
	})
}
