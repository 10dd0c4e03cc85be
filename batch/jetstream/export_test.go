package jetstream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
)

// Wipe removes what the engine has, as a server does that lost its data.
func (e *Engine) Wipe(ctx context.Context) error {
	return errors.Join(e.js.DeleteStream(ctx, jobsStream), e.js.DeleteStream(ctx, resultsStream), e.js.DeleteKeyValue(ctx, workersBucket), e.js.DeleteObjectStore(ctx, blobsBucket))
}

// As is the delivery in the hand of another process, which has guessed how to acknowledge it.
func (d *Delivery) As(e *Engine) *Delivery {
	inbox, err := e.conn.SubscribeSync(e.conn.NewInbox())
	if err != nil {
		panic(err)
	}
	return &Delivery{Message: d.Message, engine: e, message: &nats.Msg{Subject: d.message.Subject, Reply: d.message.Reply, Sub: inbox}}
}
