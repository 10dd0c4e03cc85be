package core

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/history"
)

// Defaults of the batches of a service.
const (
	batchKeep  = 7 * 24 * time.Hour
	batchBytes = 16 * api.GiB
)

// Config has the settings of the service. Agent and History are required.
type Config struct {
	Agent   *client.Client
	History *history.Store

	KeepRequests bool // the history keeps source and stdin of runs, for the key that sent them

	Keys    *auth.Keys  // nil: every client that reaches the listener may do everything
	TLS     *tls.Config // nil: plain HTTP
	Version string
	Log     *slog.Logger // nil: no log

	QueuePlaces     int           // in the queue; zero: a request that cannot run at once is refused
	Wait            time.Duration // longest wait for a slot; zero means 60 s
	MaxBody         api.Size      // of a request; zero: api.MaxBody
	MaxAnswers      api.Size      // of all large responses together, shared by the keys; zero means 384 MiB
	MaxBlob         api.Size      // of one blob; zero: api.MaxBlob
	MaxBodies       int           // concurrent request uploads and downloads of session files; zero means 256
	MaxConns        int           // concurrent connections; zero means 4096
	MaxConnsPerAddr int           // the same from one remote address other than this host's; zero means an eighth
	Grace           time.Duration // on shutdown, how long runs may go on; zero means 10 s
	// file for the ids of sessions; empty: sessions that a killed gateway leaves end when they are idle
	Sessions       string
	Network        string                     // most that runs may request, see api.Networks; empty: none
	EgressAllow    []api.AllowRule            // most that runs may list in allow; none: any host
	EgressInternal []api.AllowRule            // addresses with ports that runs may reach although they are this host's, or reserved
	Packages       bool                       // packages are installed for runs and sessions, from the indexes of the languages
	Batches        string                     // directory of the batches; empty: the service takes none
	BatchSlots     int                        // slots that jobs of batches hold at once; zero: all but one
	BatchKeep      time.Duration              // how long a batch stays after its end; zero means 7 days
	BatchBytes     api.Size                   // of all batches on disk; zero means 16 GiB
	Indexes        map[api.PackageKind]string // URLs of the operator's own indexes; packages of these kinds are installed in any case
	Problems       string                     // directory of stored problems; empty: none are stored
	MaxProblems    api.Size                   // of all stored problems together; zero means 4 GiB
	Names          []string                   // host names of the service, in addition to localhost and IP addresses; empty with keys: any
}

// WithDefaults returns the configuration with the default in place of each zero.
func (cfg Config) WithDefaults() Config {
	cfg.Wait = cmp.Or(cfg.Wait, 60*time.Second)
	cfg.MaxBody = cmp.Or(cfg.MaxBody, api.MaxBody)
	cfg.MaxAnswers = cmp.Or(cfg.MaxAnswers, 384*api.MiB)
	cfg.MaxBlob = cmp.Or(cfg.MaxBlob, api.MaxBlob)
	cfg.MaxProblems = cmp.Or(cfg.MaxProblems, 4*api.GiB)
	cfg.MaxConns = cmp.Or(cfg.MaxConns, 4096)
	cfg.MaxConnsPerAddr = cmp.Or(cfg.MaxConnsPerAddr, max(cfg.MaxConns/8, 1))
	cfg.MaxBodies = cmp.Or(cfg.MaxBodies, 256)
	cfg.BatchKeep = cmp.Or(cfg.BatchKeep, batchKeep)
	cfg.BatchBytes = cmp.Or(cfg.BatchBytes, batchBytes)
	cfg.Grace = cmp.Or(cfg.Grace, api.GracePeriod)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return cfg
}

// Validate refuses settings that make no sense.
func (c Config) Validate() error { return errors.Join(c.validNetwork(), c.validPackages()) }

// validNetwork refuses settings that contradict each other.
func (c Config) validNetwork() error {
	switch {
	case c.Network != "" && !slices.Contains(api.Networks(), c.Network):
		return api.Refuse(api.CodeBadRequest, "network %q does not exist: use %s", c.Network,
			strings.Join(api.Networks(), ", "))
	case c.Network == api.NetworkPublic && len(c.EgressAllow) > 0:
		return api.Refuse(api.CodeBadRequest,
			"network public offers every public host, and a list of hosts bounds network allow: set network to allow "+
				"(brig serve --network allow), or leave the list out (--egress-allow)")
	}
	return nil
}

// validPackages refuses an index that is none.
func (c Config) validPackages() error {
	for _, index := range c.Indexes {
		if _, err := api.ParseIndex(index); err != nil {
			return err
		}
	}
	return nil
}

// OffersPackages reports whether the service has packages of any kind installed.
func (c Config) OffersPackages() bool { return c.Packages || len(c.Indexes) > 0 }
