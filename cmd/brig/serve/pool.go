package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch/jetstream"
)

// An enginePool is the workers of an engine that runs by itself. The service looks at them and drains them; its own runs
// go to its own agent.
type enginePool struct {
	target jetstream.Target

	mu     sync.Mutex
	engine *jetstream.Engine // guarded by mu; nil: not connected yet
}

// newEnginePool returns the pool of an engine; nil if there is no engine. It connects when it is first asked: a service
// must also start when the engine is down.
func newEnginePool(url, creds string, log *slog.Logger) *enginePool {
	if url == "" {
		return nil
	}
	return &enginePool{target: jetstream.Target{URL: url, Creds: creds, Log: log}}
}

// checkEngine refuses an address that is none, or credentials without an engine.
func (o serveOptions) checkEngine() error {
	switch {
	case o.engine == "" && o.engineCreds != "":
		return errors.New("--engine-creds is for --engine")
	case o.engine == "":
		return nil
	}
	if err := jetstream.CheckURL(o.engine); err != nil {
		return fmt.Errorf("--engine %w", err)
	}
	return nil
}

func (p *enginePool) connect() (*jetstream.Engine, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.engine == nil {
		e, err := jetstream.Connect(p.target)
		if err != nil {
			return nil, err
		}
		p.engine = e
	}
	return p.engine, nil
}

// Close ends the connection.
func (p *enginePool) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.engine != nil {
		p.engine.Close()
		p.engine = nil
	}
}

// Name is the address of the engine, without its user and password.
func (p *enginePool) Name() string { return withoutPasswords(p.target.URL) }

// Workers lists the workers of all pools. One pool that cannot be read hides no other.
func (p *enginePool) Workers(ctx context.Context) ([]api.Machine, error) {
	e, err := p.connect()
	if err != nil {
		return nil, err
	}
	queued, err := e.Pools(ctx)
	if err != nil {
		return nil, err
	}

	var all []api.Machine
	var failed []error
	for _, q := range queued {
		if q.Urgent { // the pool has another one that is not
			continue
		}
		workers, err := e.Workers(ctx, q.Pool)
		if err != nil {
			failed = append(failed, fmt.Errorf("pool %s: %w", q.Pool, err))
			continue
		}
		all = append(all, machinesOf(workers)...)
	}
	return all, errors.Join(failed...)
}

// Drain has a worker take no more jobs and end.
func (p *enginePool) Drain(ctx context.Context, worker string) error {
	if err := jetstream.CheckName("worker", worker); err != nil {
		return err
	}
	e, err := p.connect()
	if err != nil {
		return err
	}
	return e.Drain(ctx, worker)
}

// machinesOf describes the workers of one pool. The image of a language differs if it is not the one that most have.
func machinesOf(workers []jetstream.WorkerState) []api.Machine {
	var all []api.Machine
	for _, w := range workers {
		m := api.Machine{Name: w.Name, Pool: w.Pool, State: api.MachineUp, Version: w.Version, Slots: w.Slots, Running: w.InFlight,
			MemoryMax: w.MemoryMax, Seen: w.Reported.UTC()}
		if w.Draining {
			m.State = api.MachineDraining
		}
		for language, digest := range w.Languages {
			m.Languages = append(m.Languages, language)
			if _, usual, _ := jetstream.ImageOf(workers, language); usual != "" && usual != digest {
				m.Differs = append(m.Differs, language)
			}
		}
		slices.Sort(m.Languages)
		slices.Sort(m.Differs)
		all = append(all, m)
	}
	return all
}
