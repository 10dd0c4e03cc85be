package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/brig-sandbox/brig/batch"
)

// AckWait is after what time without a sign of its worker a job is given to another one.
const AckWait = 30 * time.Second

const (
	retention  = 7 * 24 * time.Hour // of messages that nobody removed
	maxJobs    = 1_000_000          // in the stream, of all batches: windows bound each
	maxPulls   = 65_536             // by waiting workers; the default of 512 refuses the 513th
	callTime   = 5 * time.Second
	retryPause = 250 * time.Millisecond
	workerTTL  = 30 * time.Second // after which a worker that reports no more is not listed
)

// An Engine is a connection to an engine, of a coordinator or of a worker.
type Engine struct {
	conn   *nats.Conn
	js     jetstream.JetStream
	memory bool // messages are kept in memory: the engine is embedded
	log    *slog.Logger

	mu    sync.Mutex
	pools []string // those that were prepared; guarded by mu
}

// Connect connects to an engine. It reconnects for ever when the connection breaks; a worker also waits for an
// engine that does not answer yet. The caller closes it.
func Connect(t Target) (*Engine, error) {
	e := &Engine{memory: t.Server != nil, log: t.Log}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	options, err := t.options()
	if err != nil {
		return nil, err
	}
	options = append([]nats.Option{nats.Name("brig " + t.Worker), nats.MaxReconnects(-1), nats.ReconnectWait(retryPause), nats.Timeout(callTime),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				e.log.Warn("the connection to the engine broke", "err", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			e.log.Warn("the engine refuses something", "err", err)
		}),
		nats.ConnectHandler(func(*nats.Conn) { e.log.Info("connected to the engine") }),
		nats.ReconnectHandler(func(*nats.Conn) { e.log.Info("the connection to the engine is back") }),
	}, options...)
	if t.Worker != "" { // it waits for the engine, which may belong to a batch that has not begun
		options = append(options, nats.RetryOnFailedConnect(true), nats.IgnoreAuthErrorAbort(), nats.ReconnectErrHandler(failures(e.log)))
	}
	conn, err := nats.Connect(t.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to the engine %s: %w", Redacted(t.URL), err)
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(callTime))
	if err != nil {
		conn.Close()
		return nil, err
	}
	e.conn, e.js = conn, js
	return e, nil
}

// Close closes the connection, after what was published has been sent.
func (e *Engine) Close() {
	_ = e.conn.FlushTimeout(time.Second) // it is closed in any case
	e.conn.Close()
}

// Prepare creates the streams, and the consumers of a pool. Coordinators call it. When a later call says that the
// engine has lost them, they are created again.
func (e *Engine) Prepare(ctx context.Context, pool string) error {
	e.mu.Lock()
	if !slices.Contains(e.pools, pool) {
		e.pools = append(e.pools, pool)
	}
	e.mu.Unlock()
	return e.prepare(ctx, pool)
}

