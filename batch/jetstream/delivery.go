package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/brig-sandbox/brig/batch"
)

// A Source gives the jobs of a pool to a worker.
type Source struct {
	*Engine
	pool   string
	urgent bool

	consumer jetstream.Consumer // nil: not known yet
}

// Source makes the source of a pool's jobs, urgent ones or others. One goroutine uses it.
func (e *Engine) Source(pool string, urgent bool) *Source {
	return &Source{Engine: e, pool: pool, urgent: urgent}
}

// pullTime is how long a worker waits at the engine for a job before it asks again.
const pullTime = 5 * time.Second

// Next waits for a job. It returns when one has come, or with the error of ctx: while the engine does not
// answer, or has no such pool yet, it asks again.
func (s *Source) Next(ctx context.Context) (*Delivery, error) {
	for logged := false; ; {
		m, err := s.pull(ctx)
		if err == nil {
			return s.delivery(m)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.Is(err, errNone) {
			continue
		}
		if s.consumer = nil; !logged { // it may have been created again
			logged = true
			s.log.Warn("the engine gives no jobs; asking again", "pool", s.pool, "err", err)
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

var errNone = errors.New("no job came in time")

func (s *Source) pull(ctx context.Context) (jetstream.Msg, error) {
	if s.consumer == nil {
		call, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		c, err := s.js.Consumer(call, jobsStream, consumerName(s.pool, s.urgent))
		if err != nil {
			return nil, err
		}
		s.consumer = c
	}
	call, cancel := context.WithTimeout(ctx, pullTime)
	defer cancel()
	all, err := s.consumer.Fetch(1, jetstream.FetchContext(call))
	if err != nil {
		return nil, err
	}
	for m := range all.Messages() {
		return m, nil
	}
	if err := all.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return nil, errNone
}

func (s *Source) delivery(m jetstream.Msg) (*Delivery, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	id, index, err := splitSubject(m.Subject())
	if err != nil {
		return nil, err
	}
	return &Delivery{Message: batch.Message{Batch: id, Index: index, Pool: s.pool, Urgent: s.urgent, Attempt: int(meta.NumDelivered), Body: m.Data()}, engine: s.Engine, message: m}, nil
}

// A Delivery is a job that a worker has. Without a sign of the worker for AckWait it is given to another one.
type Delivery struct {
	batch.Message
	engine  *Engine
	message jetstream.Msg
}

// Job is the message of the job.
func (d *Delivery) Job() batch.Message { return d.Message }

// Extend says that the worker still works on the job.
func (d *Delivery) Extend() error { return d.message.InProgress() }

// Done stores the result, and then removes the job: a crash between the two costs a second execution, and the
// other order would lose the result. The first result of a job counts: Done drops this one if there is one.
func (d *Delivery) Done(ctx context.Context, result []byte) error {
	err := d.engine.retryWorker(ctx, "send a result", func(ctx context.Context) error {
		_, err := d.engine.js.Publish(ctx, resultSubject(d.Batch, d.Index), result, jetstream.WithExpectLastSequencePerSubject(0))
		var refused *jetstream.APIError
		if errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := d.message.DoubleAck(call); err != nil { // it is given to another worker, whose result is dropped
		d.engine.log.Warn("a job was not acknowledged", "batch", d.Batch, "index", d.Index, "err", err)
	}
	return nil
}

// Later gives the job back, for a worker to take after a delay.
func (d *Delivery) Later(delay time.Duration) error { return d.message.NakWithDelay(delay) }

// Drop removes the job without a result.
func (d *Delivery) Drop() error { return d.message.Term() }

// retryWorker tries until the engine answers, or the job has been given to another worker for long.
func (e *Engine) retryWorker(ctx context.Context, what string, do func(ctx context.Context) error) error {
	for logged := false; ; {
		call, cancel := context.WithTimeout(ctx, callTime)
		err := do(call)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !logged {
			logged = true
			e.log.Warn("the engine does not answer; trying again", "call", what, "err", err)
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
