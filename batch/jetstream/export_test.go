package jetstream

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
)

// Wipe removes what the engine has, as a server does that lost its data.
func (e *Engine) Wipe(ctx context.Context) error {
	return errors.Join(e.js.DeleteStream(ctx, jobsPrefix+e.pool), e.js.DeleteStream(ctx, resultsPrefix+e.pool),
		e.js.DeleteKeyValue(ctx, workersPrefix+e.pool), e.js.DeleteObjectStore(ctx, blobsPrefix+e.pool))
}

// Asking is how many requests for a job wait at the engine; 0: that is not known either.
func (e *Engine) Asking(ctx context.Context) int {
	c, err := e.js.Consumer(ctx, jobsPrefix+e.pool, class(false))
	if err != nil {
		return 0
	}
	return c.CachedInfo().NumWaiting
}

// As is the delivery in the hand of another process, which has guessed how to acknowledge it.
func (d *Delivery) As(e *Engine) *Delivery {
	inbox, err := e.conn.SubscribeSync(e.conn.NewInbox())
	if err != nil {
		panic(err)
	}
	return &Delivery{Message: d.Message, engine: e, message: &nats.Msg{Subject: d.message.Subject, Reply: d.message.Reply, Sub: inbox}}
}

// BlobStream is the stream of the contents of the pool, and BlobSubject the subject of a stored chunk.
func (e *Engine) BlobStream() string { return "OBJ_" + blobsPrefix + e.pool }

func (e *Engine) BlobSubject(t *testing.T) string {
	t.Helper()
	s, err := e.js.Stream(t.Context(), e.BlobStream())
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return m.Subject
}
