package main

import (
	"fmt"

	"github.com/brig-sandbox/brig/gateway"
)

// keyCommand is brig key.
func keyCommand(c *console, args []string) int {
	return c.subcommands("key", `
Make keys for brig serve.

Usage:
  brig key new NAME

Examples:
  printf 'keys:\n' >keys.yaml; chmod 600 keys.yaml
  brig key new teacher >>keys.yaml`, []command{{name: "new", run: keyNew}}, args)
}

func keyNew(c *console, args []string) int {
	f := c.flags("key new", `
Make a random key. The line for the keys file goes to stdout, the key itself, which
is kept nowhere, to stderr.

Usage:
  brig key new NAME

Example:
  brig key new teacher >>keys.yaml`)
	if code, done := c.parse(f, args); done {
		return code
	}
	if f.NArg() != 1 {
		return c.hint("key new", fmt.Errorf("brig key new needs the NAME of the key's holder"))
	}
	token, line, err := gateway.NewKey(f.Arg(0))
	if err != nil {
		return c.hint("key new", err)
	}
	fmt.Fprintln(c.stdout, line)
	fmt.Fprintf(c.stderr, "the key of %s: %s\n", f.Arg(0), token)
	return 0
}
