// Package core is what the parts of the service share: its settings, who calls, the bodies of requests and the
// memory for them, the agent and its responses, how errors are answered, and whether runs are still admitted.
package core

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/metrics"
	"github.com/brig-sandbox/brig/service/queue"
	"github.com/brig-sandbox/brig/service/quota"
)

// A Core is what all parts of the service share: its settings, the agent, who waits for what, and whether the
// service still admits runs.
type Core struct {
	Config    Config
	Log       *slog.Logger
	Queue     *queue.Queue
	Uploads   *queue.Queue // upload slots
	Reads     *queue.Queue // for requests that read many past runs or files
	StartedAt time.Time
	BodyQuota *quota.Pool
	Responses *responseQuota
	Requests  *quota.Pool   // requests that are being answered
	Parsing   *queue.Queue  // for bodies that are not small
	reading   chan struct{} // held while a large response of the agent is read and decoded
	Agent     AgentStatus
	Metrics   *metrics.Metrics
	Logins    auth.Logins // of browsers that show the page
	Activity  Activity

	mu       sync.Mutex      // orders enter and stop
	Stopping context.Context // done when no further runs are admitted
	noMore   context.CancelFunc
	Kill     context.Context // done when the remaining runs are canceled
	KillAll  context.CancelFunc
	wg       sync.WaitGroup // runs and execs, from admission to their responses
}

// New makes a core from settings that have their defaults.
func New(cfg Config) *Core {
	s := &Core{
		Config: cfg, Log: cfg.Log, StartedAt: time.Now(), reading: make(chan struct{}, 1),
		Queue: queue.New(1, cfg.QueuePlaces), Uploads: queue.New(cfg.MaxBodies, cfg.MaxConns),
		Parsing:   queue.New(1, cfg.MaxConns),
		Reads:     queue.New(ReadSlots, readsWaiting),
		BodyQuota: NewSharedQuota(MaxLargeBodies*int64(cfg.MaxBody), cfg.Keys),
		Responses: newResponseQuota(int64(cfg.MaxAnswers)),
		Requests:  newRequestQuota(cfg.MaxConns, cfg.Keys),
	}

	s.Stopping, s.noMore = context.WithCancel(context.Background())
	s.Kill, s.KillAll = context.WithCancel(context.Background())
	return s
}

// Track admits a request whose caller waits for it; done must be called when the caller has the
// response. ctx ends when the caller has left or the remaining runs are canceled.
func (s *Core) Track(r *http.Request) (ctx context.Context, done func(), err error) {
	if !s.Enter() {
		return nil, nil, ErrStopping()
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(s.Kill, cancel)
	return ctx, func() { stop(); cancel(); s.Leave() }, nil
}

// Enter admits and counts a run, unless the service is stopping. leave must be called at its end.
func (s *Core) Enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Stopping.Err() != nil {
		return false
	}
	s.wg.Add(1)
	return true
}

// Leave ends what enter has admitted.
func (s *Core) Leave() { s.wg.Done() }

// Wait waits for the end of all that was admitted.
func (s *Core) Wait() { s.wg.Wait() }

// Stop ends admission.
func (s *Core) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noMore()
}

// NewID creates an id that cannot be guessed (API-27): 15 of its 20 bytes are random. The first
// five are the time in units of 16 ms, so that the history's index of ids grows at its end instead
// of everywhere.
func NewID() string {
	var b [20]byte
	binary.BigEndian.PutUint64(b[:], uint64(time.Now().UnixMilli()/16)<<24)
	_, _ = rand.Read(b[5:]) // never fails (crypto/rand, Go 1.24)
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// UntilStop returns a context that also ends when the service stops: the client comes back.
func (s *Core) UntilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.Stopping, cancel)
	return ctx, func() { stop(); cancel() }
}
