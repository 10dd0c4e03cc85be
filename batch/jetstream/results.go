package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/brig-sandbox/brig/batch"
)

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

// storedHeader is in what an engine sends of a stored message. Asked by a worker of another pool, it sends it where that
// worker says: what has the header is neither a job nor a result.
const storedHeader = "Nats-Stream"

// idleTime is how long no result comes before follow asks the engine whether it has sent one.
const idleTime = 2 * time.Second

// follow reads results from the first one, until the consumer ends or the engine has sent a result that did not come.
//
// An ordered consumer of the library would begin again by itself, behind the last result that came. In a stream that
// was created again meanwhile, results then wait for ever at lower numbers.
func (e *Engine) follow(ctx context.Context, id string, send func(batch.Message)) error {
	c, err := e.js.CreateConsumer(ctx, resultsPrefix+e.pool, jetstream.ConsumerConfig{
		FilterSubject: e.resultsOf(id),
		AckPolicy:     jetstream.AckNonePolicy, InactiveThreshold: time.Minute,
		MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return err
	}

	messages, err := c.Messages(jetstream.PullMaxMessages(256))
	if err != nil {
		return err
	}

	stop := context.AfterFunc(ctx, messages.Stop)
	defer func() { stop(); messages.Stop() }()

	var came, sent uint64 // the number of results that came, and that the engine had sent when it was last asked
	for {
		m, err := messages.Next(jetstream.NextMaxWait(idleTime))
		switch {
		case errors.Is(err, nats.ErrTimeout) && came < sent:
			return fmt.Errorf("the engine has sent %d results, and %d came", sent, came)
		case errors.Is(err, nats.ErrTimeout):
			info, err := c.Info(ctx)
			if err != nil {
				return err
			}
			sent = info.Delivered.Consumer
			continue
		case err != nil:
			return err
		}

		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		if came++; meta.Sequence.Consumer != came {
			return fmt.Errorf("the engine sent result %d, and number %d had to come", meta.Sequence.Consumer, came)
		}

		_, index, err := splitSubject(m.Subject())
		if err != nil { // as an error it would stall the batch while the stream has it: TestAWorkerCannotStallItsBatch
			e.log.Warn("what a worker sent is no result: it is left out", "batch", id, "err", err)
			continue
		}
		if m.Headers().Get(storedHeader) != "" {
			e.log.Warn("a worker of another pool had a result sent: it is dropped", "batch", id, "index", index)
			if err := e.Remove(ctx, id, index); err != nil { // otherwise there could be no other one
				return err
			}
			continue
		}

		send(batch.Message{Batch: id, Index: index, Sequence: meta.Sequence.Stream, Body: m.Data()})
	}
}
