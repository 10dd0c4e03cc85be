package jetstream

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

// restartTime is how long a coordinator that begins waits for an engine that does not answer: one that restarts takes
// a few seconds, and a wrong address is to be reported soon.
const restartTime = 10 * time.Second

// ConnectToRestarting is Connect for a coordinator that begins, and whose engine may end and restart meanwhile.
func ConnectToRestarting(ctx context.Context, t Target) (e *Engine, err error) {
	log := t.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	err = whileRestarting(ctx, log, func() error {
		e, err = Connect(t)
		return err
	})
	return e, err
}

// whileRestarting calls do until it succeeds, as long as its errors may be those of an engine that restarts.
func whileRestarting(ctx context.Context, log *slog.Logger, do func() error) error {
	for began, tries := time.Now(), 0; ; tries++ {
		err := do()
		if err == nil || !absent(err) || time.Since(began) > restartTime {
			return err
		}
		if tries == 0 {
			log.Warn("the engine does not answer; trying again", "for", restartTime, "err", err)
		}

		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// absent reports whether an error says that nobody answers at the engine's address, or that who answered ended. Who
// refuses a key or has another certificate has answered.
func absent(err error) bool {
	for _, one := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF, nats.ErrNoServers,
		nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, context.DeadlineExceeded} {
		if errors.Is(err, one) {
			return true
		}
	}
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}
