// Package agent answers on brigd's unix socket: it decodes a request, asks a
// Runner, and writes the answer. It knows HTTP and nothing of cells.
//
// One request is one run, or one exec of a session, in one of two forms. The plain form is JSON in,
// a JSON Result out. The streamed form upgrades the connection and exchanges frames (see
// api.FrameType). In both, a caller that closes the connection cancels the run.
package agent

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Runner runs programs. It counts on a run that Validate has accepted: the server checks each as it
// arrives, and nobody does so again. If its error contains an *api.Error, the caller gets that; the
// text of any other error goes only to root. Run may be called from many goroutines.
type Runner interface {
	Run(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error)
}

// Blobs stores content that runs name by its digest.
type Blobs interface {
	// Put stores the content of r under a name. If its digest differs, it stores nothing and returns an error.
	Put(name, digest string, r io.Reader) error
	// Offer stores content under a name if nothing has to be evicted for it, and reports whether it is there.
	Offer(name string, content []byte) (kept bool, err error)
	Has(name string) bool
	Open(name string) (io.ReadCloser, error) // the caller closes it; the error of a blob that is not there has CodeNoBlob
	Remove(name string) error                // no error if there is no such blob
}

// Sessions makes long-lived sandboxes and works in them. Only the caller that made a session, and
// root, can find it. The methods may be called from many goroutines; if their error contains an
// *api.Error, the caller gets that.
type Sessions interface {
	// Create waits for room for at most wait; zero: api.SlotWait. If ctx ends, it leaves nothing.
	Create(ctx context.Context, ask api.SessionRequest, wait time.Duration, c api.Caller) (api.Session, error)
	List(c api.Caller) []api.Session
	Get(id string, c api.Caller) (api.Session, error)
	// Use is Get that counts as using the session.
	Use(id string, c api.Caller) (api.Session, error)
	// SetLife changes when the session ends.
	SetLife(id string, l api.LifeRequest, c api.Caller) (api.Session, error)
	// Delete returns when nothing of the session is left.
	Delete(id string, c api.Caller) error
	// End is Delete for the sessions that the caller has made and e names; also root's are only its own. It returns
	// their number.
	End(e api.EndRequest, c api.Caller) int
	Exec(ctx context.Context, id string, e api.Exec, s api.Streams, c api.Caller) (api.Result, error)

	// Files are in /box, or in the session's volume. PutFile replaces the file of that name by
	// content, completely or not at all.
	PutFile(id, name string, volume, executable bool, content io.Reader, c api.Caller) error
	OpenFile(id, name string, volume bool, c api.Caller) (io.ReadCloser, error)
	RemoveFile(id, name string, volume bool, c api.Caller) error
	// ListFiles ends when ctx does. hold is as api.Memory.Keep.
	ListFiles(ctx context.Context, id, dir string, volume bool, hold func(bytes int64) error,
		c api.Caller) (api.FileList, error)
}

// Volumes stores volumes, which outlive sessions. A caller has access only to its own.
type Volumes interface {
	List(c api.Caller) ([]api.Volume, error)
	// Remove removes the volume that lasts, or, if run is not empty, the temporary one of that run.
	Remove(ctx context.Context, name, run string, c api.Caller) error
}

// Images is the store of the file trees in which programs run.
type Images interface {
	// Import reads an archive and stores it under name. expectDigest, if not empty, is the digest
	// that the archive must have.
	Import(ctx context.Context, r io.Reader, name, expectDigest string, progress func(string)) (api.Image, error)
	// ImportLayer reads the uncompressed archive of a layer, whose digest must be the given one.
	ImportLayer(ctx context.Context, r io.Reader, digest string) (api.Layer, error)
	Layers(ctx context.Context) ([]api.Layer, error)
	// AbandonLayer removes a layer that was imported for an image that will not be added, unless
	// another image has it, or another import holds it.
	AbandonLayer(ctx context.Context, digest string) error
	// Add stores an image of layers under name.
	Add(ctx context.Context, spec api.ImageSpec, name string) (api.Image, error)
	List(ctx context.Context) ([]api.Image, error)
	Remove(ctx context.Context, name string) error
	GC(ctx context.Context) (api.Cleaned, error)
	Verify(ctx context.Context, name string) (api.Verified, error)
}

// Packages installs sets of packages, and keeps them. If an error contains an *api.Error, the caller
// gets that.
type Packages interface {
	// Install installs a set, unless it is stored. s has the installer's output, and its network.
	Install(ctx context.Context, r api.PackageRequest, s api.Streams, c api.Caller) (api.PackageSet, error)
	// List lists what the caller may use. It calls reserve before it holds so many bytes.
	List(c api.Caller, reserve func(bytes int64) error) ([]api.PackageSet, error)
	Remove(key string, c api.Caller) error
}

