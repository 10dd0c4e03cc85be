// Package operator answers what the people ask who keep the service running: what it does now and did over time, which
// images, machines and keys there are, what brig itself failed, and who changed what.
//
// A key sees its own part; what belongs to all keys is for those with admin.
package operator

import (
	"context"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// An Operator answers the requests. Watch must run while it does.
type Operator struct {
	*core.Core
	health   func() api.ServiceHealth
	sessions func(key string) []string // ids of the sessions of a key
	site     Site

	mu                sync.Mutex
	past              ring          // guarded by mu
	judged, notJudged int64         // guarded by mu; of Activity, at the last moment
	ticked            chan struct{} // guarded by mu; closed and replaced at each moment

	doctor doctorAnswer
}

// A Site is what the service's program knows of the machine and of its settings. Each part may be missing.
type Site struct {
	Settings     []api.Setting                             // in force, without secrets
	ImageCommand func(image, from string) string           // the command that stores an image
	Doctor       func(ctx context.Context) (Doctor, error) // asks brig doctor
	Pool         Pool                                      // machines of an engine
}

// A Pool is the workers of an engine, which is beside the service.
type Pool interface {
	Name() string                                       // of the engine, without secrets
	Workers(ctx context.Context) ([]api.Machine, error) // with an error those that are known
	Drain(ctx context.Context, worker string) error
}

// New makes an operator. health is the state of the service, and sessions has the ids of the sessions of a key.
func New(c *core.Core, health func() api.ServiceHealth, sessions func(string) []string, site Site) *Operator {
	return &Operator{Core: c, health: health, sessions: sessions, site: site, ticked: make(chan struct{})}
}

// tick is how often a moment is kept. It is also the pace of the events of the overview.
const tick = 5 * time.Second

// Watch keeps a moment at each tick, until ctx is done.
func (o *Operator) Watch(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()

	for {
		select {
		case now := <-t.C:
			o.Tick(now)
		case <-ctx.Done():
			return
		}
	}
}

// Tick adds what the service does now to the past, and wakes those who follow.
func (o *Operator) Tick(now time.Time) {
	stats := o.Queue.Stats()
	agent, _, err := o.Agent.Get()
	if err != nil {
		agent = api.Health{} // not the reservations of an agent that does not answer
	}

	o.mu.Lock()
	defer o.mu.Unlock()
	judged, notJudged := o.Activity.Judged.Load(), o.Activity.NotJudged.Load()
	o.past.add(moment{at: now, running: stats.Held, waiting: stats.Waiting, memory: agent.Memory,
		judged: judged - o.judged, notJudged: notJudged - o.notJudged})
	o.judged, o.notJudged = judged, notJudged
	close(o.ticked)
	o.ticked = make(chan struct{})
}

// forAdmins refuses a caller who may not see what belongs to all keys.
func forAdmins(c core.Caller, what string) error {
	if c.SeesAll() {
		return nil
	}
	return api.Refuse(api.CodeForbidden, "%s, and this key may not read them: have the operator set admin on it", what)
}
