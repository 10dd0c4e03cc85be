package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/identity"
)

// defaultKeys is the keys file of the service that the packages install.
const defaultKeys = "/etc/brig/keys.yaml"

// KeyCommand is brig key.
func KeyCommand(c *cli.CLI) *cobra.Command {
	return c.Group("key", `
Create and remove keys of brig serve. The holder of a key can run programs, also from other hosts.

Usage:
  brig key add NAME [flags]        add a key to the keys file, which is created if missing
  brig key new NAME [flags]        print a key's line for a file that you write yourself
  brig key ls                      list the names of the keys and their limits
  brig key rotate NAME             give a key a new secret; its limits and what it owns stay
  brig key rm NAME...              remove keys from the keys file

Examples:
  sudo brig key add teacher --admin
  sudo brig key add judge --runs 2 --volumes 1G
  sudo brig key rotate judge >judge.key
  sudo brig serve --keys `+defaultKeys, []cli.Command{
		{Name: "add", Short: "create a key and add it to the keys file", Make: keyAdd},
		{Name: "ls", Short: "list the keys of the keys file", Make: keyList},
		{Name: "rotate", Short: "give a key of the keys file a new secret", Make: keyRotate},
		{Name: "rm", Short: "remove keys from the keys file", Make: keyRemove},
		{Name: "new", Short: "create a key and print its line for the keys file", Make: keyNew},
	})
}

// keyLimitFlags defines the flags that limit what a key's holder may do.
func keyLimitFlags(f *pflag.FlagSet, k *auth.Key) {
	f.IntVar(&k.Runs, "runs", 0, "maximum concurrent runs (default: the number of slots)")
	f.IntVar(&k.Waiting, "waiting", 0, "maximum requests in the queue (default: the size of the queue)")
	f.IntVar(&k.Sessions, "sessions", 0, "maximum concurrent sessions (default: a share that leaves some for other keys)")
	f.Var(&k.Memory, "memory",
		"maximum memory reserved for all of its sessions together, with swap and scratch (default: a share that "+
			"leaves some for other keys)")
	f.IntVar(&k.Bodies, "bodies", 0,
		"maximum concurrent uploads of request bodies and downloads of session files (default: an eighth of the service's)")
	f.Var(&k.Blobs, "blobs", "maximum total size of its blobs (default 1G)")
	f.Var(&k.Volumes, "volumes", "maximum total size of its volumes (default: a share that leaves some for other keys)")
	f.IntVar(&k.Problems, "problems", 0, "maximum stored problems (default 1000)")
	f.Var(&k.ProblemBytes, "problem-bytes",
		"maximum total size of its stored problems (default: a share that leaves some for other keys)")
	f.IntVar(&k.Batches, "batches", 0,
		"maximum batches that have not ended (default: a share that leaves some for other keys)")
	f.Var(&k.BatchBytes, "batch-bytes",
		"maximum size of its batches on disk (default: a share that leaves some for other keys)")
	f.IntVar(&k.Weight, "weight", 0, "maximum weight of a run or session (default: the agent's ceiling)")
	f.Float64Var(&k.CPUs, "cpus", 0,
		"maximum processors that a run or session uses at once (default: the agent's ceiling)")
	f.StringVar((*string)(&k.Mode), "mode", "",
		"mode of its runs that do not set one: strict, fresh or exclusive (default the agent's, strict)")
	f.BoolVar(&k.Admin, "admin", false, "may see the history, statistics and alerts of all keys, and /metrics")
	f.Var(&k.Profiles, "may-profile",
		"seccomp profile `NAME` that it may use, in addition to strict, default and a language's own (repeatable)")
	f.StringVar(&k.Network, "may-network", "",
		"most `NETWORK` that its runs may request: none, loopback, allow or public, within --network of the service (default none)")
	f.BoolVar(&k.Packages, "may-install", false, "may name packages in requirements, if the service installs them")
	f.BoolVar(&k.HostFiles, "may-read-src", false,
		"may have its commands read files of the host, below --go-judge-src of the service")
	f.BoolVar(&k.ProfileLog, "may-profile-log", false,
		"may use profile_mode log, in which calls that the profile denies are allowed and logged")
	f.BoolVar(&k.OwnImage, "may-own-image", false,
		"may have sessions whose programs own the image and see themselves as root, without privilege")
}

func keyAdd(c *cli.CLI) *cobra.Command {
	var key auth.Key
	k, f := cli.NewCommand("key add", `
Create a random key and add its line to the keys file. The key itself is printed to stdout,
once, and stored nowhere. A missing file is created, writable by root and readable by the
service's group: that of the user brig-gateway, or `+fmt.Sprint(identity.FallbackID)+` if there is no such user. A
running service accepts the key within three seconds. The flags limit what the key's
holder may do; they can be changed in its line later.

Usage:
  brig key add NAME [flags]

Examples:
  sudo brig key add teacher --admin
  sudo brig key add judge --runs 2 --volumes 1G >judge.key
  brig key add me --file keys.yaml`)

	file := keyFileFlag(f)
	group := f.String("group", "",
		fmt.Sprintf("`GROUP` that may read a new file, by name or number (default: that of the user %s, or %d)",
			identity.DefaultUser, identity.FallbackID))
	keyLimitFlags(f, &key)
	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return c.Hint("key add", errors.New("brig key add needs the NAME of the key's holder"))
		}

		key.Name = f.Arg(0)
		gid, err := readersGroup(*group)
		if err != nil {
			return c.Hint("key add", err)
		}

		made, err := auth.AddKey(*file, gid, key, func(token string) error {
			if _, err := fmt.Fprintln(c.Text(), token); err != nil {
				return fmt.Errorf("the key could not be printed, and was not added: %w: send stdout elsewhere", err)
			}
			return nil
		})
		if err != nil {
			return c.Fail(keysError(err))
		}

		what := "added to"
		if made {
			what = "the first of the new file"
		}

		c.Note("this is the key of %s, %s %s: it is not shown again", key.Name, what, *file)
		return 0
	})
}

