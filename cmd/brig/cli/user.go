package cli

import (
	"path/filepath"
	"syscall"

	"github.com/brig-sandbox/brig/rootfs/reader"
)

// RelayUser is the user as which root relays networks: the one for whom it acts, or one that nobody else is.
func (c *CLI) RelayUser() (*syscall.Credential, error) {
	who, err := c.ImageUser()
	return who.Credential, err
}

// ImageUser is the user that reads images and relays networks.
func (c *CLI) ImageUser() (reader.User, error) {
	return reader.Choose(c.Env, filepath.Join(CacheDir(), reader.Downloads))
}
