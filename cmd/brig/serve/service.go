package serve

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/service/client"
)

// maxAnswer limits an answer of the service. One run, or a page of runs, takes less.
const maxAnswer = 256 * api.MiB

// serviceText is in the help of every command that calls brig serve.
const serviceText = `The service's address is $BRIG_URL, or ` + cli.ServiceURL + `; its key is $BRIG_API_KEY.`

// urlFlag defines the flag of commands that call brig serve.
func urlFlag(f *pflag.FlagSet) *string { return f.String("url", "", "the service's `ADDRESS`") }

// A serviceHandle is a client of brig serve, with its address and key.
type serviceHandle struct {
	*client.Client
	at, key string
}

// explain adds a remedy to an error of the service.
func (s serviceHandle) explain(err error) error { return explainServiceError(err, s.at, s.key) }

// checkAddress refuses what is not the address of a service.
func checkAddress(at string) error {
	if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("address %q: write it as %s", at, cli.ServiceURL)
	}
	return nil
}

// serviceTimeout is how long most commands wait for the service.
const serviceTimeout = 30 * time.Second

// withService calls do with the service at base, or at the address in the environment, for at most
// serviceTimeout.
func withService(c *cli.CLI, name, base string, do func(ctx context.Context, s serviceHandle) error) int {
	return withServiceFor(c, name, base, serviceTimeout, do)
}

func withServiceFor(c *cli.CLI, name, base string, timeout time.Duration,
	do func(ctx context.Context, s serviceHandle) error) int {
	at := base
	if at == "" {
		at = c.Env("BRIG_URL")
	}
	if at == "" {
		at = cli.ServiceURL
	}
	if err := checkAddress(at); err != nil {
		return c.Hint(name, err)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	key := c.Env("BRIG_API_KEY")
	s := serviceHandle{client.New(at, key), at, key}
	s.MaxAnswer = maxAnswer
	if err := do(ctx, s); err != nil {
		return c.Fail(s.explain(err))
	}
	return 0
}