// prepareAgain creates again what an engine has lost.
func (e *Engine) prepareAgain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	e.mu.Lock()
	pools := slices.Clone(e.pools)
	e.mu.Unlock()
	for _, pool := range pools {
		if err := e.prepare(ctx, pool); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) prepare(ctx context.Context, pool string) error {
	storage := jetstream.FileStorage
	if e.memory {
		storage = jetstream.MemoryStorage
	}
	replicas := 1
	if len(e.conn.Servers()) >= 3 { // a cluster: any one of its servers may end
		replicas = 3
	}
	for _, s := range []jetstream.StreamConfig{
		{Name: jobsStream, Subjects: []string{"brig.jobs.>"}, Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
			MaxMsgs: maxJobs, MaxMsgSize: maxMessage, Duplicates: 2 * time.Minute, MaxAge: retention, Storage: storage, Replicas: replicas, AllowDirect: true},
		{Name: resultsStream, Subjects: []string{"brig.results.>"}, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
			MaxMsgSize: maxMessage, MaxAge: retention, Storage: storage, Replicas: replicas, AllowDirect: true},
	} {
		if _, err := e.js.CreateOrUpdateStream(ctx, s); err != nil {
			return fmt.Errorf("create the stream %s: %w", s.Name, err)
		}
	}
	for _, urgent := range []bool{false, true} {
		_, err := e.js.CreateOrUpdateConsumer(ctx, jobsStream, jetstream.ConsumerConfig{
			Durable: consumerName(pool, urgent), FilterSubject: "brig.jobs." + pool + "." + class(urgent) + ".>",
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: AckWait,
			MaxDeliver:    -1, // with a maximum, messages that reached it stay for ever
			MaxAckPending: maxPulls, MaxWaiting: maxPulls,
		})
		if err != nil {
			return fmt.Errorf("create the consumer of pool %s: %w", pool, err)
		}
	}
	if _, err := e.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: workersBucket, TTL: workerTTL, Storage: storage, Replicas: replicas}); err != nil {
		return fmt.Errorf("create the bucket %s: %w", workersBucket, err)
	}
	if _, err := e.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: blobsBucket, TTL: retention, Storage: storage, Replicas: replicas}); err != nil {
		return fmt.Errorf("create the bucket %s: %w", blobsBucket, err)
	}
	return nil
}

// beforeHeader is the header of a job with the attempts that count already. The engine counts its deliveries only.
const beforeHeader = "Brig-Attempts"

// Release implements batch.Queue.
func (e *Engine) Release(ctx context.Context, m batch.Message) error {
	message := nats.NewMsg(jobSubject(m.Pool, m.Urgent, m.Batch, m.Index))
	message.Data = m.Body
	if m.Before > 0 {
		message.Header.Set(beforeHeader, strconv.Itoa(m.Before))
	}
	var options []jetstream.PublishOpt
	if !e.memory { // no answer is lost within a process, and the engine would keep the ids for minutes
		// The engine drops a repetition of the same id, such as of a publish whose answer was lost.
		id := m.Batch + "." + strconv.FormatInt(m.Index, 10) + "." + m.Epoch + "." + strconv.Itoa(m.Attempt)
		options = append(options, jetstream.WithMsgID(id))
	}
	return e.retry(ctx, "release a job", func(ctx context.Context) error {
		_, err := e.js.PublishMsg(ctx, message, options...)
		return err
	})
}

// retry tries until the engine answers. It creates again what an engine has lost.
func (e *Engine) retry(ctx context.Context, what string, do func(ctx context.Context) error) error {
	for failed := false; ; failed = true {
		call, cancel := context.WithTimeout(ctx, callTime)
		err := do(call)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrPermissionViolation), errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrConnectionClosed):
			return fmt.Errorf("%s: %w", what, err)
		}
		if !failed {
			e.log.Warn("the engine does not answer; trying again", "call", what, "err", err)
		}
		if lost(err) {
			if err := e.prepareAgain(ctx); err != nil {
				e.log.Debug("create the streams again", "err", err)
			}
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lost reports whether an error says that a stream or consumer does not exist.
func lost(err error) bool {
	return errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound) ||
		errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrBucketNotFound)
}

// UnderWay implements batch.Queue.
func (e *Engine) UnderWay(ctx context.Context, id string) (map[int64]bool, error) {
	all := map[int64]bool{}
	err := e.retry(ctx, "list the jobs under way", func(ctx context.Context) error {
		// In this order: a job that ends meanwhile has its result before it is removed.
		for _, one := range [][2]string{{jobsStream, "brig.jobs.*.*." + id + ".>"}, {resultsStream, "brig.results.*." + id + ".>"}} {
			stream, filter := one[0], one[1]
			s, err := e.js.Stream(ctx, stream)
			if err != nil {
				return err
			}
			info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
			if err != nil {
				return err
			}
			for subject := range info.State.Subjects {
				_, index, err := splitSubject(subject)
				if err != nil {
					return err
				}
				all[index] = true
			}
		}
		return nil
	})
	return all, err
}

