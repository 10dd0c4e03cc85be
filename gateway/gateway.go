// Package gateway is brig's public service: HTTP for judges, course sites and agent
// frameworks. It holds no privilege. Programs are run by the agent behind a socket;
// the gateway decides who may ask, who waits, and keeps what became of every run.
//
// Whatever a program does is a verdict, and HTTP 200. Errors are RFC 9457 problems
// with a stable code.
package gateway

import (
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

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/client"
	"github.com/brig-sandbox/brig/gateway/queue"
	"github.com/brig-sandbox/brig/history"
	"github.com/brig-sandbox/brig/metrics"
)

// Config says what a Gateway is made of. Agent and History are needed.
type Config struct {
	Agent   *client.Client
	History *history.Store
	Keys    *Keys       // nil: whoever reaches the listener may do everything
	TLS     *tls.Config // nil: plain HTTP
	Version string
	Log     *slog.Logger // nil: nothing is logged

	Places     int           // in the queue; zero: who cannot run at once is refused
	Wait       time.Duration // the longest anybody waits for a turn; zero means 60 s
	MaxBody    api.Size      // of a request; zero means 64 MiB
	MaxAnswers api.Size      // of all large answers together, which keys share; zero means 384 MiB
	MaxBlob    api.Size      // largest blob; zero means 256 MiB
	MaxBodies  int           // of requests, still coming, and files of sessions, still going, at a time; zero means 256
	MaxConns   int           // connections at a time; zero means 4096
	MaxEach    int           // of them, of one remote address that is not this host's; zero means an eighth
	Grace      time.Duration // on stopping, how long runs may go on; zero means 10 s
	Sessions   string        // file of the ids of sessions; empty: what a killed service leaves ends when it is idle
	Names      []string      // host names by which the service may be asked, beside localhost and addresses; empty with keys: any
}

// A Gateway answers HTTP. Serve it once.
type Gateway struct {
	cfg     Config
	log     *slog.Logger
	queue   *queue.Queue
	coming  *queue.Queue // of bodies
	reads   *queue.Queue // of many past runs
	lists   *queue.Queue // of a session's files
	alarm   history.Alarm
	runs    *registry
	mux     *http.ServeMux
	doc     []byte // OpenAPI
	began   time.Time
	room    *bodyRoom
	answers *answers
	asking  asking
	parsing *queue.Queue  // of bodies that are not small
	reading chan struct{} // has a large answer of the agent's that is being read and decoded

	sessions *sessionBook
	makings  makings
	seats    seats
	left     []string // sessions of an earlier service
	agent    agentView
	blobs    ledger
	metrics  *metrics.Metrics

	mu       sync.Mutex      // orders enter and the end of entering
	stopping context.Context // done when no more is admitted
	stop     context.CancelFunc
	kill     context.Context // done when what still runs is canceled
	killAll  context.CancelFunc
	wg       sync.WaitGroup // runs, and execs, from entering to their answers
}

