package main

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
	"github.com/brig-sandbox/brig/remote"
)

// serviceURL is where brig serve listens by itself.
const serviceURL = "http://127.0.0.1:8080"

// mostAnswer is more than a service tells of one run, or of a page of them.
const mostAnswer = 256 * api.MiB

// serviceText is of every command that asks brig serve.
const serviceText = `The service's address is $BRIG_URL, or ` + serviceURL + `; its key is $BRIG_API_KEY.`

// urlFlag is the flag of commands that ask brig serve.
func urlFlag(f *pflag.FlagSet) *string { return f.String("url", "", "the service's `ADDRESS`") }

// A serviceHandle is brig serve, as a command asks it.
type serviceHandle struct {
	*remote.Client
	at, key string
}

// explain says what to mend where the service did not answer as it should.
func (s serviceHandle) explain(err error) error { return unexplained(err, s.at, s.key) }

// askService has do ask the service at base, or where the environment says; for 30 s at most.
func (c *console) askService(name, base string, do func(ctx context.Context, s serviceHandle) error) int {
	at := base
	if at == "" {
		at = c.env("BRIG_URL")
	}
	if at == "" {
		at = serviceURL
	}
	if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c.hint(name, fmt.Errorf("address %q: write it as %s", at, serviceURL))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, enough := context.WithTimeout(ctx, 30*time.Second)
	defer enough()
	key := c.env("BRIG_API_KEY")
	s := serviceHandle{remote.New(at, key), at, key}
	s.MaxAnswer = mostAnswer
	if err := do(ctx, s); err != nil {
		return c.fail(s.explain(err))
	}
	return 0
}