// readersGroup returns the id of the group that may read a keys file. Below zero it is the caller's
// own group, the only one that a caller without root can give a file to.
func readersGroup(name string) (int, error) {
	if name == "" {
		if os.Geteuid() != 0 {
			return -1, nil
		}
		service, err := identity.Choose("")
		return service.GID, err
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

func keyNew(c *cli.CLI) *cobra.Command {
	var key auth.Key
	k, f := cli.NewCommand("key new", `
Create a random key. Its line for the keys file goes to stdout. The key itself goes to
stderr, and is stored nowhere. The flags limit what the key's holder may do; they can be
changed in its line later. brig key add writes the file too.

Usage:
  brig key new NAME [flags]

Example:
  brig key new judge --runs 2 | sudo tee -a `+defaultKeys)

	keyLimitFlags(f, &key)
	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return c.Hint("key new", fmt.Errorf("brig key new needs the NAME of the key's holder"))
		}

		key.Name = f.Arg(0)
		token, line, err := auth.NewKey(key)
		if err != nil {
			return c.Hint("key new", err)
		}
		if _, err := fmt.Fprintf(terminal.Writer{To: c.Stderr}, "the key of %s: %s\n", key.Name, token); err != nil {
			return cli.ExitBrig // the key is lost, so its line is of no use; stderr cannot take an error either
		}

		fmt.Fprintln(c.Text(), line)
		return 0
	})
}

// keyFileFlag defines the flag that names the keys file.
func keyFileFlag(f *pflag.FlagSet) *string { return f.String("file", defaultKeys, "the keys `FILE`") }

// keysError is the error of a command that reads or changes the keys file.
func keysError(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: use sudo, or choose a file that you own with --file", err)
	}
	return err
}

// listedKey is a key as brig key ls --json prints it.
type listedKey struct {
	Name   string         `json:"name"`
	Limits map[string]any `json:"limits"`
	line   string
}

func keyList(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("key ls", `
List the keys of the keys file, with the limits of each. The file has no secrets, only their
digests.

Usage:
  brig key ls [--json] [--file FILE]

Example:
  sudo brig key ls`)

	file := keyFileFlag(f)
	asJSON := cli.JSONFlag(f)
	return c.Does(k, func() int {
		if f.NArg() > 0 {
			return c.Hint("key ls", fmt.Errorf("key ls takes no argument %q", f.Arg(0)))
		}

		keys, err := auth.ListKeys(*file)
		if err != nil {
			return c.Fail(keysError(err))
		}

		all := []listedKey{}
		for _, k := range keys {
			all = append(all, listedKey{Name: k.Name, Limits: k.Settings(), line: k.Limits()})
		}

		err = cli.PrintList(c, *asJSON, all, "KEY\tLIMITS", func(k listedKey) string { return k.Name + "\t" + k.line })
		if err != nil {
			return c.Fail(err)
		}
		return 0
	})
}

func keyRotate(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("key rotate", `
Give a key a new secret, which is printed to stdout, once. The old one ends within three
seconds. The limits of the key stay, and so do its runs, sessions, batches, problems and volumes.

Usage:
  brig key rotate NAME [--file FILE]

Example:
  sudo brig key rotate judge >judge.key`)

	file := keyFileFlag(f)
	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return c.Hint("key rotate", errors.New("brig key rotate needs the NAME of one key"))
		}

		err := auth.RotateKey(*file, f.Arg(0), func(token string) error {
			if _, err := fmt.Fprintln(c.Text(), token); err != nil {
				return fmt.Errorf("the key could not be printed, and the old one stays: %w: send stdout elsewhere", err)
			}
			return nil
		})
		if err != nil {
			return c.Fail(keysError(err))
		}

		c.Note("this is the new key of %s in %s: it is not shown again, and the old one ends within three seconds", f.Arg(0),
			*file)
		return 0
	})
}

func keyRemove(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("key rm", `
Remove keys from the keys file. A running service refuses them within three seconds. What a
key has begun ends as usual; its problems and volumes stay, for a key of the same name.

Usage:
  brig key rm NAME... [--file FILE]

Example:
  sudo brig key rm judge`)

	file := keyFileFlag(f)
	return c.Does(k, func() int {
		if f.NArg() == 0 {
			return c.Hint("key rm", errors.New("brig key rm needs the NAME of a key"))
		}
		for _, name := range f.Args() {
			if err := auth.RemoveKey(*file, name); err != nil {
				return c.Fail(keysError(err))
			}
			c.Note("removed the key of %s from %s: the service refuses it within three seconds", name, *file)
		}
		return 0
	})
}
