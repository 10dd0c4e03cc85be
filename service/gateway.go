// Package service is brig's public service: HTTP for judges, course sites and agent frameworks. It
// has no privileges. The agent behind a socket runs the programs. The gateway authenticates
// callers, queues requests and records the outcome of every run.
//
// Whatever a program does is a verdict, and HTTP 200. Errors are RFC 9457 problems with a stable
// code.
package service

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/connlimit"
	"github.com/brig-sandbox/brig/service/history"
	"github.com/brig-sandbox/brig/service/metrics"
)

// Config has the parts and settings of a Gateway. Agent and History are required.
type Config struct {
	Agent   *client.Client
	History *history.Store
	Keys    *auth.Keys  // nil: every client that reaches the listener may do everything
	TLS     *tls.Config // nil: plain HTTP
	Version string
	Log     *slog.Logger // nil: no log

	QueuePlaces     int                        // in the queue; zero: a request that cannot run at once is refused
	Wait            time.Duration              // longest wait for a slot; zero means 60 s
	MaxBody         api.Size                   // of a request; zero: api.MaxBody
	MaxAnswers      api.Size                   // of all large responses together, shared by the keys; zero means 384 MiB
	MaxBlob         api.Size                   // of one blob; zero: api.MaxBlob
	MaxBodies       int                        // concurrent request uploads and downloads of session files; zero means 256
	MaxConns        int                        // concurrent connections; zero means 4096
	MaxConnsPerAddr int                        // the same from one remote address other than this host's; zero means an eighth
	Grace           time.Duration              // on shutdown, how long runs may go on; zero means 10 s
	Sessions        string                     // file for the ids of sessions; empty: sessions that a killed gateway leaves end when they are idle
	Network         string                     // most that runs may request, see api.Networks; empty: none
	EgressAllow     []api.AllowRule            // most that runs may list in allow; none: any host
	EgressInternal  []api.AllowRule            // addresses with ports that runs may reach although they are this host's, or reserved
	Packages        bool                       // packages are installed for runs and sessions, from the indexes of the languages
	Batches         string                     // directory of the batches; empty: the service takes none
	BatchSlots      int                        // slots that jobs of batches hold at once; zero: all but one
	BatchKeep       time.Duration              // how long a batch stays after its end; zero means 7 days
	BatchBytes      api.Size                   // of all batches on disk; zero means 16 GiB
	Indexes         map[api.PackageKind]string // URLs of the operator's own indexes; packages of these kinds are installed in any case
	Problems        string                     // directory of stored problems; empty: none are stored
	MaxProblems     api.Size                   // of all stored problems together; zero means 4 GiB
	ReadProblem     ProblemReader              // reads their packages
	Names           []string                   // host names of the service, in addition to localhost and IP addresses; empty with keys: any
}

