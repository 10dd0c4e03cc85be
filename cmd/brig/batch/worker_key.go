package batch

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/batch/jetstream"
	"github.com/brig-sandbox/brig/batch/keys"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

const workerKeyUsage = `
Make the key with which a worker connects to the engine of this machine's batches. It is
printed once: keep it secret. A new key for the same name replaces the earlier one, when
the next batch starts.

Usage:
  brig worker-key NAME --engine tls://HOST:PORT > NAME.key
  brig worker-key --remove NAME
  brig worker-key --list

Examples:
  sudo brig worker-key node2 --engine tls://10.0.0.1:4222 > node2.key
  sudo brig batch jobs.jsonl --engine-listen 10.0.0.1:4222

For a NATS server of your own: --nats prints what its configuration needs for the worker,
and the key has no certificate.

A worker can take the jobs of its pool, read test data and send any result for jobs of the
pool. It can neither release jobs nor read results.`

// WorkerKeyCommand makes brig worker-key.
func WorkerKeyCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("worker-key", workerKeyUsage)
	url := f.String("engine", "", "`URL` at which the worker reaches the engine")
	pool := f.String("pool", jetstream.DefaultPool, "`NAME` of the pool whose jobs the worker may take")
	remove := f.Bool("remove", false, "remove the worker: it cannot connect to the next batch")
	list := f.Bool("list", false, "list the workers")
	asJSON := f.Bool("json", false, "with --list: print JSON")
	forNATS := f.Bool("nats", false, "print on stderr what the configuration of a NATS server needs, and keep nothing")
	var in string
	keysFlag(f, &in)
	return c.Does(k, func() int {
		dir, err := keys.Dir(in)
		if err != nil {
			return c.Fail(err)
		}

		if *list {
			all, err := keys.Workers(dir)
			if err != nil {
				return c.Fail(err)
			}
			if *asJSON {
				c.Stdout.Write(cli.Marshal(all))
				return 0
			}
			for _, w := range all {
				fmt.Fprintf(c.Stdout, "%-20s %-20s %s\n", w.Name, w.Pool, w.Key)
			}
			return 0
		}

		if f.NArg() != 1 {
			return c.Hint("worker-key", errors.New("name one worker"))
		}

		name := f.Arg(0)
		if err := errors.Join(jetstream.CheckName("worker", name), jetstream.CheckName("pool", *pool)); err != nil {
			return c.Hint("worker-key", err)
		}
		if *remove {
			if err := keys.Remove(dir, name); err != nil {
				return c.Fail(err)
			}
			return 0
		}
		if *url == "" {
			return c.Hint("worker-key", errors.New("say where the worker reaches the engine: --engine tls://HOST:PORT"))
		}
		if err := jetstream.CheckURL(*url); err != nil {
			return c.Hint("worker-key", fmt.Errorf("--engine %w", err))
		}

		key := keys.Key{Name: name, Pool: *pool, Engine: *url}
		if *forNATS {
			err = natsKey(c, &key)
		} else if _, key.Certificate, err = keys.Certificate(dir); err == nil {
			key.Seed, err = keys.Add(dir, name, *pool)
		}
		if err != nil {
			return c.Fail(err)
		}
		if err := keepSecret(c.Stdout); err != nil {
			return c.Fail(err)
		}

		c.Stdout.Write(cli.Marshal(key))
		return 0
	})
}

// keepSecret lets nobody but the owner read the file that stdout is: brig worker-key NAME > FILE is to give away no
// private key.
func keepSecret(stdout io.Writer) error {
	f, ok := cli.Underlying(stdout).(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return f.Chmod(0o600)
}

// natsKey makes a key for a NATS server elsewhere, and prints the entry of its configuration.
func natsKey(c *cli.CLI, k *keys.Key) error {
	seed, public, err := jetstream.NewKey()
	if err != nil {
		return err
	}
	k.Seed = seed
	fmt.Fprintf(c.Stderr, "# for accounts { NAME { jetstream: enabled, users: [ ... ] } } of the NATS server: the "+
		"account of the pool %s\n%s", k.Pool, jetstream.WorkerConfig(k.Name, k.Pool, public))
	return nil
}
