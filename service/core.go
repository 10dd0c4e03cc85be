package service

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/service/metrics"
	"github.com/brig-sandbox/brig/service/queue"
	"github.com/brig-sandbox/brig/service/quota"
)

// A core is what all parts of the service share: its settings, the agent, who waits for what, and whether the
// service still admits runs.
type core struct {
	cfg          Config
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

	mu       sync.Mutex      // orders enter and the end of admission
	stopping context.Context // done when no further runs are admitted
	stop     context.CancelFunc
	kill     context.Context // done when the remaining runs are canceled
	killAll  context.CancelFunc
	wg       sync.WaitGroup // runs and execs, from admission to their responses
}

// newCore makes a core from settings that have their defaults.
func newCore(cfg Config) *core {
	s := &core{
		cfg: cfg, log: cfg.Log, startedAt: time.Now(), reading: make(chan struct{}, 1),
		queue: queue.New(1, cfg.QueuePlaces), uploads: queue.New(cfg.MaxBodies, cfg.MaxConns),
		parsing:      queue.New(1, cfg.MaxConns),
		historyReads: queue.New(readSlots, readsWaiting), fileLists: queue.New(readSlots, readsWaiting),
		bodyQuota: newBodyQuota(maxLargeBodies*int64(cfg.MaxBody), cfg.Keys),
		responses: newResponseQuota(int64(cfg.MaxAnswers)),
		requests:  newRequestQuota(cfg.MaxConns, cfg.Keys),
	}

	s.stopping, s.stop = context.WithCancel(context.Background())
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
	return ctx, func() { stop(); cancel(); s.wg.Done() }, nil
}

// enter admits and counts a run, unless the service is stopping.
func (s *core) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Err() != nil {
		return false
	}
	s.wg.Add(1)
	return true
}