// Results implements batch.Queue.
func (e *Engine) Results(ctx context.Context, id string, out chan<- batch.Message) {
	send := func(m batch.Message) {
		select {
		case out <- m:
		case <-ctx.Done():
		}
	}
	for first := true; ctx.Err() == nil; first = false {
		if !first {
			send(batch.Message{}) // whatever ended the consumer may have lost messages
		}
		if err := e.follow(ctx, id, send); err != nil && ctx.Err() == nil {
			e.log.Warn("results are not read; trying again", "err", err)
			if lost(err) {
				if err := e.prepareAgain(ctx); err != nil {
					e.log.Debug("create the streams again", "err", err)
				}
			}
			select {
			case <-time.After(retryPause):
			case <-ctx.Done():
			}
		}
	}
}

// resultsOf are the subjects of a batch's results: of the pools that this coordinator prepared. Workers of other pools
// could send results under their own.
func (e *Engine) resultsOf(id string) (subjects []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, pool := range e.pools {
		subjects = append(subjects, "brig.results."+pool+"."+id+".>")
	}
	return subjects
}

// follow reads results until the consumer ends.
func (e *Engine) follow(ctx context.Context, id string, send func(batch.Message)) error {
	// An ordered consumer whose stream has vanished would otherwise wait for ever.
	c, err := e.js.OrderedConsumer(ctx, resultsStream, jetstream.OrderedConsumerConfig{FilterSubjects: e.resultsOf(id), MaxResetAttempts: 2})
	if err != nil {
		return err
	}
	messages, err := c.Messages(jetstream.PullMaxMessages(256))
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, messages.Stop)
	defer func() { stop(); messages.Stop() }()
	for {
		m, err := messages.Next()
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		_, index, err := splitSubject(m.Subject())
		if err != nil {
			return err
		}
		send(batch.Message{Batch: id, Index: index, Sequence: meta.Sequence.Stream, Body: m.Data()})
	}
}

// Forget implements batch.Queue. That it fails loses nothing: the results are removed with the next ones, or
// at their age.
func (e *Engine) Forget(ctx context.Context, id string, last uint64) error {
	return e.purge(ctx, resultsStream, jetstream.WithPurgeSubject("brig.results.*."+id+".>"), jetstream.WithPurgeSequence(last+1))
}

// Remove implements batch.Queue.
func (e *Engine) Remove(ctx context.Context, id string, index int64) error {
	return e.retry(ctx, "remove a result", func(ctx context.Context) error {
		s, err := e.js.Stream(ctx, resultsStream)
		if err != nil {
			return err
		}
		return s.Purge(ctx, jetstream.WithPurgeSubject(resultSubject("*", id, index)))
	})
}

// Withdraw implements batch.Queue. The acknowledgement of a worker that has a job then changes nothing.
func (e *Engine) Withdraw(ctx context.Context, id string) error {
	return e.purge(ctx, jobsStream, jetstream.WithPurgeSubject("brig.jobs.*.*."+id+".>"))
}

// Cancel implements batch.Queue.
func (e *Engine) Cancel(ctx context.Context, id string) error {
	return errors.Join(e.purge(ctx, jobsStream, jetstream.WithPurgeSubject("brig.jobs.*.*."+id+".>")), e.conn.Publish(cancelSubject+"."+id, nil))
}

// End implements batch.Queue.
func (e *Engine) End(ctx context.Context, id string) error {
	return errors.Join(
		e.purge(ctx, jobsStream, jetstream.WithPurgeSubject("brig.jobs.*.*."+id+".>")),
		e.purge(ctx, resultsStream, jetstream.WithPurgeSubject("brig.results.*."+id+".>")))
}

func (e *Engine) purge(ctx context.Context, stream string, options ...jetstream.StreamPurgeOpt) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	s, err := e.js.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, options...)
	}
	if err != nil {
		e.log.Debug("remove old messages", "stream", stream, "err", err)
	}
	return nil
}
