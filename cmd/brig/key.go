package main

import (
	"fmt"

	"github.com/brig-sandbox/brig/gateway"
)

// keyRecipe makes a keys file that the service can open when it has given up root.
const keyRecipe = `  (printf 'keys:\n'; brig key new teacher --admin) | sudo install -D -m 640 -g 62187 /dev/stdin /etc/brig/keys.yaml
  brig key new judge --runs 2 --volumes 1G | sudo tee -a /etc/brig/keys.yaml`

// keyCommand is brig key.
func keyCommand(c *console, args []string) int {
	return c.subcommands("key", `
Make keys for brig serve. The service reads their file as the user brig-gateway, or as
uid 62187 where there is none: give the file that group (-g).

Usage:
  brig key new NAME [flags]

Examples:
`+keyRecipe+`
  sudo brig serve --keys /etc/brig/keys.yaml`, []command{{name: "new", run: keyNew}}, args)
}

func keyNew(c *console, args []string) int {
	var k gateway.Key
	f := c.flags("key new", `
Make a random key. The line for the keys file goes to stdout, the key itself, which
is kept nowhere, to stderr. The flags bound what its holder may do, and can be
changed in the line later.

Usage:
  brig key new NAME [flags]

Examples:
`+keyRecipe)
	f.IntVar(&k.Runs, "runs", 0, "most runs at a time (default: as many as there are slots)")
	f.IntVar(&k.Waiting, "waiting", 0, "most requests in the queue (default: as many as it holds)")
	f.IntVar(&k.Sessions, "sessions", 0, "most sessions at a time (default: what leaves room for other keys)")
	f.Var(&k.Memory, "memory", "most memory promised to its sessions together, with swap and scratch (default: likewise)")
	f.IntVar(&k.Bodies, "bodies", 0, "most requests whose body is still coming, or file of a session going (default: an eighth of the service's)")
	f.Var(&k.Blobs, "blobs", "most that its blobs take up together (default 1G)")
	f.Var(&k.Volumes, "volumes", "most that its volumes take up together (default: what leaves room for other keys)")
	f.BoolVar(&k.Admin, "admin", false, "may see everyone's history, statistics and alerts, and /metrics")
	if code, done := c.parse(f, args); done {
		return code
	}
	if f.NArg() != 1 {
		return c.hint("key new", fmt.Errorf("brig key new needs the NAME of the key's holder"))
	}
	k.Name = f.Arg(0)
	token, line, err := gateway.NewKey(k)
	if err != nil {
		return c.hint("key new", err)
	}
	fmt.Fprintln(c.stdout, line)
	fmt.Fprintf(c.stderr, "the key of %s: %s\n", k.Name, token)
	return 0
}