func (cfg Config) orDefault() Config {
	if cfg.Wait == 0 {
		cfg.Wait = 60 * time.Second
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 64 * api.MiB
	}
	if cfg.MaxAnswers == 0 {
		cfg.MaxAnswers = 384 * api.MiB
	}
	if cfg.MaxBlob == 0 {
		cfg.MaxBlob = 256 * api.MiB
	}
	if cfg.MaxConns == 0 {
		cfg.MaxConns = 4096
	}
	if cfg.MaxEach == 0 {
		cfg.MaxEach = max(cfg.MaxConns/8, 1)
	}
	if cfg.MaxBodies == 0 {
		cfg.MaxBodies = 256
	}
	if cfg.Grace == 0 {
		cfg.Grace = 10 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return cfg
}

// New makes a Gateway. It asks the agent how many slots it has; one that does not
// answer is asked again later.
func New(ctx context.Context, cfg Config) (*Gateway, error) {
	cfg = cfg.orDefault()
	g := &Gateway{cfg: cfg, log: cfg.Log, queue: queue.New(1, cfg.Places), coming: queue.New(cfg.MaxBodies, cfg.MaxConns), reads: queue.New(readsAtATime, readsWaiting), lists: queue.New(readsAtATime, readsWaiting), runs: newRegistry(), began: time.Now(), room: newBodyRoom(bodies * int64(cfg.MaxBody)), answers: newAnswers(int64(cfg.MaxAnswers)), parsing: queue.New(1, cfg.MaxConns), reading: make(chan struct{}, 1)}
	g.stopping, g.stop = context.WithCancel(context.Background())
	g.kill, g.killAll = context.WithCancel(context.Background())
	var err error
	if g.sessions, g.left, err = openSessions(cfg.Sessions); err != nil {
		return nil, err
	}
	g.metrics = metrics.New(g.now)
	g.look(ctx)
	if names := g.idleProfileLog(); len(names) > 0 {
		return nil, api.Refuse(api.CodeForbidden, "profile_log is set on the keys %s, and the agent lets only root ask for profile_mode log: start it with brigd --profile-log (of brig serve's own: --agent-arg=--profile-log), or take profile_log off the keys", strings.Join(names, ", "))
	}
	routes := g.routes()
	if g.doc, err = document(routes, cfg.Version); err != nil {
		return nil, err
	}
	g.mux = g.muxOf(routes)
	return g, nil
}

const (
	lastAnswers = 5 * time.Second  // to take an answer in, when what runs has ended
	sessionsEnd = 10 * time.Second // for the agent to end them all
)

// Serve answers on ln until ctx is done. Then it admits nothing new, lets what runs
// go on for Grace, cancels the rest, and returns when nothing is left.
func (g *Gateway) Serve(ctx context.Context, ln net.Listener) error {
	defer g.killAll()
	web := &http.Server{
		Handler:           g,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       120 * time.Second, // of the body
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ConnContext:       withVisitor,
		ConnState:         connState,
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	ln = newDoors(ln, g.cfg.MaxConns, g.cfg.MaxEach)
	if g.cfg.TLS != nil { // outermost: only so the server has the handshake within its times, and tells who comes without
		ln = tls.NewListener(ln, g.cfg.TLS)
	}
	go func() { served <- web.Serve(ln) }()
	var looking sync.WaitGroup
	looking.Go(func() { g.keepLooking(g.stopping) })
	looking.Go(func() { g.janitor(g.stopping, g.left) })
	if g.cfg.Keys != nil {
		looking.Go(func() { g.keepKeys(g.stopping) })
	}
	defer looking.Wait()
	defer g.stop()

	var broken error
	select {
	case broken = <-served: // the listener's end
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
	var late sync.WaitGroup
	defer late.Wait()
	grace, cancel := context.WithTimeout(stopped, g.cfg.Grace)
	defer cancel()
	// Requests that wait for a run get its answer, or its cancellation.
	end, cancelEnd := context.WithTimeout(stopped, g.cfg.Grace+lastAnswers)
	defer cancelEnd()
	late.Go(func() {
		if <-grace.Done(); errors.Is(grace.Err(), context.DeadlineExceeded) {
			g.cutOff(end)
		}
	})
	// Until then whoever comes is answered: a supervisor who finds nobody there would end
	// the service within its grace.
	rest := make(chan struct{})
	late.Go(func() { g.wg.Wait(); close(rest) })
	select {
	case <-rest:
	case <-end.Done():
	}
	g.runs.endFeeds()
	err := web.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) { // somebody does not take his answer: no session shall outlive the service for him
		g.log.Warn("connections cut off: their clients took no answer in time", "after", g.cfg.Grace+lastAnswers)
		err = web.Close()
	} else if err != nil {
		err = errors.Join(err, web.Close())
	}
	ends, cancelEnds := context.WithTimeout(stopped, sessionsEnd)
	defer cancelEnds()
	if serr := g.endSessions(ends, g.sessions.every(), serviceStops); serr != nil {
		g.log.Error("sessions not ended", "err", serr) // the next service does it
	}
	<-served
	return err
}

// cutOff ends what runs when the grace is over. An exec ends by its session, whose end the
// agent tells it: what was done in that is gone, and its caller learns how far it came.
func (g *Gateway) cutOff(ctx context.Context) {
	g.killAll()
	var ends sync.WaitGroup
	for _, id := range g.seats.sessions() {
		ends.Go(func() { // beside each other: one whose volume is still written to holds nobody up
			if err := g.endSessions(ctx, []string{id}, serviceStops); err != nil {
				g.log.Error("session not ended", "session", id, "err", err)
			}
		})
	}
	ends.Wait()
}

const serviceStops = "the service stops"

// wanted begins what a caller waits for, and done ends it when he has his answer. ctx ends
// when he has left, or when what still runs is canceled.
func (g *Gateway) wanted(r *http.Request) (ctx context.Context, done func(), err error) {
	if !g.enter() {
		return nil, nil, errStopping()
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(g.kill, cancel)
	return ctx, func() { stop(); cancel(); g.wg.Done() }, nil
}

// enter counts a run, unless the service is stopping.
func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping.Err() != nil {
		return false
	}
	g.wg.Add(1)
	return true
}

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'") // no foreign page has its visitors click in ours (API-11)
	if err := enterDoor(w, r); errors.Is(err, net.ErrClosed) {
		return
	} else if err != nil {
		g.refuse(w, r, err)
		return
	}
	if err := g.guard(r); err != nil {
		g.refuse(w, r, err)
		return
	}
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil { // what is not understood must not be left out of a filter
		g.refuse(w, r, api.Refuse(api.CodeBadRequest, "the parameters %.200q: %w", r.URL.RawQuery, err))
		return
	}
	if p := r.URL.Path; strings.HasPrefix(p, "/v1/sessions/") && path.Clean(p) != p { // ServeMux would lead to another file (FIO-03)
		g.refuse(w, r, api.Refuse(api.CodeBadFile, "the path %.200q has an empty part, . or ..: write it without", p))
		return
	}
	if no, pattern := g.mux.Handler(r); pattern == "" {
		g.lost(no, w, r)
		return
	}
	g.mux.ServeHTTP(w, r)
}
