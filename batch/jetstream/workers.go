package jetstream

import (
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
	return e.publishState(ctx, &nats.Msg{Subject: "$KV." + workersBucket + "." + s.Name, Data: text})
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
	m := nats.NewMsg("$KV." + workersBucket + "." + name)
	m.Header.Set("KV-Operation", "DEL")
	return e.publishState(ctx, m)
}

// Workers lists the workers that have reported lately, by pool and name.
func (e *Engine) Workers(ctx context.Context) ([]WorkerState, error) {
	kv, err := e.js.KeyValue(ctx, workersBucket)
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
			return nil, fmt.Errorf("worker %s reports something else than a state: %w", entry.Key(), err)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b WorkerState) int {
		return strings.Compare(a.Pool+"\x00"+a.Name, b.Pool+"\x00"+b.Name)
	})
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
	s, err := e.js.Stream(ctx, jobsStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Queued
	list := s.ListConsumers(ctx)
	for c := range list.Info() {
		i := strings.LastIndexByte(c.Name, '-')
		if i < 0 {
			continue
		}
		all = append(all, Queued{Pool: c.Name[:i], Urgent: c.Name[i+1:] == "u", Waiting: c.NumPending, Working: c.NumAckPending})
	}
	slices.SortFunc(all, func(a, b Queued) int { return strings.Compare(a.Pool+class(a.Urgent), b.Pool+class(b.Urgent)) })
	return all, list.Err()
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
	s, err := e.conn.Subscribe(cancelSubject+".*", func(m *nats.Msg) { cancel(strings.TrimPrefix(m.Subject, cancelSubject+".")) })
	if err != nil {
		return nil, err
	}
	return func() { _ = s.Unsubscribe() }, nil // as above
}
