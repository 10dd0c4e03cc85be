package service

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

	"github.com/brig-sandbox/brig/service/metrics"
	"github.com/brig-sandbox/brig/service/queue"
	"github.com/brig-sandbox/brig/service/quota"
)

// A core is what all parts of the service share: its settings, the agent, who waits for what, and whether the
// service still admits runs.
type core struct {
	cfg          coreConfig
	log          *slog.Logger
	queue        *queue.Queue
	uploads      *queue.Queue // upload slots
	historyReads *queue.Queue // for requests that read many past runs
	fileLists    *queue.Queue // for lists of a session's files
	startedAt    time.Time
	bodyQuota    *quota.Pool
	responses    *responseQuota
	requests     *quota.Pool   // requests that are being answered
	parsing      *queue.Queue  // for bodies that are not small
	reading      chan struct{} // held while a large response of the agent is read and decoded
	agent        agentStatus
	metrics      *metrics.Metrics

	mu       sync.Mutex      // orders enter and stop
	stopping context.Context // done when no further runs are admitted
	noMore   context.CancelFunc
	kill     context.Context // done when the remaining runs are canceled
	killAll  context.CancelFunc
	wg       sync.WaitGroup // runs and execs, from admission to their responses
}

// newCore makes a core from settings that have their defaults.
func newCore(cfg coreConfig) *core {
	s := &core{
		cfg: cfg, log: cfg.Log, startedAt: time.Now(), reading: make(chan struct{}, 1),
		queue: queue.New(1, cfg.QueuePlaces), uploads: queue.New(cfg.MaxBodies, cfg.MaxConns),
		parsing:      queue.New(1, cfg.MaxConns),
		historyReads: queue.New(readSlots, readsWaiting), fileLists: queue.New(readSlots, readsWaiting),
		bodyQuota: newBodyQuota(maxLargeBodies*int64(cfg.MaxBody), cfg.Keys),
		responses: newResponseQuota(int64(cfg.MaxAnswers)),
		requests:  newRequestQuota(cfg.MaxConns, cfg.Keys),
	}

	s.stopping, s.noMore = context.WithCancel(context.Background())
	s.kill, s.killAll = context.WithCancel(context.Background())
	return s
}

// track admits a request whose caller waits for it; done must be called when the caller has the
// response. ctx ends when the caller has left or the remaining runs are canceled.
func (s *core) track(r *http.Request) (ctx context.Context, done func(), err error) {
	if !s.enter() {
		return nil, nil, errStopping()
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(s.kill, cancel)
	return ctx, func() { stop(); cancel(); s.leave() }, nil
}

// enter admits and counts a run, unless the service is stopping. leave must be called at its end.
func (s *core) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Err() != nil {
		return false
	}
	s.wg.Add(1)
	return true
}

// leave ends what enter has admitted.
func (s *core) leave() { s.wg.Done() }

// wait waits for the end of all that was admitted.
func (s *core) wait() { s.wg.Wait() }

// stop ends admission.
func (s *core) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noMore()
}

// runID creates an id that cannot be guessed (API-27): 15 of its 20 bytes are random. The first
// five are the time in units of 16 ms, so that the history's index of ids grows at its end instead
// of everywhere.
func runID() string {
	var b [20]byte
	binary.BigEndian.PutUint64(b[:], uint64(time.Now().UnixMilli()/16)<<24)
	_, _ = rand.Read(b[5:]) // never fails (crypto/rand, Go 1.24)
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// untilStop returns a context that also ends when the service stops: the client comes back.
func (s *core) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.stopping, cancel)
	return ctx, func() { stop(); cancel() }
}
