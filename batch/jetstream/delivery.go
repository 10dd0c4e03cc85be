package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/batch/worker"
)

// A Source gives the jobs of a pool to a worker.
type Source struct {
	*Engine
	subject string // of requests for a job
	urgent  bool
	more    bool               // the next request is for a job that the engine has now
	inbox   *nats.Subscription // where jobs come; nil: not yet
}

// Source makes the source of the pool's jobs, urgent ones or others. One goroutine uses it.
func (e *Engine) Source(urgent bool) *Source {
	return &Source{Engine: e, urgent: urgent,
		subject: "$JS.API.CONSUMER.MSG.NEXT." + jobsPrefix + e.pool + "." + class(urgent)}
}

// pullTime is how long a worker waits at the engine for a job before it asks again.
const pullTime = 5 * time.Second

// Next waits for a job. It returns when one has come, or with the error of ctx, after which the Source is not
// used again: while the engine does not answer, or has no such pool yet, it asks again. It calls none before it waits
// for one: after a job it first asks whether there is another one.
func (s *Source) Next(ctx context.Context, none func()) (*Delivery, error) {
	for logged := false; ; {
		m, err := s.pull(ctx)
		if err == nil && m != nil && m.Header.Get(storedHeader) != "" {
			s.log.Warn("a worker of another pool had a job sent: it is dropped", "subject", m.Subject)
			_ = m.Term() // it comes again
			continue
		}
		if err == nil && m != nil {
			s.more = s.urgent
			return s.delivery(m)
		}

		s.more = false
		none()
		if ctx.Err() != nil {
			return s.last(ctx)
		}
		if err == nil {
			continue
		}
		if !logged && !errors.Is(err, errShutdown) {
			logged = true
			s.log.Warn("the engine gives no jobs; asking again", "pool", s.Engine.pool, "err", err)
		}

		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
}

// last ends the source. A job that has come already is returned: the engine would count it as an attempt.
func (s *Source) last(ctx context.Context) (*Delivery, error) {
	if s.inbox == nil {
		return nil, context.Cause(ctx)
	}
	m, err := s.inbox.NextMsg(time.Millisecond)
	_ = s.inbox.Unsubscribe() // the engine gives no job to an inbox that has gone
	if err == nil && m.Reply != "" {
		return s.delivery(m)
	}
	return nil, context.Cause(ctx)
}

// pull asks for one job, and waits for it; nil: none came in time. It has one inbox for all its requests: the
// library's Fetch makes one for each, which costs as much as the rest of the exchange.
func (s *Source) pull(ctx context.Context) (*nats.Msg, error) {
	if s.inbox == nil {
		inbox, err := s.conn.SubscribeSync(s.conn.NewInbox())
		if err != nil {
			return nil, err
		}
		s.inbox = inbox
	}

	waiting, _, err := s.inbox.Pending()
	if err != nil {
		return nil, err
	}

	if waiting == 0 { // otherwise an earlier request was answered late
		request := fmt.Appendf(nil, `{"batch":1,"expires":%d}`, pullTime)
		if s.more {
			request = []byte(`{"batch":1,"no_wait":true}`)
		}
		if err := s.conn.PublishRequest(s.subject, s.inbox.Subject, request); err != nil {
			return nil, err
		}
	}

	call, cancel := context.WithTimeout(ctx, pullTime+time.Second)
	defer cancel()

	m, err := s.inbox.NextMsgWithContext(call)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, nil
	case err != nil:
		return nil, err
	case m.Reply != "":
		return m, nil
	}

	switch status, why := m.Header.Get("Status"), m.Header.Get("Description"); {
	case status == "404", status == "408": // no job, or none in time
		return nil, nil
	case status == "409" && why == "Server Shutdown":
		return nil, errShutdown
	default:
		return nil, fmt.Errorf("status %s %s", status, why)
	}
}

// errShutdown is the error of an engine that ends with its batch, as usual: that the connection has gone is logged.
var errShutdown = errors.New("the engine ends")

func (s *Source) delivery(m *nats.Msg) (*Delivery, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}

	id, index, err := splitSubject(m.Subject)
	if err != nil {
		return nil, err
	}

	before, err := strconv.Atoi(cmp.Or(m.Header.Get(beforeHeader), "0"))
	if err != nil {
		return nil, err
	}

	attempt := before + int(meta.NumDelivered)
	return &Delivery{Message: batch.Message{Batch: id, Index: index, Pool: s.Engine.pool, Urgent: s.urgent,
		Attempt: attempt, Body: m.Data}, engine: s.Engine, message: m}, nil
}

// A Delivery is a job that a worker has. Without a sign of the worker for AckWait it is given to another one.
type Delivery struct {
	batch.Message
	engine  *Engine
	message *nats.Msg
}

// Job is the message of the job.
func (d *Delivery) Job() batch.Message { return d.Message }

// Extend says that the worker still works on the job.
func (d *Delivery) Extend() error { return d.message.InProgress() }

// Done stores the result, and then removes the job: a crash between the two costs a second execution, and the
// other order would lose the result. The first result of a job counts: Done drops this one if there is one.
func (d *Delivery) Done(ctx context.Context, result []byte) error {
	err := d.engine.retry(ctx, "send a result", func(ctx context.Context) error {
		_, err := d.engine.js.Publish(ctx, resultSubject(d.Pool, d.Batch, d.Index), result,
			jetstream.WithExpectLastSequencePerSubject(0))
		var refused *jetstream.APIError
		if errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return d.message.Ack() // if that is lost, the job is executed again, and its second result is dropped
}

// Later gives the job back, for a worker to take after a delay.
func (d *Delivery) Later(delay time.Duration) error { return d.message.NakWithDelay(delay) }

// Drop removes the job without a result.
func (d *Delivery) Drop() error { return d.message.Term() }

// Jobs is Source as a worker takes it.
func (e *Engine) Jobs(urgent bool) worker.Source { return worker.SourceOf(e.Source(urgent).Next) }
