package batch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/batch/jetstream"
	"github.com/brig-sandbox/brig/batch/keys"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/shareddir"
)

// engineOptions say which engine moves the jobs.
type engineOptions struct {
	env    func(string) string
	url    string // of an engine elsewhere; empty: none, or with listen one in this process
	keys   string // directory; empty: the default
	listen string // address at which others reach the engine in this process; empty: there is none
	creds  string // file with credentials for the engine at url
	pool   string
}

// keysFlag adds the flag with the directory of the engine's keys.
func keysFlag(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "keys", "",
		"`DIRECTORY` of the engine's certificate and the workers that may connect (default: "+keys.SystemDir+
			" for root, otherwise brig/engine in $XDG_DATA_HOME)")
}

func (o *engineOptions) register(f *pflag.FlagSet, env func(string) string) {
	o.env = env
	f.StringVar(&o.url, "engine", "",
		"`URL` of a NATS server that moves the jobs, such as nats://10.0.0.1:4222 (default $BRIG_ENGINE)")
	f.StringVar(&o.creds, "creds", "", "`FILE` with the NATS credentials for --engine")
	f.StringVar(&o.pool, "pool", jetstream.DefaultPool, "`NAME` of the workers' pool")
}

func (o *engineOptions) check() error {
	if o.url == "" && o.listen == "" {
		o.url = o.env("BRIG_ENGINE")
	}

	switch {
	case o.url != "" && o.listen != "":
		return errors.New("--engine names an engine elsewhere, and --engine-listen is about one in this process: use one of them")
	case o.url == "" && o.creds != "":
		return errors.New("--creds is for --engine")
	case o.url != "":
		if err := jetstream.CheckURL(o.url); err != nil {
			return fmt.Errorf("--engine %w", err)
		}
	}

	return jetstream.CheckName("pool", o.pool)
}

// shared reports whether there is an engine, which other processes use.
func (o *engineOptions) shared() bool { return o.url != "" || o.listen != "" }

// open starts or connects to the engine, if there is one. The server is nil if it is elsewhere.
func (o *engineOptions) open(ctx context.Context, id string, log *slog.Logger) (*jetstream.Server, *jetstream.Engine, error) {
	target := jetstream.Target{URL: o.url, Creds: o.creds, Pool: o.pool, Log: log}
	if o.url == "" {
		if _, err := cli.MakeCache(cli.EnginesDir); err != nil {
			return nil, nil, err
		}

		config := jetstream.ServerConfig{Dir: o.dir(id), Log: log, Pool: o.pool, Listen: o.listen}
		if err := shareddir.MakePrivate(config.Dir); err != nil {
			return nil, nil, err
		}
		if err := o.readKeys(&config); err != nil {
			return nil, nil, err
		}

		server, err := jetstream.StartServer(config)
		if err != nil {
			return nil, nil, err
		}

		target.Server = server
	}

	engine, err := jetstream.ConnectToRestarting(ctx, target)
	if err != nil && target.Server != nil {
		target.Server.Stop()
	}
	return target.Server, engine, err
}

// dir is the directory of the embedded engine of a batch. It is removed when the batch ends, and used again when
// one that was killed is resumed.
func (o *engineOptions) dir(id string) string {
	return filepath.Join(cli.CacheDir(), cli.EnginesDir, id)
}

// readKeys reads the certificate of this host's engine, and its workers.
func (o *engineOptions) readKeys(config *jetstream.ServerConfig) error {
	dir, err := keys.Dir(o.keys)
	if err != nil {
		return err
	}
	cert, _, err := keys.Certificate(dir)
	if err != nil {
		return err
	}
	config.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
	config.Workers, err = keys.Workers(dir)
	return err
}
