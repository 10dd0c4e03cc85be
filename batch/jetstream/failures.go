package jetstream

import (
	"errors"
	"log/slog"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

// failureInterval is the shortest time between two warnings of a worker that has no connection.
const failureInterval = time.Minute

// failures logs why a worker has no connection: it tries for ever, also at an engine that refuses its key. That nothing
// listens is no failure, because mostly no batch runs; it is said once. The library calls the function from one
// goroutine.
func failures(log *slog.Logger) nats.ConnErrHandler {
	var waits bool
	var last time.Time
	return func(_ *nats.Conn, err error) {
		nobody := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, nats.ErrNoServers)
		switch {
		case nobody && !waits:
			waits = true
			log.Info("nothing listens at the engine's address; waiting for a batch", "err", err)
		case !nobody && time.Since(last) >= failureInterval:
			last = time.Now()
			log.Warn("no connection to the engine; trying again: are its address and the key right?", "err", err)
		default:
			log.Debug("no connection to the engine", "err", err)
		}
	}
}
