// Package agent answers on brigd's unix socket: it decodes a request, asks a
// Runner, and writes the answer. It knows HTTP and nothing of cells.
//
// One request is one run, or one exec of a session, in one of two forms. The plain
// form is JSON in, a JSON Result out. The streamed form upgrades the connection and
// exchanges frames (see api.FrameType). In both, a caller who hangs up cancels.
package agent

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Runner runs programs. An *api.Error in its errors is what the caller is
// told; of any other error only root is told the text. Run may be called from
// many goroutines.
type Runner interface {
	Run(ctx context.Context, r api.Run, s Streams, c Caller) (api.Result, error)
}

// Streams carry a run's input and output while it runs. The zero value is a
// batch run: stdin is Run.Stdin, and the output comes in the Result.
type Streams struct {
	// Attach is called at most once, before the program starts, with the write
	// end of its stdin, which is then Attach's to close.
	Attach func(stdin *os.File)

	// Stdout and Stderr block while the caller is slow. After an error there is
	// nobody left to write to.
	Stdout, Stderr io.Writer

	// Compiled is called when the compile stage has succeeded, Test with each test's
	// result as it comes; one call at a time.
	Compiled func(api.Compilation)
	Test     func(api.TestResult)

	// Usage, when the client wants it, is told now and then what the run uses.
	Usage func(api.LiveUsage)

	// Hold is told before memory is used for the request that lasts until it is answered:
	// so many bytes more, or fewer. Its error is what the caller is told.
	Hold func(bytes int64) error

	// Again is how soon the caller comes again if it is refused; zero: at once.
	Again time.Duration
}

// Blobs keeps content that runs name by its digest.
type Blobs interface {
	// Put keeps what r holds, or nothing and an error if its digest is another.
	Put(digest string, r io.Reader) error
	Has(digest string) bool
	Remove(digest string) error // nothing there is fine
}

// Sessions makes sandboxes that last and works in them. To another caller than the
// one who made it, and root, a session is not found. Its methods may be called from
// many goroutines; an *api.Error in their errors is what the caller is told.
type Sessions interface {
	Create(ctx context.Context, ask api.SessionRequest, c Caller) (api.Session, error)
	List(c Caller) []api.Session
	Get(id string, c Caller) (api.Session, error)
	// Use is Get, and counts as using it.
	Use(id string, c Caller) (api.Session, error)
	// Delete returns when nothing of it is left.
	Delete(id string, c Caller) error
	Exec(ctx context.Context, id string, e api.Exec, s Streams, c Caller) (api.Result, error)

	// Files lie in /box, or in the session's volume. PutFile replaces what has the name by
	// content, whole or not at all.
	PutFile(id, name string, volume, executable bool, content io.Reader, c Caller) error
	OpenFile(id, name string, volume bool, c Caller) (io.ReadCloser, error)
	RemoveFile(id, name string, volume bool, c Caller) error
	// ListFiles ends when ctx does. hold is as Streams.Hold.
	ListFiles(ctx context.Context, id, dir string, volume bool, hold func(bytes int64) error, c Caller) (api.FileList, error)
}

// Volumes keeps what outlives sessions. A caller has its own, and no others.
type Volumes interface {
	List(c Caller) ([]api.Volume, error)
	Remove(ctx context.Context, name string, c Caller) error
}

// A Caller is who asks, by the kernel's word (SO_PEERCRED, taken when the
// connection was made).
type Caller struct {
	UID, GID uint32
	PID      int32
}

// Images is the store of trees to run in.
type Images interface {
	// Import reads an archive and stores it under name. expectDigest, when not
	// empty, is what the archive as given must hash to.
	Import(ctx context.Context, r io.Reader, name, expectDigest string, progress func(string)) (api.Image, error)
	List(ctx context.Context) ([]api.Image, error)
	Remove(ctx context.Context, name string) error
	GC(ctx context.Context) (api.Cleaned, error)
	Verify(ctx context.Context, name string) (api.Verified, error)
}

// Catalog says what a caller may ask for.
type Catalog interface {
	Languages() []api.Language
	Profiles() []api.Profile
}

// A Config is what a Server is made of. Only Runner and Health are needed; a
// route whose part is nil answers not-found.
type Config struct {
	Runner   Runner
	Health   func() api.Health
	Sessions Sessions
	Volumes  Volumes
	Images   Images
	Catalog  Catalog
	Blobs    Blobs
	Log      *slog.Logger // nil: nothing is logged

	MaxRun     api.Size      // largest body of a run; zero means 64 MiB
	MaxArchive api.Size      // largest archive to import; zero means 8 GiB
	MaxBlob    api.Size      // largest blob; zero means 256 MiB
	MaxFile    api.Size      // largest file put into a session; zero means 1 GiB; its scratch is the narrower bound
	MaxHeld    api.Size      // kept in memory for all requests together; zero means 1 GiB
	HeldShare  api.Size      // of it, that each request may keep whatever others do
	HeldCommon api.Size      // of it, that requests may keep above HeldShare, all together; zero: MaxHeld
	MaxConns   int           // connections at a time; zero means 512
	MaxWall    time.Duration // how long a run may last; zero means 30 s
	Stall      time.Duration // after a run, how long a client may take nothing; zero means 60 s
	Grace      time.Duration // on stopping, how long runs may go on; zero means 10 s
}

// A Server answers on a listener.
type Server struct {
	cfg  Config
	log  *slog.Logger
	mux  *http.ServeMux
	held heldMemory
	kill context.Context // done when stopping has waited long enough

	mu       sync.Mutex
	stopping bool          // guarded by mu; never goes back
	active   int           // guarded by mu; requests that do something
	idle     chan struct{} // closed when stopping is set and active is 0
}

// New makes a Server.
func New(cfg Config) *Server {
	cfg.MaxRun = or(cfg.MaxRun, 64*api.MiB)
	cfg.MaxArchive = or(cfg.MaxArchive, 8*api.GiB)
	cfg.MaxBlob = or(cfg.MaxBlob, 256*api.MiB)
	cfg.MaxFile = or(cfg.MaxFile, 1*api.GiB)
	cfg.MaxHeld = or(cfg.MaxHeld, 1*api.GiB)
	cfg.MaxConns = or(cfg.MaxConns, 512)
	cfg.MaxWall = or(cfg.MaxWall, 30*time.Second)
	cfg.Stall = or(cfg.Stall, 60*time.Second)
	cfg.Grace = or(cfg.Grace, 10*time.Second)
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, log: log, held: heldMemory{most: int64(cfg.MaxHeld), share: int64(cfg.HeldShare), common: int64(or(cfg.HeldCommon, cfg.MaxHeld))}, idle: make(chan struct{}), kill: context.Background()}
	s.mux = s.routes()
	return s
}

func or[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}

// Serve answers on ln until ctx is done. Then it refuses what is new with
// CodeStopping, lets what runs go on for Grace, cancels the rest, and returns
// when nothing is left. It closes ln. A Server serves once.
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
	case <-time.After(s.cfg.Grace):
		killAll()
		<-s.idle
	}
	// Every answer is written or given up; give the last ones a moment to leave.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if web.Shutdown(end) != nil {
		web.Close()
	}
	<-served
	return nil
}

// enter counts a request that does something, unless the server is stopping.
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
	if s.active == 0 {
		close(s.idle)
	}
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}