// A Gateway is the HTTP service: a core and the parts that answer requests. Call Serve only once.
type Gateway struct {
	*core
	blobs    *blobs
	permits  *permits
	installs *installations
	problems *storedProblems
	runs     *runs
	sessions *sessions
	batches  *batchRoutes
	records  *records
	mux      *http.ServeMux
	doc      []byte // OpenAPI
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

// New creates a Gateway. It asks the agent for its number of slots; an agent that does not answer
// is asked again later.
func New(ctx context.Context, cfg Config) (*Gateway, error) {
	cfg = cfg.WithDefaults()
	if err := errors.Join(cfg.validNetwork(), cfg.validPackages()); err != nil {
		return nil, err
	}

	g := &Gateway{core: newCore(cfg)}
	g.blobs = &blobs{core: g.core}
	g.permits = &permits{core: g.core}
	g.installs = newInstallations(g.core)
	g.records = &records{g.core}
	var err error
	if g.problems, err = openProblems(g.core, g.blobs); err != nil {
		return nil, err
	}

	g.runs = &runs{core: g.core, blobs: g.blobs, permits: g.permits, installs: g.installs, problems: g.problems,
		active: newActiveRuns()}
	g.problems.execute = g.runs.executeJob
	if g.sessions, err = openSessions(g.runs); err != nil {
		return nil, err
	}

	g.metrics = metrics.New(g.metricsNow)
	g.refreshAgent(ctx)
	if g.batches, err = openBatches(g.runs); err != nil {
		return nil, err
	}
	if names := g.permits.uselessProfileLog(); len(names) > 0 {
		return nil, api.Refuse(api.CodeForbidden,
			"profile_log is set on the keys %s, but the agent allows profile_mode log only to root: start it with brigd --profile-log (if brig serve starts it: --agent-arg=--profile-log), or remove profile_log from the keys", strings.Join(names, ", "))
	}
	if most, unoffered := g.permits.unofferedNetwork(); unoffered {
		return nil, api.Refuse(api.CodeForbidden,
			"network is %s, but the agent offers callers other than root %s at most: start it with brigd --network %[1]s, or set network to %[2]s (brig serve --network %[2]s)", cfg.Network, most)
	}
	if g.permits.unofferedPackages() {
		return nil, api.Refuse(api.CodeForbidden,
			"packages are offered, but the agent installs them for root alone: start it with brigd --packages, or leave out --packages and the indexes of brig serve")
	}

	g.permits.warnUselessNetworks()
	routes := g.routes()
	if g.doc, err = document(routes, cfg.Version); err != nil {
		return nil, err
	}

	g.mux = g.muxOf(routes)
	return g, nil
}

const (
	lastResponses = 5 * time.Second  // for clients to read their responses when all runs have ended
	sessionsEnd   = 10 * time.Second // for the agent to end all sessions
)

// Serve handles requests on ln until ctx is done. Then it admits nothing new, lets runs go on for
// Grace, cancels the rest, and returns when nothing is left.
func (g *Gateway) Serve(ctx context.Context, ln net.Listener) error {
	defer g.killAll()

	web := &http.Server{
		Handler:           g,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       120 * time.Second, // for the body
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ConnContext:       connlimit.ConnContext,
		ConnState:         connlimit.ConnState,
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}

	served := make(chan error, 1)
	ln = connlimit.NewListener(ln, g.cfg.MaxConns, g.cfg.MaxConnsPerAddr)
	if g.cfg.TLS != nil { // must be outermost: only then do the server's timeouts apply to the handshake, and does it answer clients without TLS
		ln = tls.NewListener(ln, g.cfg.TLS)
	}

	go func() { served <- web.Serve(ln) }()
	var loops sync.WaitGroup
	loops.Go(func() { g.refreshAgentLoop(g.stopping) })
	loops.Go(func() { g.sessions.janitor(g.stopping, g.sessions.stale) })
	if g.cfg.Keys != nil {
		loops.Go(func() { g.reloadKeysLoop(g.stopping) })
	}
	defer loops.Wait()

	if g.batches.store != nil {
		g.batches.store.Start(g.stopping)
		defer g.batches.store.Wait()
	}
	defer g.stop()

	var broken error
	select {
	case broken = <-served: // the listener failed
	case <-ctx.Done():
	}

	g.mu.Lock()
	g.stop()
	g.mu.Unlock()
	if broken != nil {
		g.killAll()
		err := errors.Join(broken, web.Close())
		g.wg.Wait()
		return err
	}

	stopped := context.WithoutCancel(ctx)
	var shutdown sync.WaitGroup
	defer shutdown.Wait()

	grace, cancel := context.WithTimeout(stopped, g.cfg.Grace)
	defer cancel()

	// Requests that wait for a run still get its result or its cancellation.
	end, cancelEnd := context.WithTimeout(stopped, g.cfg.Grace+lastResponses)
	defer cancelEnd()

	shutdown.Go(func() {
		if <-grace.Done(); errors.Is(grace.Err(), context.DeadlineExceeded) {
			g.cancelRemaining(end)
		}
	})

	// Until then requests are still answered: a supervisor that gets no answer to its health check
	// would end the service within its grace period.
	finished := make(chan struct{})
	shutdown.Go(func() { g.wg.Wait(); close(finished) })
	select {
	case <-finished:
	case <-end.Done():
	}

	g.runs.active.endEventLogs()
	err := web.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) { // a client does not read its response: no session may outlive the service because of it
		g.log.Warn("connections closed: their clients did not read the response in time", "after", g.cfg.Grace+lastResponses)
		err = web.Close()
	} else if err != nil {
		err = errors.Join(err, web.Close())
	}

	ends, cancelEnds := context.WithTimeout(stopped, sessionsEnd)
	defer cancelEnds()

	if serr := g.sessions.endSessions(ends, g.sessions.registry.list(), stoppingReason); serr != nil {
		g.log.Error("sessions not ended", "err", serr) // the next process does it
	}

	<-served //nolint:errcheck // http.ErrServerClosed
	return err
}

// cancelRemaining ends the remaining runs when the grace period is over. To end an exec it ends the session,
// which the agent then reports in the exec's result. The state of the session is lost, and the
// caller gets the output and usage so far.
func (g *Gateway) cancelRemaining(ctx context.Context) {
	g.killAll()
	var ends sync.WaitGroup
	for _, id := range g.sessions.execs.Keys() {
		ends.Go(func() { // concurrently: a session whose volume is still being written delays no other
			if err := g.sessions.endSessions(ctx, []string{id}, stoppingReason); err != nil {
				g.log.Error("session not ended", "session", id, "err", err)
			}
		})
	}
	ends.Wait()
}

const stoppingReason = "the service stops"

// ServeHTTP handles one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'") // protects against clickjacking by a foreign page (API-11)
	if err := connlimit.Admit(w, r); errors.Is(err, net.ErrClosed) {
		return
	} else if err != nil {
		g.refuse(w, r, err)
		return
	}
	if err := g.checkBrowser(r); err != nil {
		g.refuse(w, r, err)
		return
	}
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil { // a parameter that cannot be parsed must not silently be left out of a filter
		g.refuse(w, r, api.Refuse(api.CodeBadRequest, "the query parameters %.200q: %w", r.URL.RawQuery, err))
		return
	}
	if p := r.URL.Path; strings.HasPrefix(p, "/v1/sessions/") && path.Clean(p) != p { // ServeMux would redirect to another file (FIO-03)
		g.refuse(w, r, api.Refuse(api.CodeBadFile, "the path %.200q has an empty part, . or ..: leave that part out", p))
		return
	}
	if no, pattern := g.mux.Handler(r); pattern == "" {
		g.notFound(no, w, r)
		return
	}

	g.mux.ServeHTTP(w, r)
}
