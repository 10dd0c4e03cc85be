package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/gateway"
)

// defaultKeys is the keys file of the packages' service.
const defaultKeys = "/etc/brig/keys.yaml"

// keyCommand is brig key.
func keyCommand(c *console, args []string) int {
	return c.subcommands("key", `
Make keys for brig serve. Whoever has one may run programs, also from elsewhere.

Usage:
  brig key add NAME [flags]        into the keys file, which is made if there is none
  brig key new NAME [flags]        its line for a file that you write yourself

Examples:
  sudo brig key add teacher --admin
  sudo brig key add judge --runs 2 --volumes 1G
  sudo brig serve --keys `+defaultKeys, []command{
		{name: "add", short: "make a key and add it to the keys file", run: keyAdd},
		{name: "new", short: "make a key and print its line for the keys file", run: keyNew},
	}, args)
}

// bounds are the flags of what a key's holder may do.
func bounds(f *pflag.FlagSet, k *gateway.Key) {
	f.IntVar(&k.Runs, "runs", 0, "most runs at a time (default: as many as there are slots)")
	f.IntVar(&k.Waiting, "waiting", 0, "most requests in the queue (default: as many as it holds)")
	f.IntVar(&k.Sessions, "sessions", 0, "most sessions at a time (default: what leaves room for other keys)")
	f.Var(&k.Memory, "memory", "most memory promised to its sessions together, with swap and scratch (default: likewise)")
	f.IntVar(&k.Bodies, "bodies", 0, "most requests whose body is still coming, or file of a session going (default: an eighth of the service's)")
	f.Var(&k.Blobs, "blobs", "most that its blobs take up together (default 1G)")
	f.Var(&k.Volumes, "volumes", "most that its volumes take up together (default: what leaves room for other keys)")
	f.IntVar(&k.Weight, "weight", 0, "most weight of a run or session (default: the agent's ceiling)")
	f.Float64Var(&k.CPUs, "cpus", 0, "most processors at a time of a run or session (default: the agent's ceiling)")
	f.StringVar((*string)(&k.Mode), "mode", "", "mode of its runs that name none: strict, fresh or exclusive (default strict)")
	f.BoolVar(&k.Admin, "admin", false, "may see everyone's history, statistics and alerts, and /metrics")
	f.Var(&k.Profiles, "may-profile", "seccomp profile `NAME` it may ask for, beside strict, default and a language's own (repeatable)")
	f.BoolVar(&k.ProfileLog, "may-profile-log", false, "may ask for profile_mode log, which lets a program do what its profile denies")
}

func keyAdd(c *console, args []string) int {
	var k gateway.Key
	f := c.flags("key add", `
Make a random key and add its line to the keys file. The key itself goes to stdout, once:
it is kept nowhere. A file that is not there is made, for root to write and for the
service's group to read, which is that of the user brig-gateway, or `+fmt.Sprint(spareID)+` where there is
none. A service that is running knows the key after three seconds. The flags bound what
its holder may do, and can be changed in the line later.

Usage:
  brig key add NAME [flags]

Examples:
  sudo brig key add teacher --admin
  sudo brig key add judge --runs 2 --volumes 1G >judge.key
  brig key add me --file keys.yaml`)
	file := f.String("file", defaultKeys, "the keys `FILE`")
	group := f.String("group", "", fmt.Sprintf("`GROUP` that may read a new file, by name or number (default: that of the user %s, or %d)", gatewayUser, spareID))
	bounds(f, &k)
	if code, done := c.parse(f, args); done {
		return code
	}
	if f.NArg() != 1 {
		return c.hint("key add", errors.New("brig key add needs the NAME of the key's holder"))
	}
	k.Name = f.Arg(0)
	gid, err := readersOf(*group)
	if err != nil {
		return c.hint("key add", err)
	}
	made, err := gateway.AddKey(*file, gid, k, func(token string) error {
		if _, err := fmt.Fprintln(c.text(), token); err != nil {
			return fmt.Errorf("the key could not be printed, and was not added: %w: send stdout elsewhere", err)
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrPermission):
		return c.fail(fmt.Errorf("%w: use sudo, or name a file of yours with --file", err))
	case err != nil:
		return c.fail(err)
	}
	what := "added to"
	if made {
		what = "the first of the new file"
	}
	c.note("this is the key of %s, %s %s: it is not shown again", k.Name, what, *file)
	return 0
}

// readersOf gives the id of the group that reads a keys file; below zero, the caller's own,
// which is all that one without root can give.
func readersOf(name string) (int, error) {
	if name == "" {
		if os.Geteuid() != 0 {
			return -1, nil
		}
		service, err := dropTo("")
		return service.gid, err
	}
	if gid, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(gid), nil
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, fmt.Errorf("--group: %w", err)
	}
	return strconv.Atoi(g.Gid)
}

func keyNew(c *console, args []string) int {
	var k gateway.Key
	f := c.flags("key new", `
Make a random key. The line for the keys file goes to stdout, the key itself, which
is kept nowhere, to stderr. The flags bound what its holder may do, and can be
changed in the line later. brig key add writes the file too.

Usage:
  brig key new NAME [flags]

Example:
  brig key new judge --runs 2 | sudo tee -a `+defaultKeys)
	bounds(f, &k)
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
	if _, err := fmt.Fprintf(words{c.stderr}, "the key of %s: %s\n", k.Name, token); err != nil {
		return exitBrig // nobody has the key, so that its line is of no use; and nobody is told
	}
	fmt.Fprintln(c.text(), line)
	return 0
}
