// Package service is brig's public service: HTTP for judges, course sites and agent frameworks. It
// has no privileges. The agent behind a socket runs the programs. The gateway authenticates
// callers, queues requests and records the outcome of every run.
//
// Whatever a program does is a verdict, and HTTP 200. Errors are RFC 9457 problems with a stable
// code.
package service

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/batches"
	"github.com/brig-sandbox/brig/service/blobs"
	"github.com/brig-sandbox/brig/service/connlimit"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/hostfiles"
	"github.com/brig-sandbox/brig/service/links"
	"github.com/brig-sandbox/brig/service/metrics"
	"github.com/brig-sandbox/brig/service/openapi"
	"github.com/brig-sandbox/brig/service/operator"
	"github.com/brig-sandbox/brig/service/packages"
	"github.com/brig-sandbox/brig/service/page"
	"github.com/brig-sandbox/brig/service/permits"
	"github.com/brig-sandbox/brig/service/problems"
	"github.com/brig-sandbox/brig/service/runs"
	"github.com/brig-sandbox/brig/service/sessions"
	"github.com/brig-sandbox/brig/service/submissions"
)

// Config has the parts and settings of a Gateway. Agent and History are required.
type Config struct {
	core.Config
	ReadProblem problems.Reader   // reads packages of problems; nil: none are stored
	Dialects    []dialect.Dialect // answered below /NAME/ of the service's own listeners
	HostFiles   *hostfiles.Folder // what requests of dialects may name by its path; nil: no file of the host
	Site        operator.Site     // what the operator is shown of the machine
}

// A Gateway is the HTTP service: a core and the parts that answer requests. Call Serve only once.
type Gateway struct {
	core     *core.Core
	blobs    *blobs.Blobs
	kept     *blobs.Kept
	permits  *permits.Permits
	installs *packages.Installations
	problems *problems.Problems
	runs     *runs.Runs
	links    *links.Links
	sessions *sessions.Sessions
	batches  *batches.Batches
	records  *records
	operator *operator.Operator

	submissions *submissions.Submissions // of dialects
	hostFiles   *hostfiles.Folder        // that requests of dialects may name; nil: none
	tools       http.Handler             // of /mcp
	page        http.Handler             // below /ui/
	dialects    map[string]http.Handler  // by the first part of the path
	mux         *http.ServeMux
	doc         []byte // OpenAPI
}

// New creates a Gateway. It asks the agent for its number of slots; an agent that does not answer
// is asked again later.
func New(ctx context.Context, cfg Config) (*Gateway, error) {
	cfg.Config = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}

	g := &Gateway{core: core.New(cfg.Config), hostFiles: cfg.HostFiles}
	g.blobs = &blobs.Blobs{Core: g.core}
	g.kept = &blobs.Kept{Blobs: g.blobs}
	g.permits = &permits.Permits{Core: g.core}
	g.installs = packages.New(g.core)
	g.records = &records{g.core}
	var err error
	if g.problems, err = problems.New(g.core, g.blobs, cfg.ReadProblem); err != nil {
		return nil, err
	}

	// Runs need stored problems, and the verification of a stored problem needs runs. So Execute is set
	// when both exist.
	g.runs = runs.New(g.core, g.blobs, g.permits, g.installs, g.problems)
	g.problems.Execute = g.runs.ExecuteJob
	g.submissions = submissions.New(g.core, g.runs)
	if g.links, err = links.New(ctx, g.core, g.runs); err != nil {
		return nil, err
	}
	if g.sessions, err = sessions.New(g.core, g.permits, g.installs, g.runs); err != nil {
		return nil, err
	}

	g.operator = operator.New(g.core, g.health, g.sessions.Of, cfg.Site)

	// Batches take a function of the metrics when they are made, so the metrics come first. The checks
	// below need the agent's answer; an agent that does not answer refuses nothing.
	g.core.Metrics = metrics.New(g.metricsNow)
	g.core.RefreshAgent(ctx)
	if g.batches, err = batches.New(g.core, g.blobs, g.permits, g.problems, g.runs); err != nil {
		return nil, err
	}

	// The agent would refuse these settings in each run. They are an error now, while the operator looks
	// at the start of the service.
	if names := g.permits.UselessProfileLog(); len(names) > 0 {
		return nil, api.Refuse(api.CodeForbidden,
			"profile_log is set on the keys %s, but the agent allows profile_mode log only to root: start it with "+
				"brigd --profile-log (if brig serve starts it: --agent-arg=--profile-log), or remove profile_log "+
				"from the keys", strings.Join(names, ", "))
	}
	if maximum, unoffered := g.permits.UnofferedNetwork(); unoffered {
		return nil, api.Refuse(api.CodeForbidden,
			"network is %s, but the agent offers callers other than root %s at most: start it with brigd --network "+
				"%[1]s, or set network to %[2]s (brig serve --network %[2]s)", cfg.Network, maximum)
	}
	if g.permits.UnofferedPackages() {
		return nil, api.Refuse(api.CodeForbidden,
			"packages are offered, but the agent installs them for root alone: start it with brigd --packages, or "+
				"leave out --packages and the indexes of brig serve")
	}

	g.permits.WarnUselessNetworks()
	routes := g.routes()
	if g.doc, err = openapi.Document(routes, cfg.Version); err != nil {
		return nil, err
	}

	g.tools = g.toolsHandler()
	g.page = page.New(g.core)
	g.dialects = map[string]http.Handler{}
	for _, d := range cfg.Dialects {
		g.dialects[d.Name] = http.StripPrefix("/"+d.Name, g.newDialectHandler(d))
	}
	g.mux = g.muxOf(routes)
	return g, nil
}

