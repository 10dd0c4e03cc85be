package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
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
	maxState   = 64 << 10         // bytes of what a worker reports
	workerTTL  = 30 * time.Second // after which a worker that reports no more is not listed
)

// An Engine is a connection to an engine, of a coordinator or of a worker.
type Engine struct {
	conn   *nats.Conn
	js     jetstream.JetStream
	pool   string
	memory bool // messages are kept in memory: the engine is embedded
	log    *slog.Logger

	prepared atomic.Bool // Prepare was called: what the engine has lost is created again
}

// Connect connects to an engine. It reconnects for ever when the connection breaks; a worker also waits for an
// engine that does not answer yet. The caller closes it.
func Connect(t Target) (*Engine, error) {
	e := &Engine{pool: t.Pool, memory: t.Server != nil, log: t.Log}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}

	options, err := t.options()
	if err != nil {
		return nil, err
	}

	options = append([]nats.Option{nats.Name("brig " + t.Worker), nats.MaxReconnects(-1), nats.ReconnectWait(retryPause),
		nats.Timeout(callTime),
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
		options = append(options, nats.RetryOnFailedConnect(true), nats.IgnoreAuthErrorAbort(),
			nats.ReconnectErrHandler(failures(e.log)))
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

// Prepare creates the streams, consumers and buckets of the pool. Coordinators call it. When a later call says that
// the engine has lost them, they are created again.
func (e *Engine) Prepare(ctx context.Context) error {
	e.prepared.Store(true)
	return whileRestarting(ctx, e.log, func() error { return e.prepare(ctx) })
}

// prepareAgain creates again what an engine has lost.
func (e *Engine) prepareAgain(ctx context.Context) error {
	if !e.prepared.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return e.prepare(ctx)
}

func (e *Engine) prepare(ctx context.Context) error {
	storage := jetstream.FileStorage
	if e.memory {
		storage = jetstream.MemoryStorage
	}

	replicas := 1
	if len(e.conn.Servers()) >= 3 { // a cluster: any one of its servers may end
		replicas = 3
	}

	workers := workersPrefix + e.pool
	for _, s := range []jetstream.StreamConfig{
		{
			Name: jobsPrefix + e.pool, Subjects: []string{poolSubject(e.pool, "jobs.>")},
			Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
			MaxMsgs: maxJobs, MaxMsgSize: maxMessage, MaxAge: retention, Duplicates: 2 * time.Minute,
			Storage: storage, Replicas: replicas, AllowDirect: true,
		},
		{
			Name: resultsPrefix + e.pool, Subjects: []string{poolSubject(e.pool, "results.>")},
			Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
			MaxMsgSize: maxMessage, MaxAge: retention,
			Storage: storage, Replicas: replicas, AllowDirect: true,
		},
		{
			// It is read as a bucket of keys and values. One that the library makes permits roll-ups, with which a worker
			// would remove the states of all others (TestAWorkerReachesNoOtherPool).
			Name: "KV_" + workers, Subjects: []string{"$KV." + workers + ".>"},
			MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew,
			MaxMsgSize: maxState, MaxAge: workerTTL, Duplicates: workerTTL,
			Storage: storage, Replicas: replicas, AllowDirect: true, DenyDelete: true,
		},
	} {
		if _, err := e.js.CreateOrUpdateStream(ctx, s); err != nil {
			return fmt.Errorf("create the stream %s: %w", s.Name, err)
		}
	}

	for _, urgent := range []bool{false, true} {
		_, err := e.js.CreateOrUpdateConsumer(ctx, jobsPrefix+e.pool, jetstream.ConsumerConfig{
			Durable: class(urgent), FilterSubject: poolSubject(e.pool, "jobs."+class(urgent)+".>"),
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: AckWait,
			MaxDeliver:    -1, // with a maximum, messages that reached it stay for ever
			MaxAckPending: maxPulls, MaxWaiting: maxPulls,
		})
		if err != nil {
			return fmt.Errorf("create the consumer of pool %s: %w", e.pool, err)
		}
	}

	blobs := jetstream.ObjectStoreConfig{Bucket: blobsPrefix + e.pool, TTL: retention,
		Storage: storage, Replicas: replicas}
	if _, err := e.js.CreateOrUpdateObjectStore(ctx, blobs); err != nil {
		return fmt.Errorf("create the bucket %s: %w", blobs.Bucket, err)
	}
	return nil
}

// beforeHeader is the header of a job with the attempts that count already. The engine counts its deliveries only.
const beforeHeader = "Brig-Attempts"

// Release implements batch.Queue.
func (e *Engine) Release(ctx context.Context, m batch.Message) error {
	message := nats.NewMsg(jobSubject(e.pool, m.Urgent, m.Batch, m.Index))
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
		case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrPermissionViolation),
			errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrConnectionClosed):
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
	return errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound) ||
		errors.Is(err, jetstream.ErrConsumerNotFound) ||
		errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, jetstream.ErrBucketNotFound)
}

// UnderWay implements batch.Queue.
func (e *Engine) UnderWay(ctx context.Context, id string) (map[int64]bool, error) {
	all := map[int64]bool{}
	err := e.retry(ctx, "list the jobs under way", func(ctx context.Context) error {
		// In this order: a job that ends meanwhile has its result before it is removed.
		for _, one := range [][2]string{{jobsPrefix + e.pool, e.jobsOf(id)}, {resultsPrefix + e.pool, e.resultsOf(id)}} {
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
				if _, index, err := splitSubject(subject); err == nil { // others are what a worker sent to no job
					all[index] = true
				}
			}
		}

		return nil
	})

	return all, err
}

// jobsOf and resultsOf are the subjects of a batch.
func (e *Engine) jobsOf(id string) string    { return poolSubject(e.pool, "jobs.*."+id+".>") }
func (e *Engine) resultsOf(id string) string { return poolSubject(e.pool, "results."+id+".>") }

// Forget implements batch.Queue. That it fails loses nothing: the results are removed with the next ones, or
// at their age.
func (e *Engine) Forget(ctx context.Context, id string, last uint64) error {
	return e.purge(ctx, resultsPrefix+e.pool, jetstream.WithPurgeSubject(e.resultsOf(id)),
		jetstream.WithPurgeSequence(last+1))
}

// Remove implements batch.Queue.
func (e *Engine) Remove(ctx context.Context, id string, index int64) error {
	return e.retry(ctx, "remove a result", func(ctx context.Context) error {
		s, err := e.js.Stream(ctx, resultsPrefix+e.pool)
		if err != nil {
			return err
		}
		return s.Purge(ctx, jetstream.WithPurgeSubject(resultSubject(e.pool, id, index)))
	})
}

// Withdraw implements batch.Queue. The acknowledgement of a worker that has a job then changes nothing.
func (e *Engine) Withdraw(ctx context.Context, id string) error {
	return e.purge(ctx, jobsPrefix+e.pool, jetstream.WithPurgeSubject(e.jobsOf(id)))
}

// Cancel implements batch.Queue.
func (e *Engine) Cancel(ctx context.Context, id string) error {
	return errors.Join(e.purge(ctx, jobsPrefix+e.pool, jetstream.WithPurgeSubject(e.jobsOf(id))),
		e.conn.Publish(cancelSubject(e.pool, id), nil))
}

// End implements batch.Queue.
func (e *Engine) End(ctx context.Context, id string) error {
	return errors.Join(
		e.purge(ctx, jobsPrefix+e.pool, jetstream.WithPurgeSubject(e.jobsOf(id))),
		e.purge(ctx, resultsPrefix+e.pool, jetstream.WithPurgeSubject(e.resultsOf(id))))
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