// Catalog lists the languages and profiles that a caller can ask for.
type Catalog interface {
	Languages(ctx context.Context) []api.Language
	Profiles() []api.Profile
}

// A Config configures a Server. Only Runner and Health are required; a route whose part is nil
// answers not-found.
type Config struct {
	Runner    Runner
	Health    func() api.Health
	Sessions  Sessions
	Paths     Paths
	Volumes   Volumes
	Snapshots Snapshots
	Images    Images
	Packages  Packages
	Catalog   Catalog
	Blobs     Blobs
	Log       *slog.Logger // nil: no log

	MaxRun       api.Size      // largest body of a run; zero: api.MaxBody
	MaxArchive   api.Size      // largest archive to import; zero means 8 GiB
	MaxBlob      api.Size      // largest blob; zero: api.MaxBlob
	MaxFile      api.Size      // largest file put into a session; zero means 1 GiB; the session's scratch is usually a lower bound
	MaxMemory    api.Size      // memory for all requests together; zero means 1 GiB
	MemoryShare  api.Size      // part of MaxMemory that is guaranteed to each stage of a request
	MemoryCommon api.Size      // part of MaxMemory that is not guaranteed to stages; zero: MaxMemory
	MemoryFreed  func()        // called when a request has released memory, by any goroutine; nil: nobody waits for it
	MaxConns     int           // concurrent connections; zero means 512
	MaxWall      time.Duration // how long a run may last; zero means 30 s
	StallTimeout time.Duration // after a run, how long a client may stop reading; zero means 60 s
	GracePeriod  time.Duration // when stopping, how long runs may continue; zero: api.GracePeriod
}

// A Server answers on a listener.
type Server struct {
	cfg     Config
	log     *slog.Logger
	mux     *http.ServeMux
	memory  memoryQuota
	labeled labeled         // what POST /v1/end can end
	typing  typing          // at terminals
	kill    context.Context // done when Grace is over after a stop
	ends    context.Context // done when the server stops
	endAll  context.CancelFunc

	mu       sync.Mutex
	stopping bool          // guarded by mu; never reset
	active   int           // guarded by mu; requests that are not a GET
	idle     chan struct{} // closed when stopping is set and active is 0
}

// New makes a Server.
func New(cfg Config) *Server {
	cfg.MaxRun = cmp.Or(cfg.MaxRun, api.MaxBody)
	cfg.MaxArchive = cmp.Or(cfg.MaxArchive, 8*api.GiB)
	cfg.MaxBlob = cmp.Or(cfg.MaxBlob, api.MaxBlob)
	cfg.MaxFile = cmp.Or(cfg.MaxFile, 1*api.GiB)
	cfg.MaxMemory = cmp.Or(cfg.MaxMemory, 1*api.GiB)
	cfg.MaxConns = cmp.Or(cfg.MaxConns, 512)
	cfg.MaxWall = cmp.Or(cfg.MaxWall, 30*time.Second)
	cfg.StallTimeout = cmp.Or(cfg.StallTimeout, 60*time.Second)
	cfg.GracePeriod = cmp.Or(cfg.GracePeriod, api.GracePeriod)
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, log: log, idle: make(chan struct{}), kill: context.Background()}
	s.memory = memoryQuota{
		limit:  int64(cfg.MaxMemory),
		share:  int64(cfg.MemoryShare),
		common: int64(cmp.Or(cfg.MemoryCommon, cfg.MaxMemory)),
		freed:  cfg.MemoryFreed,
	}
	if s.memory.freed == nil {
		s.memory.freed = func() {}
	}
	s.ends, s.endAll = context.WithCancel(context.Background())
	s.mux = s.routes()
	return s
}

// Serve answers on ln until ctx is done. Then it refuses new requests with CodeStopping, lets
// active ones continue for Grace, cancels the rest, and returns when none is left. It closes ln. A
// Server serves once.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	kill, killAll := context.WithCancel(context.Background())
	defer killAll()
	s.kill = kill
	web := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       120 * time.Second, // of the body; net/http lifts it once the body is read
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return kill },
		ConnContext:       withCaller,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(limitConns(ln, s.cfg.MaxConns)) }()

	select {
	case err := <-served: // the listener broke
		s.stop()
		killAll()
		<-s.idle
		web.Close()
		return err
	case <-ctx.Done():
	}
	s.stop()
	select {
	case <-s.idle:
	case <-time.After(s.cfg.GracePeriod):
		killAll()
		<-s.idle
	}
	// Every answer is written or abandoned; give the last ones a moment to be sent.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if web.Shutdown(end) != nil {
		web.Close()
	}
	<-served //nolint:errcheck // http.ErrServerClosed
	return nil
}

// enter counts a request that is not a GET. It returns false if the server is stopping.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.active++
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	if s.stopping && s.active == 0 {
		close(s.idle)
	}
}

func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	s.endAll()
	if s.active == 0 {
		close(s.idle)
	}
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}