const (
	lastResponses = 5 * time.Second  // for clients to read their responses when all runs have ended
	sessionsEnd   = 10 * time.Second // for the agent to end all sessions
)

// Serve handles requests on ln, and those of dialects on listeners of their own, until ctx is done. Then it admits
// nothing new, lets runs go on for Grace, cancels the rest, and returns when nothing is left.
func (g *Gateway) Serve(ctx context.Context, ln net.Listener, foreign ...DialectListener) error {
	defer g.core.KillAll()
	g.core.KeepAudit(ctx, api.AuditEntry{Time: time.Now().UTC(), Action: api.AuditServiceStarted, Subject: "brig " + g.core.Config.Version})

	limits := connlimit.New(g.core.Config.MaxConns, g.core.Config.MaxConnsPerAddr)
	web := &servers{ended: make(chan error, 1+len(foreign))}
	web.serve(g.newServer(g), g.listener(limits, ln))
	for _, f := range foreign {
		web.serve(g.newServer(g.newDialectHandler(f.Dialect)), g.listener(limits, f.Listener))
	}

	var loops sync.WaitGroup
	loops.Go(func() { g.core.RefreshAgentLoop(g.core.Stopping) })
	loops.Go(func() { g.sessions.Janitor(g.core.Stopping) })
	loops.Go(func() { g.operator.Watch(g.core.Stopping) })
	if g.core.Config.Keys != nil {
		loops.Go(func() { g.reloadKeysLoop(g.core.Stopping) })
	}
	defer loops.Wait()

	if g.batches.Store != nil {
		g.batches.Store.Start(g.core.Stopping)
		defer g.batches.Store.Wait()
	}
	defer g.core.Stop()

	var broken error
	select {
	case broken = <-web.ended: // a listener failed
	case <-ctx.Done():
	}

	g.core.Stop()
	if broken != nil {
		g.core.KillAll()
		err := errors.Join(broken, web.close())
		g.core.Wait()
		web.wait()
		return err
	}

	stopped := context.WithoutCancel(ctx)
	var shutdown sync.WaitGroup
	defer shutdown.Wait()

	grace, cancel := context.WithTimeout(stopped, g.core.Config.Grace)
	defer cancel()

	// Requests that wait for a run still get its result or its cancellation.
	end, cancelEnd := context.WithTimeout(stopped, g.core.Config.Grace+lastResponses)
	defer cancelEnd()

	shutdown.Go(func() {
		if <-grace.Done(); errors.Is(grace.Err(), context.DeadlineExceeded) {
			g.core.KillAll()
			g.sessions.EndBusy(end)
		}
	})

	// Until then requests are still answered: a supervisor that gets no answer to its health check
	// would end the service within its grace period.
	finished := make(chan struct{})
	shutdown.Go(func() { g.core.Wait(); close(finished) })
	select {
	case <-finished:
	case <-end.Done():
	}

	g.runs.Active.EndEventLogs()
	err := web.shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) { // a client does not read its response: no session may outlive the service because of it
		g.core.Log.Warn("connections closed: their clients did not read the response in time", "after", g.core.Config.Grace+lastResponses)
		err = web.close()
	} else if err != nil {
		err = errors.Join(err, web.close())
	}

	ends, cancelEnds := context.WithTimeout(stopped, sessionsEnd)
	defer cancelEnds()

	if serr := g.sessions.EndAll(ends); serr != nil {
		g.core.Log.Error("sessions not ended", "err", serr) // the next process does it
	}

	web.wait()
	return err
}

// ServeHTTP handles one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if h := g.dialects[first]; h != nil {
		h.ServeHTTP(w, r)
		return
	}

	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'") // protects against clickjacking by a foreign page (API-11)
	if err := connlimit.Admit(w, r); errors.Is(err, net.ErrClosed) {
		return
	} else if err != nil {
		g.core.Refuse(w, r, err)
		return
	}
	if err := g.core.CheckBrowser(r); err != nil {
		g.core.Refuse(w, r, err)
		return
	}
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil { // a parameter that cannot be parsed must not silently be left out of a filter
		g.core.Refuse(w, r, api.Refuse(api.CodeBadRequest, "the query parameters %.200q: %w", r.URL.RawQuery, err))
		return
	}
	if p := r.URL.Path; strings.HasPrefix(p, "/v1/sessions/") && path.Clean(p) != p { // ServeMux would redirect to another file (FIO-03)
		g.core.Refuse(w, r, api.Refuse(api.CodeBadFile, "the path %.200q has an empty part, . or ..: leave that part out", p))
		return
	}
	if no, pattern := g.mux.Handler(r); pattern == "" {
		g.notFound(no, w, r)
		return
	}

	g.mux.ServeHTTP(w, r)
}
