package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// DefaultPool is the pool of workers and jobs that name none.
const DefaultPool = "default"

// A WorkerState is what a worker reports of itself.
type WorkerState struct {
	Name      string            `json:"name"`
	Pool      string            `json:"pool"`
	Version   string            `json:"version"`
	Slots     int               `json:"slots"`
	InFlight  int               `json:"in_flight"`           // jobs that it has
	Languages map[string]string `json:"languages,omitempty"` // digest of the image of each language that can run
	Aliases   map[string]string `json:"aliases,omitempty"`   // other names of them
	MemoryMax int64             `json:"memory_max,omitempty"`
	Draining  bool              `json:"draining,omitempty"` // it takes no more jobs
	Reported  time.Time         `json:"reported"`
}

// Report keeps the state of a worker for workerTTL.
func (e *Engine) Report(ctx context.Context, s WorkerState) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return e.publishState(ctx, &nats.Msg{Subject: e.stateSubject(s.Name), Data: text})
}

func (e *Engine) stateSubject(worker string) string {
	return "$KV." + workersPrefix + e.pool + "." + worker
}

// publishState publishes what is worth nothing later: it does not wait for an engine that has gone.
func (e *Engine) publishState(ctx context.Context, m *nats.Msg) error {
	if !e.conn.IsConnected() {
		return nats.ErrDisconnected
	}
	_, err := e.js.PublishMsg(ctx, m)
	return err
}

// Leave removes a worker from the list.
func (e *Engine) Leave(ctx context.Context, name string) error {
	m := nats.NewMsg(e.stateSubject(name))
	m.Header.Set("KV-Operation", "DEL")
	return e.publishState(ctx, m)
}

// maxSlots bounds the slots that a worker reports: a batch has jobs released for all of them.
const maxSlots = 4096

// Workers lists the workers of a pool that have reported lately, by name. What is no state of a worker is left out.
func (e *Engine) Workers(ctx context.Context, pool string) ([]WorkerState, error) {
	kv, err := e.js.KeyValue(ctx, workersPrefix+pool)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	watch, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer watch.Stop() //nolint:errcheck // it was only read

	var all []WorkerState
	for entry := range watch.Updates() {
		if entry == nil { // all that there are have come
			break
		}
		var s WorkerState
		if err := json.Unmarshal(entry.Value(), &s); err != nil {
			e.log.Debug("a worker reports something else than a state", "pool", pool, "worker", entry.Key(), "err", err)
			continue
		}
		s.Name, s.Pool = entry.Key(), pool // the key permits no others
		s.Slots = min(max(s.Slots, 0), maxSlots)
		all = append(all, s)
	}

	slices.SortFunc(all, func(a, b WorkerState) int { return strings.Compare(a.Name, b.Name) })
	return all, ctx.Err()
}

// A Queued is what waits in a pool.
type Queued struct {
	Pool    string `json:"pool"`
	Urgent  bool   `json:"urgent"`
	Waiting uint64 `json:"waiting"`   // jobs that no worker has
	Working int    `json:"in_flight"` // jobs that a worker has
}

// Pools lists what waits in each pool.
func (e *Engine) Pools(ctx context.Context) ([]Queued, error) {
	names := e.js.StreamNames(ctx)
	var pools []string
	for name := range names.Name() {
		if pool, ok := strings.CutPrefix(name, jobsPrefix); ok {
			pools = append(pools, pool)
		}
	}

	if err := names.Err(); err != nil {
		return nil, err
	}

	slices.Sort(pools)
	var all []Queued
	for _, pool := range pools {
		for _, urgent := range []bool{false, true} {
			c, err := e.js.Consumer(ctx, jobsPrefix+pool, class(urgent))
			if err != nil {
				return nil, err
			}
			info := c.CachedInfo()
			all = append(all, Queued{Pool: pool, Urgent: urgent, Waiting: info.NumPending, Working: info.NumAckPending})
		}
	}

	return all, nil
}

// drainRequest is what a worker gets to take no more jobs.
const drainRequest = "drain"

// Drain has a worker take no more jobs and end. It is an error if the worker does not answer.
func (e *Engine) Drain(ctx context.Context, worker string) error {
	_, err := e.conn.RequestWithContext(ctx, controlSubject+"."+worker, []byte(drainRequest))
	if errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("no worker %q is connected to the engine: brig pool ls lists them", worker)
	}
	return err
}

// OnDrain has drain called when an operator asks for it. stop ends that.
func (e *Engine) OnDrain(worker string, drain func()) (stop func(), err error) {
	s, err := e.conn.Subscribe(controlSubject+"."+worker, func(m *nats.Msg) {
		if string(m.Data) == drainRequest {
			drain()
			_ = m.Respond([]byte("draining")) // the operator asks again
		}
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = s.Unsubscribe() }, nil // the connection is closed: the same
}

// OnCancel has cancel called with each batch that is canceled. stop ends that.
func (e *Engine) OnCancel(cancel func(batch string)) (stop func(), err error) {
	s, err := e.conn.Subscribe(cancelSubject(e.pool, "*"), func(m *nats.Msg) {
		cancel(strings.TrimPrefix(m.Subject, cancelSubject(e.pool, "")))
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = s.Unsubscribe() }, nil // as above
}

// ImageOf is the image of a language that most workers of a pool have, and the language's own name; of two with as many
// workers that of the first one by name. Without one the digest is empty. any is false if no worker takes jobs.
func ImageOf(workers []WorkerState, language string) (name, digest string, any bool) {
	name = language
	counts := map[string]int{}
	for _, w := range workers { // by name
		if w.Draining {
			continue
		}
		any = true
		if own := cmp.Or(w.Aliases[language], language); w.Languages[own] != "" {
			counts[own+"\x00"+w.Languages[own]]++
		}
	}

	maximum := 0
	for _, w := range workers {
		own := cmp.Or(w.Aliases[language], language)
		if n := counts[own+"\x00"+w.Languages[own]]; !w.Draining && n > maximum {
			maximum, name, digest = n, own, w.Languages[own]
		}
	}

	return name, digest, any
}
