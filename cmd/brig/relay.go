package main

import (
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/relay"
)

// relayCommand is the hidden command of a relay, whose caller is root.
func relayCommand(c *cli) *cobra.Command {
	k, _ := newCommand(relay.Command, `
Relay the network of a run. It is started by brig alone.`)
	return c.does(k, func() int {
		if err := relay.Main(os.Stdin, os.Stdout); err != nil {
			return c.fail(err)
		}
		return 0
	})
}

// relayUser is the user as which root relays networks: the one for whom it acts, or one that nobody else is.
func (c *cli) relayUser() (*syscall.Credential, error) {
	who, err := c.imageUser()
	return who.Credential, err
}
